"""Routing: statistics beside brute force, tables beside formulas, answers beside a scan."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.kernels.routes import STEPS, step_of
from penstock.operators.join.options import Options
from penstock.operators.join.routing import (
    BUILT_IN,
    CHOICES,
    PAPER,
    DecisionTable,
    DynamicStrategy,
    IntervalHistogram,
    Sizes,
    costs,
    dynamic,
)
from penstock.operators.join.routing.dynamic import MARGIN, WORTH
from penstock.operators.join.routing.histogram import bounds
from penstock.operators.join.routing.table import step_middles
from penstock.operators.join.runs import Runs
from penstock.operators.join.select import Rectangles, SelectCore

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
ends = st.one_of(st.integers(-50, 150), st.sampled_from((LOWEST, LOWEST + 1, HIGHEST, HIGHEST - 1)))
ranges = st.lists(st.tuples(ends, ends).map(lambda pair: (min(pair), max(pair))), max_size=30)


def array(given_ranges: list[tuple[int, int]]) -> Any:
    return np.array(given_ranges, dtype=np.int64).reshape(-1, 2)


def covered(low: int, high: int, start: float, stop: float) -> float:
    """The share of [start, stop) that the whole numbers of [low, high] take up."""
    return max(min(high + 1, stop) - max(low, start), 0.0) / (stop - start)


@given(ranges, st.integers(-40, 40), st.integers(0, 160), st.sampled_from((1, 7, 100)))
@example([(0, 100)], -40, 140, 7)
def test_histogram_counts_covered_shares(
    given_ranges: list[tuple[int, int]], low: int, width: int, buckets: int
) -> None:
    histogram = IntervalHistogram(low, low + width, buckets)
    histogram.change(array(given_ranges), 1)
    counts = histogram.counts()
    step = (width + 1) / buckets
    for bucket in range(buckets):
        start = low + bucket * step
        expected = sum(covered(a, b, start, start + step) for a, b in given_ranges)
        assert abs(counts[bucket + 1] - expected) <= 1e-5 * (len(given_ranges) + 1)
    assert counts[0] == sum(a < low for a, _ in given_ranges)
    assert counts[-1] == sum(b > low + width for _, b in given_ranges)


@given(ranges, ranges, st.integers(-40, 40), st.integers(0, 160), st.randoms())
def test_deleting_undoes_adding(
    kept: list[tuple[int, int]], gone: list[tuple[int, int]], low: int, width: int, chance: Any
) -> None:
    once, again = IntervalHistogram(low, low + width), IntervalHistogram(low, low + width)
    once.change(array(kept), 1)
    mixed = kept + gone
    chance.shuffle(mixed)
    again.change(array(mixed), 1)
    again.change(array(gone), -1)
    assert once.counts().tolist() == again.counts().tolist()
    assert once.outside == again.outside


@given(ranges)
@example([(LOWEST, HIGHEST)])
@example([(LOWEST + 1, HIGHEST - 1)])
def test_bounds_hold_the_closed_ends(given_ranges: list[tuple[int, int]]) -> None:
    low, high = bounds(array(given_ranges))
    closed = [end for pair in given_ranges for end in pair if end not in (LOWEST, HIGHEST)]
    assert (low, high) == (min(closed, default=0), max(closed, default=0))
    histogram = IntervalHistogram(low, high)
    histogram.change(array(given_ranges), 1)
    for end in closed:
        assert 1 <= histogram.bucket(end) <= histogram.buckets


def test_one_stray_end_widens_no_bucket() -> None:
    lows = np.arange(1000, dtype=np.int64)
    both = np.stack([lows, lows + 10], axis=1)
    both[7, 1] = 10**15
    assert bounds(both)[1] < 2100


@given(st.integers(0, 1 << 31))
def test_steps_hold_counts_near_their_middle(count: int) -> None:
    step, middles = step_of(count), step_middles()
    assert 0 <= step < STEPS
    if step < STEPS - 1:
        assert abs(count - middles[step]) <= count / 8
        assert step_of(count) <= step_of(count + 1)


sizes = st.builds(
    Sizes,
    rows=st.integers(0, 10**6),
    queries=st.integers(0, 10**6),
    scattered=st.integers(0, 10**5),
    groups=st.integers(0, 500),
    roots=st.floats(0, 10**5),
)


@given(
    sizes,
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e5)), min_size=1, max_size=12),
    st.sampled_from((PAPER, BUILT_IN)),
    st.sets(st.sampled_from(CHOICES), min_size=1),
)
def test_the_table_decides_as_the_formulas_do(
    known: Sizes, read: list[tuple[float, float]], constants: Any, enabled: set[str]
) -> None:
    accepted, scattered = (np.array(column) for column in zip(*read, strict=True))
    table = DecisionTable(constants, known, accepted, scattered, tuple(enabled))
    middles = step_middles()
    for bucket in range(len(read)):
        both = (np.full(STEPS, column[bucket]) for column in (accepted, scattered))
        each = costs(constants, known, middles, *both)
        for number, choice in enumerate(CHOICES):
            if choice not in enabled:
                each[number] = np.inf
        cells = slice(bucket * STEPS, (bucket + 1) * STEPS)
        assert table.choices[cells].tolist() == each.argmin(axis=0).tolist()


class Plain:
    """The slow twin of every strategy: all queries, one by one."""

    def __init__(self, rectangles: Rectangles) -> None:
        self.rectangles = rectangles
        self.slots: set[int] = set()
        self.tuples = 0

    def add(self, slots: Any, *ranges: Any) -> None:
        assert not set(slots.tolist()) & self.slots
        for given_ends, (side, end) in zip(ranges, product((0, 1), (0, 1)), strict=True):
            kept = (self.rectangles.a, self.rectangles.c)[side][slots, end]
            assert kept.tolist() == given_ends.tolist()
        self.slots |= set(slots.tolist())

    def drop(self, slots: Any) -> None:
        assert set(slots.tolist()) <= self.slots
        self.slots -= set(slots.tolist())

    def identify(self, a: Any, codes: Any, runs: Runs) -> tuple[Any, Any]:
        self.tuples += len(a)
        ranges = {slot: (*self.rectangles.a[slot], *self.rectangles.c[slot]) for slot in self.slots}
        pairs = [
            (row, slot)
            for row in range(len(a))
            for slot, (al, ah, cl, ch) in ranges.items()
            if al <= a[row] <= ah and any(cl <= c <= ch for c in runs.run(int(codes[row])))
        ]
        both = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        return both[:, 0].copy(), both[:, 1].copy()

    def find(self, a: Any, codes: Any, runs: Runs) -> int:
        return len(self.identify(a, codes, runs)[0])

    def counts(self) -> dict[str, int]:
        return {"visited": self.tuples}


class PlainHot(Plain):
    """With hotspots: queries of even slots are hot, in groups by their slot modulo 4."""

    @property
    def group_of(self) -> Any:
        groups = np.full(max(self.slots, default=-1) + 1, -1, dtype=np.int32)
        for slot in self.slots:
            groups[slot] = slot % 4 if slot % 2 == 0 else -1
        return groups

    @property
    def sizes(self) -> Any:
        return np.bincount([slot % 4 for slot in self.slots if slot % 2 == 0], minlength=4)

    def live(self) -> Any:
        return np.flatnonzero(self.sizes)


def pairs_of(found: tuple[Any, Any]) -> list[tuple[int, int]]:
    return sorted(zip(found[0].tolist(), found[1].tolist(), strict=True))


class Bench:
    """Random queries, rows and tuples, the router, and its slow twin beside it."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.rectangles, self.runs, self.rows = Rectangles(), Runs(), 0
        self.twin = Plain(self.rectangles)
        makers: dict[str, Any] = {name: lambda: Plain(self.rectangles) for name in CHOICES}
        makers["hot"] = lambda: PlainHot(self.rectangles)
        constants = BUILT_IN if self.rng.integers(2) else PAPER
        self.router = DynamicStrategy(self.rectangles, makers, lambda hot: hot, constants, 10)

    def change(self) -> None:
        """Queries come and go, rows come."""
        rng, here = self.rng, self.rectangles.here
        taken = np.flatnonzero(here)
        gone = rng.choice(taken, len(taken) // 3, replace=False).astype(np.int32)
        for strategy in (self.router, self.twin):
            strategy.drop(gone)
        self.rectangles.remove(gone)
        free = np.setdiff1d(np.arange(60), np.flatnonzero(here))
        slots = np.sort(rng.choice(free, rng.integers(0, 15), replace=False)).astype(np.int32)
        al, cl = rng.integers(0, 50, (2, len(slots)))
        ranges = al, al + rng.integers(0, 30, len(slots)), cl, cl + 20
        self.rectangles.put(slots, *ranges)
        for strategy in (self.router, self.twin):
            strategy.add(slots, *ranges)
        new = int(rng.integers(0, 20))
        slots = np.arange(self.rows, self.rows + new, dtype=np.int32)
        self.rows += new
        self.runs.change(
            rng.integers(0, 5, new), rng.integers(0, 50, new), slots, np.ones(new, dtype=np.bool_)
        )

    def tuples(self) -> tuple[Any, Any]:
        """Draw a batch; some codes have no run."""
        return self.rng.integers(-5, 90, 12), self.rng.integers(-1, 7, 12).astype(np.int32)


@given(st.integers(0, 1 << 30), st.booleans())
def test_answers_do_not_depend_on_the_choice(seed: int, by_chance: bool) -> None:
    bench = Bench(seed)
    router, runs = bench.router, bench.runs
    for _ in range(6):
        bench.change()
        if by_chance:  # Let the table say anything.
            choices = router.table(runs).choices
            choices[:] = bench.rng.integers(0, len(CHOICES), choices.shape)
            router._calls[:] = 0
        a, codes = bench.tuples()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dynamic, "WORTH", WORTH * (not by_chance))
            found = router.identify(a, codes, runs)
        assert pairs_of(found) == pairs_of(bench.twin.identify(a, codes, runs))
        assert router.find(a, codes, runs) == len(found[0])
    assert sum(router.plans().values()) == 2 * 6 * 12


