"""Contests of policies in bounded joins: who keeps the rows of streams that no law fits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from penstock.algebra.memories import AUTO, Memory, StreamLaw
from penstock.lab.caching.model_fitting import SEED, TIDE, drawn, told
from penstock.lab.caching.workload import FLOOR, ROOF, TOWER, Configuration, alternating, feed
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.policy_control import Steering
from penstock.vocabulary.batches import Ints

Keys = tuple[Ints, Ints]


def bursts(ticks: int, seed: int = 3) -> Keys:
    """Give names that come for a while and never again: recency is all there is."""
    rng = np.random.default_rng(seed)
    first, second = (np.arange(ticks) // 40 * 11 + rng.integers(0, 30, ticks) for _ in "rs")
    names = np.random.default_rng(1).integers(-(2**62), 2**62, size=int(first.max()) + 40)
    return names[first], names[second]


def accelerating(ticks: int, seed: int = 3) -> Keys:
    """Give numbers whose trend grows steeper: no law fits for long."""
    rng = np.random.default_rng(seed)
    line = 0.1 * np.arange(ticks) + 1.5 * np.arange(ticks) ** 2 / ticks
    first, second = (np.rint(line + rng.normal(0, 12, ticks)).astype(np.int64) for _ in "rs")
    return first, second


class Run:
    """A steered join over two streams, fed in pieces."""

    def __init__(self, memory: Memory, *, numeric: bool) -> None:
        self.steering = Steering(memory, numeric=numeric, budget=memory.rows)
        self.cache = JoinCache(memory.rows, self.steering.policy())
        self.memory, self.numeric = memory, numeric

    def feed(self, keys: Keys, begin: int, end: int) -> int:
        """Feed the ticks from one to another; give the results with rows held."""
        part = [each[2 * begin : 2 * end] for each in alternating(*keys)]
        return sum(int(fed.made.sum()) for _, fed in self.steering.feed(self.cache, *part))

    def restored(self) -> Run:
        """Give a copy that was made from arrays."""
        copy = Run(self.memory, numeric=self.numeric)
        copy.steering.restore({name: a.copy() for name, a in self.steering.arrays().items()})
        copy.cache = JoinCache(self.memory.rows, copy.steering.policy())
        copy.cache.restore({name: a.copy() for name, a in self.cache.arrays().items()})
        return copy

    def state(self) -> dict[str, bytes]:
        """Give all that decides what comes next."""
        both = {**self.steering.arrays(), **{f"c.{n}": a for n, a in self.cache.arrays().items()}}
        return {name: np.ascontiguousarray(each).tobytes() for name, each in both.items()}


def results(policy: str, keys: Keys, rows: int, *, numeric: bool) -> int:
    """Give the results of a policy over whole streams."""
    run = Run(Memory(rows=rows, policy=policy, laws=(AUTO, AUTO)), numeric=numeric)
    return run.feed(keys, 0, len(keys[0]))


@pytest.mark.parametrize("rows", [20, 60, 600])
def test_names_in_bursts_are_kept_by_recency(rows: int) -> None:
    keys = bursts(8000)
    run = Run(Memory(rows=rows, laws=(AUTO, AUTO)), numeric=False)
    found = run.feed(keys, 0, 8000)
    best = max(results(name, keys, rows, numeric=False) for name in ("LRU", "LFU", "RAND"))
    assert found >= 0.97 * best
    contest = run.steering.facts()["contest"]
    assert run.cache.policy.name == "LRU"
    assert contest["results_per_row"]["LRU"] > contest["results_per_row"]["HEEB"]


def test_a_stream_without_a_law_is_kept_as_well_as_by_the_best() -> None:
    keys = accelerating(6000)
    rates = {name: results(name, keys, 30, numeric=True) for name in ("LRU", "LFU", "RAND")}
    assert results("HEEB", keys, 30, numeric=True) >= 0.98 * max(rates.values())


@pytest.mark.parametrize("case", [TOWER, ROOF], ids=lambda case: case.name)
def test_a_law_that_fits_stays_in_force(case: Configuration) -> None:
    keys = case.draw(3000, 6)
    run = Run(Memory(rows=10, laws=(AUTO, AUTO)), numeric=True)
    found = run.feed(keys, 0, 3000)
    assert run.cache.policy.name == "HEEB"
    assert found >= 0.95 * int(feed(case.heeb(10), keys, 10).made.sum())


@pytest.mark.parametrize(
    ("rows", "numeric"), [(20, False), (30, True), (2000, False), (2000, True)]
)
def test_pieces_and_restarts_change_nothing(rows: int, numeric: bool) -> None:
    keys = accelerating(3000) if numeric else bursts(3000)
    memory = Memory(rows=rows, laws=(AUTO, AUTO))
    whole, parts = Run(memory, numeric=numeric), Run(memory, numeric=numeric)
    made = whole.feed(keys, 0, 3000)
    ends = [0, 7, 130, 131, 700, 1500, 1501, 2990, 3000]
    found = 0
    for begin, end in pairwise(ends):
        found += parts.feed(keys, begin, end)
        parts = parts.restored()
    assert found == made
    assert parts.state() == whole.state()


def test_rivals_rest_while_a_law_leads_by_far_and_wake_when_it_ends() -> None:
    """What became another stream is a rival's chance; pieces and restarts change none of it."""
    lawful, other = ROOF.draw(2000, 6), bursts(1500)
    keys = tuple(
        np.concatenate([one, 10**6 + np.unique(two, return_inverse=True)[1] * 977 % 10007])
        for one, two in zip(lawful, other, strict=True)
    )
    whole = Run(Memory(rows=10, laws=(AUTO, AUTO)), numeric=True)
    parts = Run(Memory(rows=10, laws=(AUTO, AUTO)), numeric=True)
    resting, found, made = [], 0, 0
    for begin, end in pairwise([*range(0, 3500, 250), 3500]):
        made += whole.feed((keys[0], keys[1]), begin, end)
        for first, last in pairwise([begin, begin + 101, end]):
            found += parts.feed((keys[0], keys[1]), first, last)
            parts = parts.restored()
        contest = whole.steering._contest
        assert contest is not None
        resting.append(contest.is_resting)
    assert sum(resting[:8]) >= 4 and not all(resting[8:])
    assert found == made and parts.state() == whole.state()


