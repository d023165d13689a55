"""Recall: which share of all results a bounded join gives, estimated while it runs.

The join is also run without a budget, but only for a slice of its keys, chosen by their hash: for
these it is known exactly what there was and what was found. Both are weighted by how few keys the
slice has, so that their difference is an unbiased estimate of the results lost. The slice is all
keys as long as its memory allows, and is halved whenever it does not. A key with very many rows in
a window is known by some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.kernels.bounded_windows import NO_WINDOW
from penstock.kernels.recall_counts import (
    CHANCE,
    COUNT,
    HEAD,
    KEY,
    LEVEL,
    REMEMBERED,
    Slice,
    length_at,
    recall_feed,
    shift_at,
    slice_copy,
    slice_fill,
    slice_make,
)
from penstock.operators.bounded.caches import EVERY_OTHER
from penstock.vocabulary.batches import Flags, Ints

__all__ = ["LIMIT", "NO_WINDOW", "RecallMeter", "with_other"]

LIMIT = 1 << 16
"""Entries that the estimate may remember, if nothing else is said."""
STARTING = 1 << 10
SALTS = 0x5851F42D4C957F2D
"""Seeds become salts that have nothing to do with how rows are divided among shards."""


class RecallMeter:
    """What a join would find without a budget, beside what it finds.

    Parameters
    ----------
    sizes
        A row of stream p is active while the stream's measure is less than `sizes[p]` above the
        row's stamp; `NO_WINDOW`: always.
    limit
        Entries that are remembered at most: rows of streams with a window, keys of those without.
    seed
        Which keys a slice takes.
    """

    def __init__(self, sizes: Sequence[int], limit: int = LIMIT, *, seed: int = 0) -> None:
        assert limit >= 1
        assert min(sizes) >= 1
        self.limit = limit
        self._sizes = np.array(sizes, dtype=np.int64)
        self._salt = ((seed + 1) * SALTS + 1 & (1 << 64) - 1) - (1 << 63)
        self._part = self._made(min(limit, STARTING))

    def feed(
        self, streams: Ints, keys: Ints, stamps: Ints, nows: Ints, found: Ints,
        owned: Flags | None = None,
    ) -> tuple[int, int]:  # fmt: skip
        """Feed arrivals of two streams; give what was found and what there was, both weighted.

        `found` are the results of each arrival; the rest is as in `feed_joins`.

        >>> meter = RecallMeter((NO_WINDOW, NO_WINDOW))
        >>> two = np.zeros((2, 2), dtype=np.int64)
        >>> meter.feed(np.array([0, 1]), np.array([7, 7]), two[0], two, np.array([0, 0]))
        (0, 1)
        """
        made, there = self.feed_joins(
            streams, keys, stamps, nows, with_other(streams, found), owned
        )
        return int(made.sum()), int(there.sum())

    def feed_joins(
        self, streams: Ints, keys: Ints, stamps: Ints, nows: Ints, found: Ints,
        owned: Flags | None = None, joins: Flags = EVERY_OTHER,
    ) -> tuple[Ints, Ints]:  # fmt: skip
        """Feed arrivals in their order; give what was found and what there was, both weighted.

        Both by stream: `[s, p]` is what arrivals of stream s have with rows of stream p.

        Parameters
        ----------
        streams, keys
            Where each arrival came from, and its key.
        stamps, nows
            The measure of the arrival's own stream, and `nows[i, p]` of stream p, when it came.
        found
            `found[i, p]`: results of the bounded join for each arrival with rows of stream p, with
            earlier arrivals of its tick too.
        owned
            Which arrivals are this join's; all, if not given.
        joins
            `joins[a, b]`: whether rows of stream a join with rows of stream b.
        """
        keys = np.ascontiguousarray(keys, dtype=np.int64)
        self._reserve(len(keys))
        made, there = np.zeros((2, len(self._sizes), len(self._sizes)), dtype=np.int64)
        recall_feed(
            self._part, self._sizes, joins, self.limit,
            np.ascontiguousarray(streams, dtype=np.int64), keys,
            np.ascontiguousarray(stamps, dtype=np.int64),
            np.ascontiguousarray(nows, dtype=np.int64),
            np.ascontiguousarray(found, dtype=np.int64),
            np.ones(len(keys), dtype=np.bool_) if owned is None else owned, made, there,
        )  # fmt: skip
        assert self.remembered <= self.limit
        return made, there

    @property
    def weight(self) -> int:
        """How many keys one of the slice stands for: a power of two."""
        return 1 << int(self._part.meta[LEVEL])

    @property
    def remembered(self) -> int:
        """The entries that are remembered."""
        return int(self._part.meta[REMEMBERED])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Give all that is remembered; meters that remember the same give the same bytes."""
        part = self._part
        shift = shift_at(part.cells, 0)
        counted = part.cells[:, :shift].copy()
        counted[:, COUNT:] *= self._sizes == NO_WINDOW
        counted = counted[counted[:, COUNT:].any(axis=1)]
        thinned = part.cells[part.cells[:, shift:].any(axis=1)]
        thinned[:, COUNT:shift] = 0
        return {
            "state": part.meta[[LEVEL, CHANCE]],
            "counted": counted[np.argsort(counted[:, KEY])],
            "thinned": thinned[np.argsort(thinned[:, KEY])],
            **{f"rows_{stream}": self._rows(stream) for stream in range(len(self._sizes))},
        }

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Remember what `arrays` gave."""
        names = ("counted", "thinned", *(f"rows_{stream}" for stream in range(len(self._sizes))))
        counted, thinned, *rows = (np.array(arrays[name], dtype=np.int64) for name in names)
        ends = np.cumsum([len(own) for own in rows])
        entries = int(ends[-1]) + len(rows) * len(counted)
        self._part = self._made(max(entries, min(self.limit, STARTING)))
        self._part.meta[[LEVEL, CHANCE]] = arrays["state"]
        slice_fill(self._part, self._sizes, counted, np.concatenate(rows), ends, thinned)
        assert self.remembered <= self.limit

    def _rows(self, stream: int) -> Ints:
        part = self._part
        ring, head, length = (
            part.rings[stream],
            part.meta[HEAD + stream],
            part.meta[length_at(part.rings, stream)],
        )
        places = (head + np.arange(length)) & (len(ring) - 1)
        found: Ints = ring[places]
        return found

    def _made(self, entries: int) -> Slice:
        windowed = bool((self._sizes != NO_WINDOW).any())
        return slice_make(entries, entries if windowed else 0, self._salt, len(self._sizes))

    def _reserve(self, coming: int) -> None:
        """Make room for arrivals, doubling; never for more than may be remembered."""
        entries = min(self.remembered + coming, self.limit)
        if 2 * entries + 2 > len(self._part.cells):
            larger = self._made(min(2 * entries, self.limit))
            slice_copy(self._part, larger)
            self._part = larger


def with_other(streams: Ints, found: Ints) -> Ints:
    """Give results of arrivals of two streams by whom they are with: the other one.

    >>> with_other(np.array([0, 1]), np.array([3, 4])).tolist()
    [[0, 3], [4, 0]]
    """
    both = np.zeros((len(found), 2), dtype=np.int64)
    both[np.arange(len(found)), 1 - np.asarray(streams)] = found
    return both