@given(st.integers(0, 1 << 30), st.booleans())
def test_no_tuple_goes_where_it_costs_much_more(seed: int, calls: bool) -> None:
    bench = Bench(seed)
    router, runs = bench.router, bench.runs
    router._calls[:] *= calls
    worth = WORTH * calls
    for _ in range(4):
        bench.change()
        a, codes = bench.tuples()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dynamic, "WORTH", worth)
            choices, tally = router.route(a, codes, runs)
        explained = [
            router.explain(int(x), int(code), runs) for x, code in zip(a, codes, strict=True)
        ]
        joining = np.array([each.choice is not None for each in explained])
        assert tally.tolist() == np.bincount(choices, minlength=len(CHOICES) + 1).tolist()
        assert ((choices == len(CHOICES)) == ~joining).all()
        paid = lost = 0.0
        for choice, each in zip(choices[joining], np.array(explained)[joining], strict=True):
            cost, least = each.costs[CHOICES[choice]], min(each.costs.values())
            assert calls or cost <= MARGIN * least * 1.0001
            paid, lost = paid + cost, lost + cost - MARGIN * least
        # A part moves if it saves no more than a call, or than a tenth of the batch.
        sums = [sum(each.costs[name] for each in np.array(explained)[joining]) for name in CHOICES]
        usual = min(total + call for total, call in zip(sums, router._calls, strict=True))
        assert lost <= router._calls.sum() + len(CHOICES) * worth * usual + 1e-4 * paid


