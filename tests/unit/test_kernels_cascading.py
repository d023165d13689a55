"""Cascading: single kernels at their limits, and what windows hold after growth and sweeps."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.algebra.inputs import WindowLength
from penstock.algebra.trees import Join, Leaf, Tree
from penstock.kernels import cascade_columns as at
from penstock.kernels.cascade_walks import in_range, range_of, word_bucket
from penstock.operators.multi_join.cascade import Cascade
from penstock.operators.multi_join.layouts import BACKWARD, FORWARD
from penstock.operators.shared.fields import Link
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.shared_figures import MADE, of_inputs

LOWEST, HIGHEST = -(2**63), 2**63 - 1
VALUES = [LOWEST, LOWEST + 1, -2, -1, 0, 1, 2, HIGHEST - 1, HIGHEST]
A, B, C = Leaf(0), Leaf(1), Leaf(2)
PLANS = [Join(Join(A, B), C), Join(Join(B, C), A), Join(Join(A, C), B), Join(C, Join(B, A))]


def holds(op: int, own: int, other: int, low: int, high: int) -> bool:
    some, first, more = range_of(op, own, low, high)
    return bool(some and in_range(other, first, more))


def test_differences_never_wrap_and_ends_are_open() -> None:
    for own in VALUES:
        for other in VALUES:
            for low in VALUES:
                for high in VALUES:
                    found = holds(at.DIFFERENCE, own, other, low, high)
                    above = low == LOWEST or low <= other - own
                    below = high == HIGHEST or other - own <= high
                    assert found == (low <= high and above and below)
                    assert holds(at.BACKWARDS, other, own, low, high) == found


@pytest.mark.parametrize("op", ["<", "<=", "<>"])
def test_a_comparison_reads_the_same_from_both_sides(op: str) -> None:
    truth = {"<": int.__lt__, "<=": int.__le__, "<>": int.__ne__}[op]
    for left in VALUES:
        for right in VALUES:
            assert holds(FORWARD[op], left, right, 0, 0) == truth(left, right)
            assert holds(BACKWARD[op], right, left, 0, 0) == truth(left, right)


def test_buckets_are_within_their_bits_and_well_spread() -> None:
    for step in (1, 64, 1 << 20, 1 << 40):
        found = [word_bucket(step * i, 64 - 8) for i in range(256)]
        assert all(0 <= bucket < 256 for bucket in found)
        assert len(set(found)) > 100


def example(tree: Tree, **options: int) -> Cascade:
    """Three streams in a chain, windows of ten rows: the first example of the specification."""
    window = WindowLength("rows", 10)
    links = [Link(((0, 0), (1, 0))), Link(((1, 1), (2, 0)))]
    cascade = Cascade([window] * 3, [1, 2, 1], links, [], names="abc", **options)
    cascade.arrange(tree)
    return cascade


def run(cascade: Cascade, count: int, seed: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    inputs = rng.choice(3, size=count, p=[0.1, 0.2, 0.7])
    rows = [int((inputs == k).sum()) for k in range(3)]
    both = np.stack([rng.integers(0, 2, rows[1]), rng.integers(0, 5, rows[1])], axis=1)
    fields = [rng.integers(0, 2, (rows[0], 1)), both, rng.integers(0, 5, (rows[2], 1))]
    flags = np.ones(count, dtype=bool)
    times = cascade_clock(cascade) + np.arange(count)
    return cascade.feed(inputs, times, flags, flags, fields)


def cascade_clock(cascade: Cascade) -> int:
    """A time that is not before what was fed."""
    return 1_000_000 * int(cascade.nexts.sum())


def test_all_plans_of_the_example_make_what_the_model_says() -> None:
    found = [np.unique(run(example(plan), 20_000), axis=0) for plan in PLANS]
    for other in found[1:]:
        assert np.array_equal(found[0], other)
    # 1000 results a second of 100 arrivals; ± 5 % as the specification grants.
    assert len(found[0]) == pytest.approx(10 * 20_000, rel=0.05)


@pytest.mark.parametrize(("plan", "mask", "rate"), [(0, 3, 1.5), (1, 6, 1.8), (2, 5, 8.0)])
def test_intermediate_rates_are_those_of_the_model(plan: int, mask: int, rate: float) -> None:
    cascade = example(PLANS[plan])
    run(cascade, 20_000)
    counts = cascade.counts()
    assert counts[MADE, of_inputs(mask)] == pytest.approx(rate * 20_000, rel=0.05)
    assert not cascade.counts()


def test_dead_composites_are_swept_out() -> None:
    cascade = example(PLANS[2])
    node = cascade._windows.layout.masks.index(0b101)
    for seed in range(20):
        run(cascade, 500, seed)
        # A product of ten by ten rows is active; as many may be dead, and one event's.
        assert 100 <= cascade._windows.nodes[node, at.USED] <= 2 * 100 + 64 + 10
    assert cascade.active(0b101) == 100
    assert cascade._windows.nodes[node, at.USED] == 100


def test_too_many_composites_are_refused_with_a_remedy() -> None:
    run(example(PLANS[2], composites_max=1_000), 500)
    with pytest.raises(PenstockError, match=r"The join of a, c keeps more than 80 rows") as refused:
        run(example(PLANS[2], composites_max=80), 500)
    assert refused.value.code == "MJN-001"


def test_results_of_one_row_have_a_limit_too() -> None:
    window = WindowLength("rows", 10_000)
    cascade = Cascade([window, window], [0, 0], [], [], composites_max=4_500)
    inputs = np.array([0] * 5_000 + [1])
    flags = np.ones(len(inputs), dtype=bool)
    fields = [np.zeros((5_000, 0), dtype=np.int64), np.zeros((1, 0), dtype=np.int64)]
    with pytest.raises(PenstockError, match="makes of one row more than 4500 rows"):
        cascade.feed(inputs, np.arange(len(inputs)), flags, flags, fields)


def test_one_row_may_make_more_results_than_there_was_room_for() -> None:
    window = WindowLength("rows", 10_000)
    cascade = Cascade([window, window], [0, 0], [], [])
    inputs = np.array([0] * 10_001 + [1])
    flags = np.ones(len(inputs), dtype=bool)
    fields = [np.zeros((10_001, 0), dtype=np.int64), np.zeros((1, 0), dtype=np.int64)]
    found = cascade.feed(inputs, np.arange(len(inputs)), flags, flags, fields)
    assert sorted(found[:, 0].tolist()) == list(range(1, 10_001))


def test_a_table_closes_up_when_most_of_it_is_deleted() -> None:
    window = WindowLength("rows", 5)
    cascade = Cascade([window, None, window], [1, 1, 1], [Link(((0, 0), (1, 0), (2, 0)))], [])
    ids = cascade.insert(1, np.arange(3_000).reshape(-1, 1))
    one = np.ones(1, dtype=bool)
    empty = np.zeros((0, 1), dtype=np.int64)
    cascade.feed(np.array([0]), np.array([1]), one, one, [np.array([[2_999]]), empty, empty])
    cascade.delete(1, ids[:2_990])
    assert len(cascade._windows.ring(int(cascade._leaves[1]))) == 16
    assert cascade.rows(1).ids.tolist() == list(range(2_990, 3_000))
    assert cascade.insert(1, np.array([[7]])).tolist() == [3_000]
    row = [empty, empty, np.array([[2_999]])]
    found = cascade.feed(np.array([2]), np.array([2]), one, one, row)
    assert found.tolist() == [[0, 2_999, 0]]
    cascade.delete(1, np.array([2_999]))
    assert len(cascade.feed(np.array([2]), np.array([3]), one, one, row)) == 0
