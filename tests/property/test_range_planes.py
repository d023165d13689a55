"""Tuples of two range attributes: the least value of boxes, and their sums, against all tuples."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernels.range_points import RangeRectangles
from penstock.operators.range_aggregate.planes import PlaneBag, PlaneWeights, least_of
from penstock.operators.shared.totals import PlaneTotals, added_up, range_sums, summed_up
from penstock.vocabulary.batches import Ints
from tests.oracle.range_aggregates import least_in_plane

SEEDS = st.integers(0, 2**32 - 1)
LOWEST, HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
Tuple = tuple[int, int, int, int]


def drawn_boxes(chance: np.random.Generator, width: int) -> RangeRectangles:
    """Draw boxes; some are without an end, some hold nothing."""
    count = 12
    ends = [np.sort(chance.integers(-1, width + 1, (2, count)), axis=0) for _ in range(2)]
    for own in ends:
        own[0][chance.random(count) < 0.2] = LOWEST
        own[1][chance.random(count) < 0.2] = HIGHEST
    none = chance.random(count) < 0.1
    ends[0][0][none], ends[0][1][none] = 1, 0
    partitions = chance.integers(0, 3, count)
    return RangeRectangles(partitions, *ends[0], *ends[1])


def weights_of(changes: Counter[Tuple]) -> PlaneWeights:
    columns = np.array([(*one, count) for one, count in changes.items()], np.int64).reshape(-1, 5)
    keys, sums = added_up([np.ascontiguousarray(own) for own in columns.T[:4]], {0: columns[:, 4]})
    return PlaneWeights._make([*keys, sums[0]])


def inside(table: Counter[Tuple], partition: int) -> list[tuple[int, int, int]]:
    return [own[1:] for own in table.elements() if own[0] == partition]


def drawn_tuple(chance: np.random.Generator, width: int) -> Tuple:
    edge = chance.random() < 0.05
    y = int(chance.choice([LOWEST, HIGHEST])) if edge else int(chance.integers(0, 2 * width))
    x, z = chance.integers(0, width, 2).tolist()
    return int(chance.integers(0, 2)), x, z, y


@settings(max_examples=40)
@given(seed=SEEDS, width=st.sampled_from([2, 9, 1000]))
def test_the_least_value_of_a_box_is_that_of_all_tuples_in_it(seed: int, width: int) -> None:
    """Sizes go beyond a leaf of the index, up and down again, and values tie."""
    chance = np.random.default_rng(seed)
    tuples, table = PlaneBag(), Counter[Tuple]()
    for turn in range(8):
        changes = Counter(drawn_tuple(chance, width) for _ in range(chance.integers(0, 90)))
        held = list(table.elements())
        share = 0.8 if turn % 3 == 2 else 0.2
        changes.subtract(own for own in held if chance.random() < share)
        net = Counter({own: count for own, count in changes.items() if count})
        tuples.change(weights_of(net))
        table.update(changes)
        assert min(table.values(), default=0) >= 0
        boxes = drawn_boxes(chance, width)
        for found, has in (tuples.least(boxes), least_of(weights_of(+table), boxes)):
            for k, (partition, *box) in enumerate(zip(*boxes, strict=True)):
                expected = least_in_plane(inside(table, partition), (box[0], box[1], *box[2:]))
                assert (found[k] if has[k] else None) == expected
        kept = zip(*tuples.tuples(), strict=True)
        assert {own[:4]: own[4] for own in ((*map(int, own),) for own in kept)} == +table


@settings(max_examples=40)
@given(seed=SEEDS, width=st.sampled_from([2, 9, 1000]))
def test_a_box_adds_up_what_is_in_it(seed: int, width: int) -> None:
    chance = np.random.default_rng(seed)
    totals, rows = PlaneTotals(), list[list[Ints]]()
    for _ in range(4):
        count = int(chance.integers(0, 60))
        own = [chance.integers(0, 2, count), *chance.integers(0, width, (2, count)),
               chance.integers(-9, 9, count)]  # fmt: skip
        partitions, xs, zs, weights = own
        totals.change(summed_up(partitions, xs, {3: weights}, zs))
        rows.append(own)
        boxes = drawn_boxes(chance, width)
        found = range_sums(totals.places, *boxes[:3], boxes[3:])
        held = [np.concatenate(column) for column in zip(*rows, strict=True)]
        for k, (p, x1, x2, z1, z2) in enumerate(zip(*boxes, strict=True)):
            there = (held[0] == p) & (x1 <= held[1]) & (held[1] <= x2)
            there &= (z1 <= held[2]) & (held[2] <= z2)
            assert found.get(3, np.zeros(12, np.int64))[k] == held[3][there].sum()