@given(st.integers(0, 1 << 30))
def test_statistics_are_those_of_the_queries_that_stand(seed: int) -> None:
    bench = Bench(seed)
    router, runs = bench.router, bench.runs
    for _ in range(6):
        bench.change()
        statistics = router.statistics
        statistics.refresh(router._hotspots)
        here = np.flatnonzero(bench.rectangles.here)
        for histogram, slots in (
            (statistics.accepted, here),
            (statistics.scattered, here[here % 2 == 1]),
        ):
            fresh = IntervalHistogram(histogram.low, histogram.high, histogram.buckets)
            fresh.change(bench.rectangles.a[slots], 1)
            assert fresh.counts().tolist() == histogram.counts().tolist()
        explained = router.explain(20, 1, runs)
        assert explained.estimates["rows_joining"] == len(runs.run(1))
        assert set(explained.costs) == set(CHOICES)
        assert (explained.choice is None) == (len(runs.run(1)) == 0)
        if explained.choice:
            assert explained.choice == min(CHOICES, key=explained.costs.__getitem__)


@settings(max_examples=40)
@given(st.integers(0, 1 << 30), st.booleans())
def test_the_router_among_real_strategies_answers_as_a_scan(seed: int, by_chance: bool) -> None:
    rng = np.random.default_rng(seed)
    cores = {name: SelectCore(name, Options(alpha=0.1), threads=1) for name in ("dynamic", "scan")}
    runs, slots = Runs(), np.arange(200, dtype=np.int32)
    here = np.zeros(len(slots), dtype=np.bool_)
    for step in range(5):
        gone = slots[here & (rng.random(len(slots)) < 0.3)]
        come = slots[~here & (rng.random(len(slots)) < 0.4)]
        al, cl = rng.integers(0, 50, (2, len(come)))
        widths = rng.integers(0, 30, (2, len(come)))
        for core in cores.values():
            core.drop(gone)
            core.add(come, al, al + widths[0], cl, cl + widths[1])
        here[gone], here[come] = False, True
        rows = np.arange(20 * step, 20 * step + 20)
        runs.change(rng.integers(0, 6, 20), rng.integers(0, 80, 20), rows, np.ones(20, np.bool_))
        router = cores["dynamic"].strategy
        assert isinstance(router, DynamicStrategy)
        if by_chance:  # Let the table say anything, and parts be cut however small.
            choices = router.table(runs).choices
            choices[:] = rng.integers(0, len(CHOICES), choices.shape)
            router._calls[:] = 0
        a, codes = rng.integers(-5, 90, 40), rng.integers(-1, 8, 40)
        found = {name: pairs_of(core.identify(a, codes, runs)) for name, core in cores.items()}
        assert found["dynamic"] == found["scan"]
        assert cores["dynamic"].find(a, codes, runs) == len(found["scan"])