def test_a_rival_that_fails_gives_way_at_once() -> None:
    """Counts are of no use once keys move on; what they brought before does not speak for them."""
    keys = drawn(TIDE, FLOOR, 2000, SEED + 1)
    run = Run(Memory(rows=10, laws=(AUTO, AUTO)), numeric=True)
    run.feed(keys, 0, 1000)
    assert run.cache.policy.name == "LFU"
    run.feed(keys, 1000, 1050)
    run = run.restored()
    found = run.feed(keys, 1050, 1250)
    assert run.cache.policy.name == "HEEB"
    assert found >= 0.6 * int(told(TIDE, FLOOR, keys, 10)[1050:1250].sum())


def test_large_budgets_have_small_miniatures() -> None:
    run = Run(Memory(rows=4000, laws=(AUTO, AUTO)), numeric=False)
    run.feed(bursts(4000), 0, 4000)
    assert run.steering.facts()["contest"]["slice"] == 1 / 8


def test_windows_end_rows_of_miniatures_too() -> None:
    keys = bursts(4000)
    steering = Steering(
        Memory(rows=40, laws=(AUTO, AUTO)), numeric=False, budget=40, windows=(25.0, 25.0)
    )
    cache = JoinCache(40, steering.policy(), windows=(25, 25))
    streams, both, ticks = alternating(*keys)
    nows = np.stack([ticks, ticks], axis=1)
    for _ in steering.feed(cache, streams, both, ticks, stamps=ticks, nows=nows):
        pass
    contest = steering._contest
    assert contest is not None
    assert all(each.account.expired > 0 for each in contest.miniatures.values())


def test_a_declared_law_stays_and_is_told_if_it_does_not_fit() -> None:
    trend = StreamLaw(family="linear trend", parameters={"slope": 3, "intercept": 0, "sigma": 2})
    keys = TOWER.draw(2000, 1)
    run = Run(Memory(rows=10, laws=(trend, trend)), numeric=True)
    run.feed(keys, 0, 2000)
    facts = run.steering.facts()
    assert "contest" not in facts and run.cache.policy.name == "HEEB"
    assert len(facts["misfits"]) == 2 and "linear trend does not fit" in facts["misfits"][0]


@pytest.mark.parametrize("family", ["linear trend", "stationary", "random walk"])
def test_a_declared_family_that_fits_is_not_told(family: str) -> None:
    rng = np.random.default_rng(4)
    drawn = {
        "linear trend": lambda: np.rint(np.arange(2000) + rng.normal(0, 3, 2000)),
        "stationary": lambda: rng.integers(0, 50, 2000),
        "random walk": lambda: np.rint(np.cumsum(rng.normal(0, 2, 2000))),
    }
    keys = (drawn[family]().astype(np.int64), drawn[family]().astype(np.int64))
    law = StreamLaw(family=family)  # type: ignore[arg-type]
    run = Run(Memory(rows=10, laws=(law, law)), numeric=True)
    run.feed(keys, 0, 2000)
    assert "misfits" not in run.steering.facts()
    other = {"linear trend": "stationary", "stationary": "linear trend",
             "random walk": "stationary"}[family]  # fmt: skip
    wrong = StreamLaw(family=other)  # type: ignore[arg-type]
    told = Run(Memory(rows=10, laws=(wrong, wrong)), numeric=True)
    told.feed(keys, 0, 2000)
    assert ("misfits" in told.steering.facts()) == (family != "stationary")
