"""Forecasts of recall and hit rate against memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from penstock.algebra.memories import Memory
from penstock.lab.caching.policies import Heeb
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.forecast_curves import Curve, Point, budgets_around
from penstock.operators.bounded.forecast_pictures import curve_lines, curve_svg
from penstock.operators.bounded.forecast_streams import drawn, interleaved, moved, rows_needed
from penstock.operators.bounded.forecasts import (
    curve_facts,
    forecast_join,
    forecast_lookup,
    lookup_facts,
)
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.laws_independent import (
    NOTHING,
    LinearTrend,
    Offline,
    Stationary,
)
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import BoundedNormal, Normal, Uniform
from penstock.operators.bounded.lookups_caches import LookupCache
from penstock.operators.bounded.policies import CompiledPolicy
from penstock.operators.bounded.policies_baselines import Lru, Rand
from penstock.operators.bounded.policy_demands import policy_for
from penstock.operators.bounded.recall import NO_WINDOW, RecallMeter
from penstock.operators.bounded.spaced_laws import Spaced
from penstock.operators.bounded.weightings import Exponential, alpha_of

ROOF = (
    LinearTrend(slope=1, intercept=-1, noise=BoundedNormal(sigma=3.3, half_width=10)),
    LinearTrend(slope=1, intercept=0, noise=BoundedNormal(sigma=5.0, half_width=15)),
)
FLOOR = (
    LinearTrend(slope=1, intercept=-1, noise=Uniform(half_width=10)),
    LinearTrend(slope=1, intercept=0, noise=Uniform(half_width=15)),
)
CHANCES = 1 / np.arange(1, 301)
ZIPF = tuple(
    Stationary(
        keys=np.random.default_rng(seed).permutation(300), probabilities=CHANCES / CHANCES.sum()
    )
    for seed in range(2)
)
NONE = (None, None)
EVEN = (1.0, 1.0)


def heeb(laws: tuple[Law, ...], window: int | None = None) -> Callable[[int], Heeb]:
    def make(budget: int) -> Heeb:
        weighting = Exponential(alpha_of(max(budget / 2, 1.5)))
        return Heeb(laws=laws, weighting=weighting, window=window)

    return make


def ran(
    policy: CompiledPolicy, laws: tuple[Law, ...], budget: int, ticks: int, window: int | None
) -> float:
    """Give the recall of a run over other draws."""
    rows = drawn(laws, EVEN, ticks, 77)
    cache = JoinCache(budget, policy, windows=(window, window))
    fed = cache.feed(rows.streams, rows.keys, rows.ticks, stamps=rows.ticks, nows=rows.nows(2))
    size = NO_WINDOW if window is None else window
    meter = RecallMeter((size, size), 1 << 20)
    made, there = meter.feed(rows.streams, rows.keys, rows.ticks, rows.nows(2), fed.found)
    return made / there


def test_rows_come_evenly() -> None:
    for rates in ((1.0, 1.0), (1.5, 0.5), (0.3, 0.4), (0.0, 1.0), (2.0, 0.0)):
        streams, ticks = interleaved(rates, 1000)
        assert np.bincount(streams, minlength=2) == pytest.approx(np.array(rates) * 1000, abs=2)
        assert (np.diff(ticks) >= 0).all()
        assert np.bincount(ticks).max() <= 2
    assert interleaved((1.0, 1.0), 3)[0].tolist() == [0, 1, 0, 1, 0, 1]


def test_a_draw_is_a_function_of_its_seed() -> None:
    one, two, three = (drawn(ZIPF, (0.5, 1.5), 300, seed) for seed in (4, 4, 5))
    assert one.keys.tolist() == two.keys.tolist() != three.keys.tolist()


def test_what_joins_nothing_joins_nothing() -> None:
    nothing = Offline(keys=np.array([NOTHING, NOTHING, 3]))
    rows = drawn((nothing, nothing), EVEN, 4, 0)
    assert not set(rows.keys[rows.streams == 0][[0, 1, 3]]) & set(rows.keys[rows.streams == 1])


def test_streams_may_bring_two_rows_of_a_tick() -> None:
    rows = drawn((ZIPF[0], ZIPF[1]), (1.5, 0.5), 2000, 3)
    mine = rows.streams == 0
    same = np.diff(rows.ticks[mine]) == 0
    assert same.any()
    assert (np.diff(rows.keys[mine])[same] != 0).mean() > 0.5


def test_windows_and_trends_say_what_suffices() -> None:
    assert rows_needed(ZIPF, EVEN, (100.0, 50.0)) == 152
    assert rows_needed(ZIPF, (0.5, 1.5), (100.0, 100.0)) == 202
    assert rows_needed(ZIPF, EVEN, (100.0, None)) is None
    assert rows_needed((ZIPF[0], ROOF[1]), EVEN, NONE) is None
    need = rows_needed(ROOF, EVEN, NONE)
    assert need is not None
    assert 50 <= need <= 56
    falling = tuple(Spaced(law=law, unit=-5, base=3) for law in ROOF)
    assert rows_needed(falling, EVEN, NONE) == need
    faster = LinearTrend(slope=2, intercept=0, noise=Uniform(half_width=3))
    assert rows_needed((ROOF[0], faster), EVEN, NONE) is None
    assert rows_needed(ROOF, EVEN, (4.0, 4.0)) == 10


def test_trends_go_on_from_where_they_are() -> None:
    later = moved(LinearTrend(slope=2, intercept=5, noise=Uniform(half_width=1)), 10)
    assert isinstance(later, LinearTrend)
    assert later.mean(0) == 25.0
    assert moved(ZIPF[0], 10) is ZIPF[0]


def test_budgets_lie_around_the_asked_one() -> None:
    assert budgets_around(8) == (1, 2, 4, 8, 16, 32, 64)
    assert budgets_around(1) == (1, 2, 4, 8)
    assert budgets_around(10**6, 100) == (13, 25, 50, 100)
    assert max(budgets_around(50, 60)) == 60


def test_memory_for_a_share_is_read_from_the_curve() -> None:
    shares = {10: 0.3, 20: 0.6, 40: 0.59, 80: 0.97}
    curve = Curve(points=tuple(Point(budget=b, share=s, results=s) for b, s in shares.items()))
    assert curve.rows_for(0.15) == 5
    assert curve.rows_for(0.6) == 20
    assert 20 < (curve.rows_for(0.7) or 0) < 80
    assert curve.rows_for(0.99) is None
    needs = list(curve.needs().values())
    assert needs[-1] is None
    assert needs[:-1] == sorted(need for need in needs if need is not None)
    for share in (0.2, 0.45, 0.8, 0.95):
        assert curve.at(curve.rows_for(share) or 0) >= share - 1e-9
    assert Curve(points=()).rows_for(0.5) is None
    flat = Curve(points=(Point(budget=4, share=0.0, results=0.0),))
    assert flat.rows_for(0.5) is None


@pytest.mark.parametrize(
    ("laws", "window", "policy"),
    [
        (ROOF, None, heeb(ROOF)),
        (FLOOR, None, heeb(FLOOR)),
        (FLOOR, None, lambda _budget: Rand(seed=1)),
        (ZIPF, 60, heeb(ZIPF, 60)),
    ],
    ids=["ROOF", "FLOOR", "FLOOR RAND", "ZIPF windowed"],
)
def test_more_memory_brings_more_and_runs_agree(
    laws: tuple[Law, Law], window: int | None, policy: Callable[[int], CompiledPolicy]
) -> None:
    """The same draw for all budgets: recall may dip by a point at most."""
    windows = (window, window)
    curve = forecast_join(laws, EVEN, windows, policy, (5, 10, 20, 30, 60), 12_000)
    shares = [point.recall for point in curve.points]
    assert all(after >= before - 0.01 for before, after in pairwise(shares))
    assert 0.0 < shares[0] < shares[2] <= 1.0
    for place in (1, 2):
        budget = curve.points[place].budget
        found = ran(policy(budget), laws, budget, 12_000, window)
        assert shares[place] == pytest.approx(found, abs=0.03)
    held = curve.points[0].held
    assert sum(held) == pytest.approx(1.0, abs=0.05)


def test_all_that_is_needed_finds_all() -> None:
    need = rows_needed(ROOF, EVEN, NONE)
    assert need is not None
    curve = forecast_join(ROOF, EVEN, NONE, heeb(ROOF), (5, need), 2000)
    assert curve.points[-1].recall == 1.0
    windowed = forecast_join(ZIPF, EVEN, (20, 20), heeb(ZIPF, 20), (10, 42), 2000)
    assert windowed.points[-1].recall == 1.0


def test_recall_that_depends_on_the_horizon_is_said_to() -> None:
    still = forecast_join(ZIPF, EVEN, NONE, heeb(ZIPF), (20, 40, 80), 3000)
    assert len(still.notes) == 1
    assert "how long the join runs" in still.notes[0]
    assert forecast_join(ROOF, EVEN, NONE, heeb(ROOF), (5, 10, 20), 3000).notes == ()
    assert forecast_join(ZIPF, EVEN, (50, 50), heeb(ZIPF, 50), (20, 40), 3000).notes == ()


def test_streams_that_never_join_are_said_to() -> None:
    apart = (Stationary(keys=np.array([1]), probabilities=np.ones(1)),
             Stationary(keys=np.array([2]), probabilities=np.ones(1)))  # fmt: skip
    curve = forecast_join(apart, EVEN, (9, 9), heeb(apart, 9), (5,), 500)
    assert "never join" in curve.notes[0]
    assert curve.points[0].recall == 1.0


def test_a_miniature_is_close_to_the_whole() -> None:
    wide = tuple(
        LinearTrend(slope=1, intercept=0, noise=Uniform(half_width=width)) for width in (3000, 4000)
    )
    budgets = (500, 1000, 2000)
    whole = forecast_join(wide, EVEN, NONE, heeb(wide), budgets, 40_000, work_max=1e9)
    small = forecast_join(wide, EVEN, NONE, heeb(wide), budgets, 40_000, work_max=1e5)
    for one, two in zip(whole.points, small.points, strict=True):
        assert two.recall != one.recall
        assert two.recall == pytest.approx(one.recall, abs=0.02)
        assert two.results == pytest.approx(one.results, rel=0.15)


def test_explain_gets_a_curve_and_how_much_memory_is_needed() -> None:
    facts = json.loads(json.dumps(curve_facts(Memory(rows=10), ROOF, EVEN, NONE)))
    rows = [point["rows"] for point in facts["points"]]
    shares = [point["recall"] for point in facts["points"]]
    assert 10 in rows
    assert rows == sorted(rows)
    assert facts["expected"] == pytest.approx(0.78, abs=0.05)
    assert shares[-1] == 1.0
    needs = {need["recall"]: need["rows"] for need in facts["needs"]}
    assert needs[0.5] < needs[0.9] < needs[0.99] <= rows[-1]
    lines = curve_lines(facts)
    assert any("asked" in line for line in lines)
    assert any("90 % with" in line for line in lines)
    drawing = ElementTree.fromstring(curve_svg(facts, "r < s & t"))
    assert len(drawing.findall("{http://www.w3.org/2000/svg}circle")) == len(rows)


@pytest.mark.parametrize("policy", ["HEEB", "PROB", "RAND", "LRU", "LFU", "HIST"])
def test_every_policy_has_a_forecast(policy: str) -> None:
    memory = Memory(rows=12, policy=policy)
    facts = curve_facts(memory, FLOOR, EVEN, (40.0, 40.0))
    assert 0.1 < facts["expected"] < 0.9


def test_a_budget_far_above_the_need_is_enough() -> None:
    facts = curve_facts(Memory(rows=100_000), ROOF, EVEN, NONE)
    assert facts["expected"] == 1.0
    assert facts["points"][-1]["rows"] < 100


def test_without_a_law_there_is_a_note() -> None:
    for facts in (
        curve_facts(Memory(rows=10), (ROOF[0], None), EVEN, NONE),
        lookup_facts(Memory(rows=10), None),
    ):
        assert facts["points"] == []
        assert facts["expected"] is None
        assert "no forecast yet" in facts["notes"][0]
        assert curve_lines(facts) == facts["notes"]
        ElementTree.fromstring(curve_svg(facts))


def test_options_of_the_budget_are_heeded() -> None:
    short, long_ = (
        curve_facts(Memory(rows=10, options={"lifetime": life}), FLOOR, EVEN, NONE)
        for life in (1.2, 300.0)
    )
    assert short["expected"] > long_["expected"] + 0.02


def test_large_windows_over_still_streams_are_scaled_down() -> None:
    """A hundred times the window and the rows: the same curve."""
    small = curve_facts(Memory(rows=800), ZIPF, EVEN, (2_000.0, 2_000.0))
    large = curve_facts(Memory(rows=80_000), ZIPF, EVEN, (200_000.0, 200_000.0))
    assert [point["rows"] for point in large["points"]][3] == 80_000
    for one, two in zip(small["points"], large["points"], strict=True):
        assert two["recall"] == pytest.approx(one["recall"], abs=0.02)
    assert large["ticks"] > 100_000


def test_slow_and_fast_streams_have_a_forecast() -> None:
    facts = curve_facts(Memory(rows=20), FLOOR, (0.4, 1.6), NONE)
    assert 0.0 < facts["expected"] < 1.0
    walk = RandomWalk(drift=0, step=Normal(sigma=1.0))
    assert 0.0 < curve_facts(Memory(rows=20), (walk, walk), EVEN, NONE)["expected"] < 1.0


def test_lookups_have_a_curve_of_hits() -> None:
    law = Ar1(phi0=5.59, phi1=0.72, sigma=4.22, grid=0.1)
    facts = lookup_facts(Memory(rows=50), law)
    shares = [point["hit_rate"] for point in facts["points"]]
    assert all(after >= before - 0.01 for before, after in pairwise(shares))
    keys = law.draw(8000, np.random.default_rng(9))
    policy = Heeb(laws=(law,), weighting=Exponential(50.0), caching=True)
    hits = LookupCache(50, policy).feed(keys)[1600:].mean()
    assert facts["expected"] == pytest.approx(hits, abs=0.03)
    recent = forecast_lookup(law, lambda _budget: Lru(), (25, 50), 4000)
    assert recent.at(50) < facts["expected"]
    assert recent.measure == "hit rate"


def test_a_lookup_never_needs_more_than_all_keys() -> None:
    facts = lookup_facts(Memory(rows=1000), ZIPF[0])
    assert facts["points"][-1]["rows"] <= 300
    assert facts["points"][-1]["hit_rate"] > 0.98


def test_joins_of_three_streams_in_one_memory_have_a_forecast() -> None:
    """What is foretold of streams that share a memory is what a run over other draws has."""
    laws = (*ROOF, LinearTrend(slope=1, intercept=3, noise=Uniform(half_width=4)))
    joins = np.array([[False, True, False], [True, False, True], [False, True, False]])
    memory, rates, windows = Memory(rows=12), (1.0,) * 3, (None,) * 3
    curve = curve_facts(memory, laws, rates, windows, joins=joins)
    assert rows_needed(laws, rates, windows, joins) == curve["points"][-1]["rows"]
    assert curve["points"][-1]["recall"] == 1.0
    rows = drawn(laws, rates, 20_000, 78)
    cache = JoinCache(12, policy_for(memory, laws, rates, windows, 12), joins=joins)
    made = cache.feed(rows.streams, rows.keys, rows.ticks)
    meter = RecallMeter((NO_WINDOW,) * 3, 1 << 20)
    none = np.zeros((len(rows.keys), 3), dtype=np.int64)
    there = meter.feed_joins(rows.streams, rows.keys, rows.ticks, rows.nows(3), none, joins=joins)[
        1
    ]
    found = (made.made.sum() + made.together.sum()) / there.sum()
    assert curve["expected"] == pytest.approx(found, abs=0.02)
