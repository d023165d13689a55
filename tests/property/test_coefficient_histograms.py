"""Histograms over coefficients count what their slow twin counts, however segments are split."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.models.coefficient_histograms import CoefficientHistogram
from penstock.models.segments import WIDTH, Segments
from penstock.models.source_histograms import SEGMENTS_MIN, SourceHistograms
from tests.oracle.selectivity import counted

NUMBERS = st.one_of(
    st.floats(-1e12, 1e12, allow_nan=False), st.integers(-20, 20).map(float), st.just(0.0)
)


def segments(
    models: np.ndarray, lengths_us: np.ndarray, reference: np.ndarray | None = None
) -> Segments:
    count, width = models.shape
    coefficients = np.zeros((count, 1, WIDTH))
    coefficients[:, 0, :width] = models
    zeros = np.zeros(count, np.int64)
    return Segments(
        zeros[:, None], zeros if reference is None else reference, np.zeros(count),
        lengths_us * 1e-6, coefficients, np.ones(count, np.int8), zeros,
    )  # fmt: skip


def as_counter(histogram: CoefficientHistogram) -> Counter[tuple[object, ...]]:
    bins = histogram.bins()
    place = histogram.arrays()["places"].astype(np.int64)
    powers = (place >> 34) & 63
    return Counter(
        {
            (tuple(low), tuple(high), int(power), int(key)): int(count)
            for low, high, power, key, count in zip(
                bins.low.tolist(), bins.high.tolist(), powers, bins.key, bins.frequency, strict=True
            )
        }
    )


def same(one: CoefficientHistogram, other: CoefficientHistogram) -> bool:
    mine, theirs = one.arrays(), other.arrays()
    return all(np.array_equal(mine[name], theirs[name]) for name in mine)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_histograms_count_what_their_twin_counts(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 3))
    bits = data.draw(st.integers(1, 4))
    rows = data.draw(
        st.lists(st.tuples(*[NUMBERS] * width, st.integers(1, 10**7), st.integers(0, 70)),
                 min_size=1, max_size=40)
    )  # fmt: skip
    models = np.array([row[:width] for row in rows])
    lengths = np.array([row[width] for row in rows])
    keys = np.array([row[width + 1] for row in rows], np.int64)
    whole = CoefficientHistogram(width, bits)
    whole.count(segments(models, lengths), 0, keys)
    twin = counted([row[:width] for row in rows], lengths.tolist(), keys.tolist(), bits)
    assert as_counter(whole) == twin
    assert whole.counted == len(rows) == sum(twin.values())

    cut = data.draw(st.integers(0, len(rows)))
    split, parts = CoefficientHistogram(width, bits), []
    for part in (slice(0, cut), slice(cut, None)):
        split.count(segments(models[part], lengths[part]), 0, keys[part])
        parts.append(CoefficientHistogram(width, bits))
        parts[-1].count(segments(models[part], lengths[part]), 0, keys[part])
    assert same(whole, split), "batches do not matter"
    parts[0].merge(parts[1])
    assert same(whole, parts[0]), "shards add up"
    restored = CoefficientHistogram(width, bits)
    restored.restore(parts[0].arrays())
    again = segments(models[:3], lengths[:3])
    for each in (restored, whole):
        each.count(again, 0, keys[:3])
    assert same(whole, restored), "a restored one goes on"


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_summary_is_what_both_have_in_wider_cells(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 3))
    bits = data.draw(st.integers(1, 4))
    rows = st.lists(st.tuples(*[NUMBERS] * width, st.integers(1, 10**7), st.integers(0, 70)),
                    max_size=40)  # fmt: skip
    pair = []
    for drawn in (data.draw(rows), data.draw(rows)):
        table = np.array(drawn).reshape(-1, width + 2)
        pair.append(CoefficientHistogram(width, bits))
        lengths, keys = (table[:, width + n].astype(np.int64) for n in range(2))
        pair[-1].count(segments(table[:, :width], lengths), 0, keys)
    most = data.draw(st.integers(1, 40))
    every = CoefficientHistogram(width, bits)
    for each in pair:
        every.merge(each)
    # Keys, lengths and signs stay apart: with less room, there is no such histogram.
    most = max(
        most, len(np.unique(every.arrays()["places"].astype(np.int64) >> 34)) << width, 1 << width
    )
    while len(every) > most:
        every._rebuild(np.ones(width, np.int64), 1024)
    meant, found = every.bins(), CoefficientHistogram.summary(pair[0], pair[1], most)
    for name in ("low", "high", "frequency", "begins", "ends", "key"):
        np.testing.assert_array_equal(getattr(found, name), getattr(meant, name), err_msg=name)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**31), st.lists(st.integers(0, 3 * SEGMENTS_MIN), max_size=4))
def test_periods_do_not_depend_on_batches(seed: int, cuts: list[int]) -> None:
    chance = np.random.default_rng(seed)
    count = 3 * SEGMENTS_MIN
    models = chance.normal(100, 10, (count, 2))
    reference = np.sort(chance.integers(0, 10 * 60_000_000, count))
    late = chance.integers(0, count, 50)
    reference[late] -= 90_000_000
    made = segments(models, np.full(count, 10**7), reference)
    whole, split = SourceHistograms((1,)), SourceHistograms((1,))
    whole.count(made)
    ends = [0, *sorted(cuts), count]
    for begin, end in pairwise(ends):
        split.count(made.take(np.arange(begin, end)))
        kept = split.arrays()
        split = SourceHistograms((1,))
        split.restore(kept)
    mine, theirs = whole.arrays(), split.arrays()
    assert mine.keys() == theirs.keys()
    assert all(mine[name].tobytes() == theirs[name].tobytes() for name in mine)
    assert SEGMENTS_MIN <= whole.counted <= count
    assert 0 < whole.seconds <= 10 * 60


def test_coefficients_beyond_all_cells_have_no_place() -> None:
    """A row whose value is a mistake must not end the batch that counts its model."""
    models = np.array([[1.0, 2.0], [1.7e308, 0.0], [-1.7e308, 1.0], [3.0, -1e303], [2.0, 1e250]])
    histogram = CoefficientHistogram(2)
    lengths = np.full(len(models), 10**6)
    histogram.count(segments(models, lengths), 0)
    assert histogram.counted == 2
    assert histogram.unplaced == 3
    other = CoefficientHistogram(2)
    other.count(segments(models[::-1].copy(), lengths), 0)
    other.merge(histogram)
    assert np.isfinite(other.bins().high).all()
    shapes = SourceHistograms((1,))
    shapes.count(segments(models, lengths))
    assert shapes.bins(0) is not None
