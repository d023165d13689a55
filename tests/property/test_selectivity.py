"""Properties of dual space, volumes, filters, conjunctions and their bounds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.models.coefficient_bins import CoefficientBins
from penstock.planning.selectivity.bounds import frechet, greedy
from penstock.planning.selectivity.conjunctions import conjunction
from penstock.planning.selectivity.crossings import AttributeOrder, crossing, cut_alike
from penstock.planning.selectivity.dual_space import crosses, dominates, holds_all, values_at
from penstock.planning.selectivity.extremes import instantaneous, over_window
from penstock.planning.selectivity.filters import passed, volumes
from penstock.planning.selectivity.maps import counted
from penstock.planning.selectivity.terms import ValueBand
from tests.oracle import selectivity as oracle

SMALL = st.floats(-4, 4, allow_nan=False).map(lambda x: round(x, 3))
WIDE = st.floats(0, 3, allow_nan=False).map(lambda x: round(x, 3))


@st.composite
def boxes(draw: st.DrawFn, count: int = 1, width: int | None = None) -> CoefficientBins:
    width = draw(st.integers(1, 4)) if width is None else width
    low = np.array([[draw(SMALL) for _ in range(width)] for _ in range(count)])
    extent = np.array([[draw(WIDE) for _ in range(width)] for _ in range(count)])
    begin = draw(st.sampled_from([0.0, 0.5]))
    return CoefficientBins.of(
        low, low + extent, np.arange(1.0, count + 1), begin + draw(st.floats(0.1, 2.0)),
        begins=begin,
    )  # fmt: skip


models = st.lists(SMALL, min_size=4, max_size=4)


@settings(deadline=None, max_examples=60)
@given(models, st.lists(WIDE, min_size=4, max_size=4), st.floats(0, 10))
def test_who_dominates_is_nowhere_lower(lower: list[float], more: list[float], at: float) -> None:
    higher = np.array(lower) + more
    assert dominates(higher, lower)
    assert values_at(higher, at) >= values_at(lower, at) - 1e-9 * max(1.0, at**3)


def test_before_0_who_dominates_may_be_lower() -> None:
    assert dominates([0.0, 1.0], [0.0, 0.0])
    assert values_at([0.0, 1.0], -1.0) < values_at([0.0, 0.0], -1.0)


@settings(deadline=None, max_examples=100)
@given(SMALL, SMALL, SMALL, SMALL, st.floats(0, 2), st.floats(0.1, 2))
def test_contours_tell_crossings_of_lines(
    a: float, b: float, c: float, d: float, begin: float, length: float
) -> None:
    one, other = [a, b], [c, d]
    assert crosses(one, other, begin, begin + length) == crosses(other, one, begin, begin + length)
    apart = values_at(np.array(one) - other, np.linspace(begin, begin + length, 101)[:, None])
    assume(min(abs(apart[0]), abs(apart[-1])) > 1e-6)
    assert crosses(one, other, begin, begin + length) == bool(
        (np.sign(apart) != np.sign(apart[0])).any()
    )


def test_contours_miss_curves_that_cross_twice() -> None:
    assert not crosses([1.0, -4.0, 3.9], [0.0, 0.0, 0.0], 0.0, 1.1)
    assert values_at([1.0, -4.0, 3.9], 0.5) < 0


@settings(deadline=None, max_examples=60)
@given(boxes(), st.integers(0, 2**31), st.floats(0, 5))
def test_models_of_a_box_lie_between_its_corners(
    bins: CoefficientBins, seed: int, at: float
) -> None:
    inside = np.random.default_rng(seed).uniform(bins.low[0], bins.high[0], (20, bins.width))
    found = values_at(inside, np.full(20, at))
    slack = 1e-9 * (1 + at**4)
    assert (found >= values_at(bins.low, at) - slack).all()
    assert (found <= values_at(bins.high, at) + slack).all()


@settings(deadline=None, max_examples=60)
@given(boxes(), SMALL)
def test_volumes_are_those_of_many_points(bins: CoefficientBins, number: float) -> None:
    below, above = (float(each[0]) for each in volumes(bins, number))
    assert below >= 0 and above >= 0 and below + above <= 1 + 1e-12
    flat = (bins.high - bins.low)[0] == 0
    begin, end = float(bins.begins[0]), float(bins.ends[0])
    for at in (begin, end):
        ends = values_at(bins.low, at), values_at(bins.high, at)
        assume(abs(ends[1] - ends[0]) > 1e-6 or abs(ends[0] - number) > 1e-6)
    points = {1: 4001, 2: 121, 3: 31, 4: 13}[bins.width]
    true = oracle.shares(bins.low[0], bins.high[0], begin, end, number, points)
    # A raster misses a cut by up to a cell; so do the points where no closed form is known.
    slack = 1.5 / points * bins.width + (0.06 if bins.width > 2 and begin > 0 else 0.0)
    assert (below, above) == pytest.approx(true, abs=slack)
    if bins.width <= 2 and not flat.any():
        assert below == pytest.approx(1.0) or not holds_all(bins, number, "<")[0]
        assert above == pytest.approx(1.0) or not holds_all(bins, number, ">")[0]


def test_volumes_by_chance_agree_within_a_hundredth() -> None:
    chance = np.random.default_rng(5)
    for width in (2, 3, 4):
        for _ in range(10):
            low = chance.normal(size=width)
            high = low + chance.uniform(0.2, 2, width)
            end = float(chance.uniform(0.5, 2))
            middle = float(values_at((low + high) / 2, end / 2))
            bins = CoefficientBins.of([low], [high], [1], end)
            inside = chance.uniform(low, high, (100_000, width))
            first, second = (
                values_at(inside, np.zeros(100_000)),
                values_at(inside, np.full(100_000, end)),
            )
            below = float(((first < middle) & (second < middle)).mean())
            assert float(volumes(bins, middle)[0][0]) == pytest.approx(below, abs=0.01)


@pytest.mark.parametrize("width", [1, 2])
def test_two_of_one_box_dominate_each_other_as_often_as_is_known(width: int) -> None:
    """Of two models of one box, one dominates the other with a chance of 2^(1-D)."""
    bins = CoefficientBins.of([[3.0, -1.0][:width]], [[5.0, 1.0][:width]], [1], 1e9)
    passing = crossing(bins, bins, AttributeOrder(0, 0, True), 1e9).pairs
    # In all of time lines keep their order only if one dominates: half of these never pass.
    assert 2 * (1 - passing) == pytest.approx(2.0 ** (1 - width), abs=1e-6)
    inside = oracle.spread(bins.low[0], bins.high[0], 10)
    both = (inside < bins.middle[0]).all(1) | (inside > bins.middle[0]).all(1)
    assert both.mean() == pytest.approx(2.0 ** (1 - width))


@settings(deadline=None, max_examples=60)
@given(boxes(3, 2), SMALL, WIDE)
def test_lines_pass_once_at_most_and_more_below_more(
    bins: CoefficientBins, number: float, more: float
) -> None:
    shares = [
        (bins.frequency * passed(bins, ValueBand(0, high=each)).pieces).sum() / bins.total
        for each in (number, number + more, 1e6, -1e6)
    ]
    assert 0 <= shares[0] <= shares[1] + 1e-9 <= 1 + 2e-9
    assert shares[2:] == [1.0, 0.0]


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31), st.booleans(), st.sampled_from([2, 3]))
def test_finer_bins_come_to_the_truth(seed: int, is_band: bool, width: int) -> None:
    chance = np.random.default_rng(seed)
    lines = chance.normal(0, [2.0, 1.0, 0.5][:width], (60, width))
    low, high = (-0.5, 1.0) if is_band else (-np.inf, 0.5)
    true = oracle.pieces_between(lines, 0.0, 2.0, low, high) / len(lines)
    exact = CoefficientBins.of(lines, lines, np.ones(60), 2.0)
    found = (passed(exact, ValueBand(0, low, high)).pieces).sum() / 60
    assert found == pytest.approx(true, abs=0.021), "each model is a bin of its own"


def test_grids_converge() -> None:
    chance = np.random.default_rng(3)
    lines = chance.normal([150, 0], [50, 1], (20_000, 2))
    number = 130.0
    least = np.minimum(lines[:, 0], lines[:, 0] + 10 * lines[:, 1])
    true = float((least < number).mean())
    errors = []
    for bits in (1, 3, 5):
        from_grid = _grid(lines, bits)
        found = passed(from_grid, ValueBand(0, high=number)).pieces * from_grid.frequency
        errors.append(abs(found.sum() / from_grid.total - true))
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 0.003


def _grid(lines: np.ndarray, bits: int) -> CoefficientBins:
    parts = 1 << bits
    low, high = lines.min(0), lines.max(0)
    step = (high - low) / parts * (1 + 1e-12)
    cells, count = np.unique(((lines - low) // step).astype(int), axis=0, return_counts=True)
    return CoefficientBins.of(low + cells * step, low + (cells + 1) * step, count, 10.0)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_conjunctions_keep_equal_totals_and_their_bounds(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 3))
    bins = {k: data.draw(boxes(data.draw(st.integers(1, 4)), 2)) for k in range(count)}
    total = 10.0
    for k, each in bins.items():
        bins[k] = CoefficientBins.of(
            each.low, each.high, each.frequency * total / each.total, each.ends, begins=each.begins
        )
    terms = [ValueBand(k, high=data.draw(SMALL)) for k in range(count)]
    for fidelity in ("repaired", "literal"):
        for method in ("greedy", "frechet"):
            found = conjunction(bins, terms, fidelity=fidelity, bounds=method)
            own = found.selectivity
            assert own.low <= own.estimate <= own.high
            totals = [each.total for each in found.attributes.values()]
            assert totals == pytest.approx([own.estimate * total] * count, rel=1e-6, abs=1e-9)
            for each in found.attributes.values():
                assert (each.begins <= each.ends + 1e-9).all()


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_bounds_contain_what_independence_gives(data: st.DataObject) -> None:
    terms = []
    for _ in range(data.draw(st.integers(2, 4))):
        held = np.array(data.draw(st.lists(st.integers(0, 40), min_size=1, max_size=6)), float)
        held[0] += 200 - held.sum() if held.sum() < 200 else 0
        held = np.round(held * 200 / held.sum())
        held[0] += 200 - held.sum()
        assume((held >= 0).all())
        ratio = np.array([data.draw(st.integers(0, 4)) / 4 for _ in held])
        terms.append((held, np.floor(held * ratio)))
    shares = [float(passing.sum() / held.sum()) for held, passing in terms]
    low, high = greedy(terms)
    assert low <= np.prod(shares) + 1e-12
    assert high >= np.prod(shares) - 1e-12
    assert high == pytest.approx(oracle.widest(terms))
    certain = frechet(shares, shares)
    assert certain[0] <= np.prod(shares) + 1e-9 and np.prod(shares) <= certain[1] + 1e-9
    assert high <= certain[1] + 1e-9


@settings(deadline=None, max_examples=40)
@given(boxes(2, 2), boxes(3, 2), st.integers(0, 2**31), st.booleans())
def test_pairs_of_lines_pass_as_drawn_ones_do(
    left: CoefficientBins, right: CoefficientBins, seed: int, is_below: bool
) -> None:
    chance = np.random.default_rng(seed)
    begin, end = max(left.begins[0], right.begins[0]), min(left.ends[0], right.ends[0])
    assume(end > begin + 0.05)
    found = crossing(left, right, AttributeOrder(0, 0, is_below), 1.0)
    count, expected = 4000, 0.0
    for i in range(len(left)):
        for j in range(len(right)):
            one = chance.uniform(left.low[i], left.high[i], (count, 2))
            other = chance.uniform(right.low[j], right.high[j], (count, 2))
            apart = (one - other) if is_below else (other - one)
            low = np.minimum(apart @ [1, begin], apart @ [1, end])
            assume(not (abs(low) < 1e-9).any())
            expected += left.frequency[i] * right.frequency[j] * (low < 0).mean()
    scale = left.total * right.total * (end - begin)
    assert found.pairs / scale == pytest.approx(expected * (end - begin) / scale, abs=0.03)
    assert found.left.total == pytest.approx(found.pairs) == found.right.total
    mine, theirs = cut_alike(left, right)
    assert mine.total == pytest.approx(left.total)
    assert theirs.total == pytest.approx(right.total)


def test_weights_of_the_greatest_are_those_of_the_twin() -> None:
    chance = np.random.default_rng(7)
    bins = counted(chance.normal([0, 0], [2, 1], (300, 2)), np.zeros(300), np.full(300, 2.0))
    few = bins.take(np.argsort(-bins.frequency)[:12])
    found = instantaneous(few, True, 4)
    twin = oracle.greatest_weights(
        few.middle, 1.0, list(zip(few.low, few.high, strict=True)), few.frequency, 4
    )
    assert found.frequency / few.frequency == pytest.approx(twin, abs=0.02)
    least = instantaneous(few, False, 4)
    assert least.total / few.total == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("keys", [2, 5, 20])
def test_weights_of_keys_alike_sum_to_1(keys: int) -> None:
    chance = np.random.default_rng(keys)
    lines = chance.normal([100, 0], [10, 1], (4000, 2))
    bins = counted(lines, np.zeros(4000), np.full(4000, 10.0))
    assert instantaneous(bins, True, keys).total / bins.total * keys == pytest.approx(1, abs=0.05)
    told = np.repeat(np.arange(keys), 4000 // keys)[:4000]
    own = [counted(lines[told == k], np.zeros((told == k).sum()), np.full((told == k).sum(), 10.0))
           for k in range(keys)]  # fmt: skip
    apart = CoefficientBins.joined([
        CoefficientBins.of(each.low, each.high, each.frequency, each.ends, key=k)
        for k, each in enumerate(own)
    ])  # fmt: skip
    assert instantaneous(apart, True).total / apart.total * keys == pytest.approx(1, abs=0.1)


def test_what_windows_keep_shrinks_as_they_grow() -> None:
    chance = np.random.default_rng(9)
    bins = counted(chance.normal(100, 10, (4000, 1)), np.zeros(4000), np.full(4000, 10.0))
    shares = [over_window(bins, True, size).selectivity for size in (20, 40, 120)]
    # A window that slides over n constants holds parts of n + 1: two of n + 2 are extremes.
    assert shares == pytest.approx([2 / 4, 2 / 6, 2 / 14], rel=0.02)
    assert all(later < before for before, later in pairwise(shares))
