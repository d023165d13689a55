"""Stores of segments: what a restored one forgets, and when."""

from __future__ import annotations

import numpy as np

from penstock.models.segments import WIDTH, Segments
from penstock.models.stores import SegmentStore

SECOND = 1_000_000


def told(first: int, count: int, sign: int) -> Segments:
    numbers = np.arange(first, first + count)
    return Segments(
        np.zeros((count, 1), np.int64), numbers * SECOND, np.zeros(count), np.ones(count),
        np.zeros((count, 1, WIDTH)), np.full(count, sign, np.int8), numbers,
    )  # fmt: skip


def test_a_restored_store_forgets_with_the_one_that_it_was_made_of() -> None:
    """It has no slots of what was cut out, and these must not decide."""
    live = SegmentStore(1, 1, [0])
    live.apply(told(0, 200, 1))
    live.apply(told(100, 100, -1))
    restored = SegmentStore(1, 1, [0])
    restored.restore(live.arrays())
    for before_s, left in ((40, 100), (90, 11), (102, 0)):
        for store in (live, restored):
            store.evict(before_s * SECOND)
        mine, theirs = live.arrays(), restored.arrays()
        assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
        assert len(live) == left
