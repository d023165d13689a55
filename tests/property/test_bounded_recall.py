"""The recall estimate against a twin that keeps everything."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.operators.bounded.recall import NO_WINDOW, RecallMeter

KINDS = ("none", "rows", "range")
WINDOWS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(1, 12)), min_size=2, max_size=4
).map(tuple)
"""Of two streams that join, or of several, each of which joins the next."""


@dataclass(frozen=True)
class Rows:
    """Arrivals, and what a join may have found of each."""

    sizes: tuple[int, ...]
    joins: np.ndarray
    streams: np.ndarray
    keys: np.ndarray
    stamps: np.ndarray
    nows: np.ndarray
    found: np.ndarray
    owned: np.ndarray
    all: np.ndarray

    def part(self, low: int, high: int) -> tuple[np.ndarray, ...]:
        """Give what a feed takes of some of the arrivals."""
        whole = (self.streams, self.keys, self.stamps, self.nows, self.found, self.owned)
        return (*(each[low:high] for each in whole), self.joins)


def fed(meter: RecallMeter, rows: Rows, low: int, high: int) -> tuple[int, int]:
    """Feed arrivals, all their results with one of the streams that they join with; add up."""
    streams, keys, stamps, nows, found, owned, joins = rows.part(low, high)
    with_ = np.zeros((len(found), len(joins)), dtype=np.int64)
    with_[np.arange(len(found)), joins[streams].argmax(axis=1)] = found
    made, there = meter.feed_joins(streams, keys, stamps, nows, with_, owned, joins)
    return int(made.sum()), int(there.sum())


def drawn(windows: tuple, count: int, domain: int, seed: int, disowned: float = 0.2) -> Rows:
    """Draw arrivals of streams; windows are none, by rows or by time."""
    rng = np.random.default_rng(seed)
    number = np.arange(len(windows))
    joins = np.abs(number[:, None] - number[None, :]) == 1
    streams = rng.integers(len(windows), size=count)
    keys = rng.integers(domain, size=count) * 1_000_003 - 7
    times = np.cumsum(rng.integers(0, 3, size=count))
    counters = np.stack([np.cumsum(streams == stream) for stream in number], axis=1)
    sizes = tuple(NO_WINDOW if kind == "none" else size for kind, size in windows)
    measures = [counters[:, p] if windows[p][0] == "rows" else times for p in number]
    nows = np.stack(measures, axis=1)
    stamps = nows[np.arange(count), streams]
    owned = rng.random(count) >= disowned
    there = np.zeros(count, dtype=np.int64)
    for i in range(count):
        if owned[i]:
            there[i] = sum(
                owned[j]
                and joins[streams[i], streams[j]]
                and keys[j] == keys[i]
                and int(nows[i, streams[j]]) - int(stamps[j]) < sizes[streams[j]]
                for j in range(i)
            )
    return Rows(
        sizes=sizes,
        joins=joins,
        streams=streams,
        keys=keys,
        stamps=stamps,
        nows=nows,
        found=rng.integers(0, there + 1),
        owned=owned,
        all=there,
    )


@given(WINDOWS, st.integers(0, 120), st.integers(1, 12), st.integers(0, 2**32))
@example((("rows", 1), ("none", 1)), 40, 1, 5)
def test_a_whole_slice_is_exact(windows: tuple, count: int, domain: int, seed: int) -> None:
    rows = drawn(windows, count, domain, seed)
    meter = RecallMeter(rows.sizes, 10_000)
    assert fed(meter, rows, 0, count) == (rows.found.sum(), rows.all.sum())
    assert meter.weight == 1


@given(
    WINDOWS, st.integers(1, 120), st.integers(1, 60), st.integers(1, 40), st.integers(0, 2**32)
)  # fmt: skip
def test_a_slice_keeps_its_limit_and_is_exact_where_no_key_is_thinned(
    windows: tuple, count: int, domain: int, limit: int, seed: int
) -> None:
    rows = drawn(windows, count, domain, seed)
    meter = RecallMeter(rows.sizes, limit, seed=seed)
    gone: set[int] = set()
    most = max(limit // 4, 1)
    thinned = any(
        rows.sizes[p] != NO_WINDOW
        and max(Counter(rows.keys[rows.streams == p].tolist()).values(), default=0) > most
        for p in range(len(rows.sizes))
    )
    for i in range(count):
        before = meter.weight
        made, there = fed(meter, rows, i, i + 1)
        assert meter.remembered <= limit
        assert meter.weight >= before
        if not rows.owned[i]:
            assert (made, there) == (0, 0)
        elif rows.keys[i] in gone:
            assert (made, there) == (0, 0), "slices are nested"
        elif thinned:
            assert made in (0, before * rows.found[i])
            assert there % before == 0
        elif (made, there) != (before * rows.found[i], before * rows.all[i]):
            assert (made, there) == (0, 0)
            assert before > 1
            gone.add(rows.keys[i])


@given(
    WINDOWS, st.integers(1, 100), st.integers(1, 20), st.integers(1, 30), st.integers(0, 2**32),
    st.lists(st.integers(0, 100), max_size=5), st.integers(0, 5),
)  # fmt: skip
def test_splits_and_restores_are_invisible(
    windows: tuple, count: int, domain: int, limit: int, seed: int, cuts: list[int], broken: int
) -> None:
    rows = drawn(windows, count, domain, seed)
    whole = RecallMeter(rows.sizes, limit)
    at_once = fed(whole, rows, 0, count)
    meter = RecallMeter(rows.sizes, limit)
    total = np.zeros(2, dtype=np.int64)
    ends = [0, *sorted(min(cut, count) for cut in cuts), count]
    for number, (low, high) in enumerate(pairwise(ends)):
        total += fed(meter, rows, low, high)
        if number == broken:
            again = RecallMeter(rows.sizes, limit)
            again.restore(meter.arrays())
            meter = again
    assert total.tolist() == list(at_once)
    assert (meter.weight, meter.remembered) == (whole.weight, whole.remembered)
    for one, two in zip(meter.arrays().values(), whole.arrays().values(), strict=True):
        assert one.dtype == two.dtype
        assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize(
    ("windows", "domain"),
    [(("none", 0), 60), (("rows", 60), 60), (("range", 40), 60), (("rows", 90), 3)],
)
def test_what_is_lost_is_estimated_without_bias(windows: tuple[str, int], domain: int) -> None:
    """The mean over 2,000 slices lies within four standard errors, and these are below 4 %.

    With three keys each has more rows in its window than may be remembered.
    """
    rows = drawn((windows, windows), 600, domain, 3, disowned=0.0)
    lost = int(rows.all.sum() - rows.found.sum())
    estimates, weights = [], []
    for seed in range(2000):
        meter = RecallMeter(rows.sizes, 12, seed=seed)
        made, there = fed(meter, rows, 0, 600)
        estimates.append(there - made)
        weights.append(meter.weight)
    assert max(weights) > 1 or domain == 3
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert error < 0.04 * lost
    assert abs(np.mean(estimates) - lost) < 4 * error
