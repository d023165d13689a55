"""The k lowest values and ranges of two attributes, against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.lab.dissemination.plane import PlaneExtremes, PlaneRanges, PlaneTuples
from penstock.operators.range_aggregate.lowest import LowestValues
from penstock.operators.shared.subscription_points import SubscriptionPoints, rectangles
from tests.oracle import range_aggregates as oracle
from tests.oracle.range_aggregates import Tuple
from tests.property.test_range_distinct import ASKED, drawn_batch
from tests.property.test_range_extremes import columns, one, rows, told

EXTREMES = [-(2**63), 0, 2**63 - 1]


@pytest.mark.parametrize(("k", "values"), [(1, [0, 1, 2]), (2, EXTREMES), (4, [0, 1, 2, 3])])
def test_the_lowest_values_are_those_of_a_recomputation(
    k: int, values: list[int], seed: int
) -> None:
    random = np.random.default_rng(seed)
    largest = bool(seed % 2)
    lowest, table = LowestValues(k, largest=largest), list[Tuple]()
    points = SubscriptionPoints()
    p, x1, x2 = np.ascontiguousarray(np.array(ASKED).T)
    points.add(np.arange(len(ASKED)), p, x1, x2)
    truth = oracle.lowest(k, largest)
    for _ in range(60):
        goes, comes = drawn_batch(random, table, values)
        before, table = table, oracle.after(table, goes, comes)
        messages = lowest.net(columns(goes), columns(comes))
        concerned = set(points.find(rectangles(messages))[1].tolist())
        was, now = ([truth(side, each) for each in ASKED] for side in (before, table))
        assert {s for s in range(len(ASKED)) if was[s] != now[s]} <= concerned
        found, counts = (own.tolist() for own in lowest.answers(p, x1, x2))
        assert [tuple(row[:n]) for row, n in zip(found, counts, strict=True)] == now
    assert not lowest.missing
    assert sorted(table) == sorted(zip(*(c.tolist() for c in lowest.tuples()), strict=True))


@pytest.mark.parametrize("k", [1, 3])
def test_a_tuple_that_comes_or_goes_tells_those_that_have_it_among_the_lowest(
    k: int, seed: int
) -> None:
    """Affected are exactly those in the rectangles, which are disjoint."""
    random = np.random.default_rng(seed)
    truth = oracle.lowest(k)
    for trial in range(150):
        drawn = random.integers(0, [2, 8, 4], (random.integers(12), 3))
        table: list[Tuple] = [(int(p), int(x), int(y)) for p, x, y in drawn]
        new = (0, int(random.integers(8)), int(random.integers(4)))
        lowest = LowestValues(k, columns([*table, new] if trial % 2 else table))
        update = one(new, None) if trial % 2 else one(None, new)
        messages = rows(lowest.process(update))
        for each in ASKED:
            changed = truth(table, each) != truth([*table, new], each)
            assert len(told(messages, each)) == changed


def test_rectangles_of_two_attributes_are_told_once(seed: int) -> None:
    random = np.random.default_rng(seed)
    ends = [(a, b) for a in range(5) for b in range(a, 5)]
    asked = [(*xs, *zs) for xs in ends for zs in ends]
    ranges = PlaneRanges(*np.ascontiguousarray(np.array(asked).T))
    for _ in range(60):
        table = [(int(x), int(z), int(y)) for x, z, y in random.integers(0, 5, (8, 3))]
        extremes = PlaneExtremes(PlaneTuples(*np.ascontiguousarray(np.array(table).T)))
        new = (int(random.integers(5)), int(random.integers(5)), int(random.integers(5)))
        now = [*table, new]
        region = extremes.insert(*new)
        assert_concerned(region, ranges, asked, table, now)
        old = now.pop(int(random.integers(len(now))))
        region = extremes.delete(*old)
        assert_concerned(region, ranges, asked, [*now, old], now)
        values, empty = extremes.answers(ranges)
        found = [None if e else int(v) for v, e in zip(values, empty, strict=True)]
        assert found == [oracle.least_in_plane(now, each) for each in asked]
        assert extremes.delete(9, 9, 9) is None


def assert_concerned(region, ranges, asked, before, now) -> None:
    """Affected are exactly those that hold the point and lie in the region."""
    concerned = [False] * len(asked) if region is None else region.concerns(ranges).tolist()
    changed = [
        oracle.least_in_plane(before, each) != oracle.least_in_plane(now, each) for each in asked
    ]
    assert concerned == changed


@pytest.mark.parametrize("end", [-(2**63), 2**63 - 1])
def test_the_ends_of_integers_bound_regions_like_others(end: int) -> None:
    low, high = -(2**63), 2**63 - 1
    region = PlaneExtremes(PlaneTuples(*(np.array([code]) for code in (end, end, 0)))).insert(
        0, 0, 1
    )
    assert region is not None
    narrow = (low + 1, high) if end == low else (low, high - 1)
    asked = PlaneRanges(*np.ascontiguousarray(np.array([(low, high) * 2, (*narrow, low, high)]).T))
    assert region.concerns(asked).tolist() == [False, True]
