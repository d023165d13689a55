"""Laws found while streams run, beside laws that are told.

`AUTO` knows nothing of its streams. It is compared with HEEB that knows their true laws and the
published weighting, over whole streams and after a change of nature in the middle: HEEB is told the
new laws at that very tick. No one who learns can be as good as that at once, so a change is also
compared with a learner that is told the moment and the families, and learns the rest; and with one
that is given the true law when AUTO is first judged, for whom the rows alone are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.algebra.memories import AUTO, Family, Memory, StreamLaw
from penstock.lab.caching.fitting_cost import cost, judge_cost
from penstock.lab.caching.policies import Heeb
from penstock.lab.caching.windowed import zipf
from penstock.lab.caching.workload import (
    CONFIGURATIONS,
    FLOOR,
    ROOF,
    TOWER,
    WALK,
    Configuration,
    alternating,
)
from penstock.lab.report import Findings, Size, Table, at_least, chart, curves_of, sized
from penstock.lab.spreads import Spread, ratio_of, spread_of
from penstock.lab.timing import say
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.laws_independent import LinearTrend, Stationary
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import Normal
from penstock.operators.bounded.policies_baselines import ProbPast
from penstock.operators.bounded.policy_control import FIRST, Steering
from penstock.vocabulary.batches import Floats, Ints

LENGTH = sized(1_000, 2_000, 5_000)
RUNS = sized(3, 10, 50)
CHANGE_LENGTH = sized(1_000, 2_000, 3_000)
CHANGE_RUNS = sized(3, 10, 100)
SEED = 7_000_000
"""The first seed of all draws. Nothing was ever tuned on these: thresholds saw smaller ones."""
BUDGETS = sized((10,), (10, 30), (5, 10, 20, 50))
CHANGED = sized((10,), (10,), (10, 30))
LEAST = 0.95

ZIPF = Configuration(name="ZIPF", laws=zipf(0), residence=5.0)
TIDE = Configuration(
    name="TIDE",
    laws=(Ar1(phi0=0.0, phi1=0.72, sigma=5.0), Ar1(phi0=0.0, phi1=0.72, sigma=5.0)),
    residence=None,
)
"""Two autoregressions around one mean."""
EBB = Configuration(
    name="EBB",
    laws=(
        LinearTrend(slope=-0.5, intercept=2, noise=Normal(sigma=2.0)),
        LinearTrend(slope=-0.5, intercept=0, noise=Normal(sigma=3.0)),
    ),
    residence=10.0,
)
"""Two trends that fall by a key every other tick."""
DRIFT = Configuration(
    name="DRIFT",
    laws=(
        RandomWalk(drift=1, step=Normal(sigma=1.0)),
        RandomWalk(drift=1, step=Normal(sigma=1.0)),
    ),
    residence=None,
)
STEADY = (*CONFIGURATIONS, ZIPF, TIDE, EBB)
CHANGES = (
    (TOWER, WALK),
    (WALK, ROOF),
    (ROOF, TOWER),
    (TOWER, EBB),
    (FLOOR, ZIPF),
    (ZIPF, TOWER),
    (TIDE, FLOOR),
    (ROOF, TIDE),
)


FAMILIES: dict[type[Law], Family] = {
    LinearTrend: "linear trend",
    RandomWalk: "random walk",
    Ar1: "ar1",
    Stationary: "stationary",
}


def auto(keys: Sequence[Ints], budget: int, laws: tuple[StreamLaw, ...] = (AUTO, AUTO)) -> Ints:
    """Give the results per tick of a join that finds its laws by itself."""
    return steered(keys, budget, laws)[0]


def steered(
    keys: Sequence[Ints], budget: int, laws: tuple[StreamLaw, ...] = (AUTO, AUTO)
) -> tuple[Ints, Steering]:
    """Run a steered join over two whole streams; give its results per tick and its steering."""
    memory = Memory(rows=budget, laws=laws)
    steering = Steering(memory, numeric=True, budget=budget)
    return _steer(JoinCache(budget, steering.policy()), steering, keys, 0), steering


def _steer(cache: JoinCache, steering: Steering, keys: Sequence[Ints], at: int) -> Ints:
    """Run a steered join from a tick on; give its results per tick."""
    arrivals = [part[2 * at :] for part in alternating(keys[0], keys[1])]
    return np.concatenate([fed.made for _, fed in steering.feed(cache, *arrivals)])


def learnt(
    before: Configuration, after: Configuration, keys: Sequence[Ints], budget: int,
    given: int | None = None,
) -> Ints:  # fmt: skip
    """Give the results per tick of a learner that is told the moment of the change.

    It knows everything before, and the new families; their parameters are fitted to what comes
    from there on. Laws that are nothing but chances of keys are counted; from the tick `given` on
    they are known.
    """
    streams, both, ticks = alternating(keys[0], keys[1])
    half = len(keys[0]) // 2
    cache = JoinCache(budget, before.heeb(budget))
    first = cache.feed(streams[: 2 * half], both[: 2 * half], ticks[: 2 * half]).made
    none = np.empty(0, dtype=np.int64)
    if isinstance(after.laws[0], Stationary):
        cache.replace(ProbPast(ordered=True), (none, none))
        until = 2 * (len(keys[0]) if given is None else given)
        rest = cache.feed(*(part[2 * half : until] for part in (streams, both, ticks))).made
        if given is not None:
            cache.replace(told_policy(after, keys, budget))
            ends = cache.feed(*(part[until:] for part in (streams, both, ticks))).made
            rest = np.concatenate([rest, ends])
    else:
        laws = tuple(StreamLaw(family=FAMILIES[type(law)]) for law in after.laws)
        steering = Steering(Memory(rows=budget, laws=laws), numeric=True, budget=budget)
        steering.next = half + FIRST
        cache.replace(steering.policy())
        rest = _steer(cache, steering, keys, half)
    return np.concatenate([first, rest])


def told(
    before: Configuration, after: Configuration | None, keys: Sequence[Ints], budget: int
) -> Ints:
    """Give the results per tick of HEEB, told the true laws, and the new ones in the middle."""
    streams, both, ticks = alternating(keys[0], keys[1])
    cache = JoinCache(budget, before.heeb(budget))
    if after is None:
        return cache.feed(streams, both, ticks).made
    half = len(keys[0]) // 2
    first = cache.feed(streams[: 2 * half], both[: 2 * half], ticks[: 2 * half]).made
    cache.replace(told_policy(after, keys, budget))
    rest = cache.feed(streams[2 * half :], both[2 * half :], ticks[2 * half :]).made
    return np.concatenate([first, rest])


def told_policy(after: Configuration, keys: Sequence[Ints], budget: int) -> Heeb:
    """Give HEEB with the true laws of streams that changed in the middle."""
    half = len(keys[0]) // 2
    laws = tuple(moved(law, int(keys[1][half - 1]), half) for law in after.laws)
    return replace(after.heeb(budget), laws=laws)


def moved(law: Law, key: int, tick: int) -> Law:
    """Give a law that begins at a tick, with its keys counted from a key."""
    if isinstance(law, LinearTrend):
        return replace(law, intercept=law.intercept + key - law.slope * tick)
    if isinstance(law, Ar1):
        return replace(law, phi0=law.phi0 + (1.0 - law.phi1) * key * law.grid)
    if isinstance(law, Stationary):
        return Stationary(keys=law.keys + key, probabilities=law.probabilities)
    assert isinstance(law, RandomWalk)
    return law


def drawn(
    before: Configuration, after: Configuration | None, length: int, seed: int
) -> tuple[Ints, Ints]:
    """Draw both streams; after a change they go on from where the second one was."""
    first = before.draw(length, seed)
    if after is None:
        return first
    half = length // 2
    rest = after.draw(length - half, seed + 1000)
    key = first[1][half - 1]
    one, other = (
        np.concatenate([begun[:half], key + end]) for begun, end in zip(first, rest, strict=True)
    )
    return one, other


@dataclass(frozen=True, slots=True, kw_only=True)
class LawCompared:
    """Results of both sides in one case: over the whole, and by how long after the change."""

    name: str
    budget: int
    told: list[float]
    """HEEB that is told the law: results by series."""
    found: list[float]
    """HEEB with the law found: results by series."""
    families: str
    again: float = 0.0
    """AUTO over HEEB in the ticks that follow 10 k rows after the change."""
    rest: float = 0.0
    """The same from there to the end."""
    learnt_again: float = 1.0
    """The learner that is told of the change over HEEB, in the same ticks."""
    learnt_rest: float = 1.0
    """The same to the end."""
    given_again: float = 1.0
    """The learner that is given the law at the first of these ticks."""

    @property
    def ratio(self) -> Spread:
        """AUTO over HEEB."""
        return ratio_of(self.found, self.told)


def compare(case: Configuration, budget: int, size: Size) -> LawCompared:
    """Run both sides on all draws of two steady streams."""
    length, runs = LENGTH[size], RUNS[size]
    known, found = list[float](), list[float]()
    families = ""
    for seed in range(SEED, SEED + runs):
        keys = case.draw(length, seed)
        known.append(float(told(case, None, keys, budget)[4 * budget :].sum()))
        made, steering = steered(keys, budget)
        found.append(float(made[4 * budget :].sum()))
        families = ", ".join(str(fact["family"]) for fact in steering.facts()["streams"])
    return LawCompared(name=case.name, budget=budget, told=known, found=found, families=families)


def compare_change(
    before: Configuration, after: Configuration, budget: int, size: Size
) -> LawCompared:
    """Run all three sides on all draws of streams that change in the middle."""
    length, runs = CHANGE_LENGTH[size], CHANGE_RUNS[size]
    known, found, taught, given = np.zeros((4, length))
    wholes: dict[str, list[float]] = {"told": [], "found": []}
    begin = length // 2 + 5 * budget
    for seed in range(SEED, SEED + runs):
        keys = drawn(before, after, length, seed)
        sides = {"told": told(before, after, keys, budget), "found": auto(keys, budget)}
        for name, made in sides.items():
            wholes[name].append(float(made[4 * budget :].sum()))
        known += sides["told"]
        found += sides["found"]
        taught += learnt(before, after, keys, budget)
        given += learnt(before, after, keys, budget, begin)
    soon, late = slice(begin, min(begin + 20 * budget, length)), slice(begin, length)

    def share(made: Floats, ticks: slice) -> float:
        return float(made[ticks].sum() / max(known[ticks].sum(), 1.0))

    return LawCompared(
        name=f"{before.name} to {after.name}",
        budget=budget,
        told=wholes["told"],
        found=wholes["found"],
        families="",
        again=share(found, soon),
        rest=share(found, late),
        learnt_again=share(taught, soon),
        learnt_rest=share(taught, late),
        given_again=share(given, soon),
    )


def run(size: Size) -> Findings:
    """Compare on steady streams and on streams that change; time both sides."""
    steady, changed = [], []
    for budget in BUDGETS[size]:
        for case in STEADY:
            say(f"model-fitting: {case.name}, {budget} rows")
            steady.append(compare(case, budget, size))
    for budget in CHANGED[size]:
        for before, after in CHANGES:
            say(f"model-fitting: {before.name} to {after.name}, {budget} rows")
            changed.append(compare_change(before, after, budget, size))
    dearer = cost(size, told=told, steered=steered)
    yield Table(
        f"mean results of {RUNS[size]} series, laws told and found",
        ("streams", "budget_rows", "HEEB", "AUTO", "AUTO / HEEB", "found last"),
        [
            (
                c.name,
                c.budget,
                *(str(each) for each in (spread_of(c.told), spread_of(c.found), c.ratio)),
                c.families,
            )
            for c in steady
        ],
    )
    yield _changes(changed)
    yield from _judge(steady, changed, size)
    yield from judge_cost(dearer, size)
    yield chart(
        "AUTO over HEEB with the true laws",
        ", ".join(f"{i}: {case.name}" for i, case in enumerate(STEADY)),
        "share of results",
        curves_of(
            (f"{c.budget} rows", i % len(STEADY), c.ratio.mean) for i, c in enumerate(steady)
        ),
    )


CHANGE_COLUMNS = {
    "streams": "name",
    "budget_rows": "budget",
    "AUTO, whole": "ratio",
    "AUTO, from 10 k rows on": "again",
    "learner, from 10 k rows on": "learnt_again",
    "the same, given the law then": "given_again",
    "AUTO, to the end": "rest",
    "learner, to the end": "learnt_rest",
}


def _changes(changed: list[LawCompared]) -> Table:
    names = tuple(CHANGE_COLUMNS.values())
    return Table(
        "AUTO, and a learner told of the change, over HEEB: a change in mid-stream",
        tuple(CHANGE_COLUMNS),
        [
            (c.name, c.budget, str(c.ratio), *(getattr(c, name) for name in names[3:]))
            for c in changed
        ],
    )


def _judge(steady: Sequence[LawCompared], changed: Sequence[LawCompared], size: Size) -> Findings:
    # Few short runs say less: learning takes more of them, and chance decides more.
    slack = sized(0.10, 0.03, 0.0)[size]
    yield from (
        at_least(f"{c.name}, {c.budget} rows: AUTO over HEEB", c.ratio.mean, LEAST - slack)
        for c in steady
    )
    if size == "tiny":
        return
    for c in changed:
        name = f"{c.name}, {c.budget} rows"
        if c.name.endswith(ZIPF.name):
            # A law of a hundred keys is not told by a hundred rows; and who is given it then has
            # yet to wait for the rows that it asks for.
            again, rest = c.again / c.learnt_again, c.rest / c.learnt_rest
            least = LEAST - slack
            yield at_least(f"{name}: from 10 k rows on, over the learner", again, least)
            yield at_least(f"{name}: to the end, over the learner", rest, least)
        else:
            yield at_least(f"{name}: from 10 k rows on", c.again, LEAST - slack)
