"""The index finds exactly the ranges that contain a key, and looks at few others."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kernels.radix_sorts import entries_order
from penstock.lab.filters.stabbing_index import StabbingIndex
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.operators.shared.stabbing_probes import NO_CODES, Events, Work, arrange, stab

Pairs = set[tuple[int, int]]


def brute(lows: np.ndarray, highs: np.ndarray, keys: np.ndarray) -> Pairs:
    inside = (lows[None] <= keys[:, None]) & (keys[:, None] <= highs[None])
    return {(int(event), int(query)) for event, query in np.argwhere(inside)}


def found(index: StabbingIndex, keys: np.ndarray, threads: int = 1) -> Pairs:
    events, queries = index.pairs(keys, threads)
    pairs = set(zip(events.tolist(), queries.tolist(), strict=True))
    assert len(pairs) == len(events)
    return pairs


@pytest.mark.parametrize("span", [50, 10**6, 10**15, 2**62])
def test_ranges_of_all_widths(span: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    lows = chance.integers(-span, span, 3000)
    widths = (chance.random(3000) ** 8 * span).astype(np.int64)
    highs = np.where(lows > HIGHEST - widths, HIGHEST, lows + np.maximum(widths, 0))
    lows[::50], highs[25::50] = LOWEST, HIGHEST
    keys = np.concatenate([chance.integers(-span, span, 800), lows[:20], highs[:20]])
    keys = np.append(keys, [LOWEST, HIGHEST])
    index = StabbingIndex(lows, highs, np.arange(3000))
    assert found(index, keys) == brute(lows, highs, keys)


def test_threads_share_a_batch(seed: int) -> None:
    chance = np.random.default_rng(seed)
    lows = chance.integers(0, 10**6, 1000)
    keys = chance.integers(0, 10**6, 20_000)
    index = StabbingIndex(lows, lows + 2000, np.arange(1000))
    assert found(index, keys, threads=2) == found(index, keys, threads=1)


@pytest.mark.parametrize("capacity", [1, 2, 7, 64])
def test_a_full_buffer_loses_nothing(capacity: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    lows = chance.integers(0, 1000, 400)
    highs = lows + chance.integers(0, 300, 400)
    keys = chance.integers(0, 1300, 50)
    level = StabbingIndex(lows, highs, np.arange(400)).levels[0]
    events = Events(codes=NO_CODES, keys=keys[None], valid=np.ones(50, dtype=bool), code_count=1)
    chunks = list(stab(level, arrange(events, 0, 0, 50), capacity, Work()))
    assert all(len(rows) <= capacity for rows, _ in chunks)
    pairs = [p for rows, q in chunks for p in zip(rows.tolist(), q.tolist(), strict=True)]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == brute(lows, highs, keys)


def test_wide_ranges_slow_nobody() -> None:
    """100 ranges over everything add the look at themselves, and not more."""
    lows = np.arange(100_000) * 10
    keys = np.arange(0, 10**6, 1000)
    narrow = StabbingIndex(lows, lows + 5, np.arange(100_000))
    narrow.pairs(keys)
    wide_lows = np.concatenate([lows, np.full(100, -1)])
    wide_highs = np.concatenate([lows + 5, np.full(100, 10**6)])
    wide = StabbingIndex(wide_lows, wide_highs, np.arange(100_100))
    wide.pairs(keys)
    assert wide.work.scanned <= narrow.work.scanned + 110 * len(keys)


def test_a_hot_cluster_that_just_misses_is_skipped() -> None:
    """Many ranges of one kind end right before the key: blocks are passed over unread."""
    size = 200_000
    lows = np.arange(size) % 1000
    highs = np.full(size, 10_000)
    lows = np.append(lows, 5)
    highs = np.append(highs, 19_000)  # As wide as its neighbours' class allows.
    index = StabbingIndex(lows, highs, np.arange(size + 1))
    keys = np.full(50, 10_500)
    events, queries = index.pairs(keys)
    assert set(queries.tolist()) == {size}
    assert len(events) == 50
    assert index.work.scanned <= 50 * 128
    assert index.work.skimmed <= 50 * (size // 1024 + 200)


def test_drops_shrink_the_index(seed: int) -> None:
    chance = np.random.default_rng(seed)
    lows = chance.integers(0, 1000, 5000)
    index = StabbingIndex(lows, lows + 10, np.arange(5000))
    index.drop(np.arange(0, 5000, 2))
    assert len(index) == 2500
    index.drop(np.arange(0, 2000))
    assert len(index) == 1500
    assert sum(len(level) for level in index.levels) < 2500
    keys = np.arange(0, 1000, 7)
    live = np.arange(2001, 5000, 2)
    expected = {(e, int(live[q])) for e, q in brute(lows[live], lows[live] + 10, keys)}
    assert found(index, keys) == expected


def test_entries_are_sorted_by_code_and_low(seed: int) -> None:
    chance = np.random.default_rng(seed)
    for span in (1, 3000, 2**40):
        lows = chance.integers(-span, span, 5000)
        codes = chance.integers(0, 5000, 5000).astype(np.int32)
        order = entries_order(codes, lows)
        assert np.array_equal(order, np.lexsort((lows, codes)))
    extreme = np.array([HIGHEST, LOWEST, 0, -1])
    assert entries_order(np.zeros(4, dtype=np.int32), extreme).tolist() == [1, 3, 2, 0]
