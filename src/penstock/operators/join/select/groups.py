"""Groups: the members of stabbing groups in cells, as they stood when last built.

What is built is a valid stabbing index of its members, whatever has become of the partition since:
it keeps its own copies of points and ranges. `update` builds changed groups anew; the others stay
where they are in the pool.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from penstock.kernels.group_cells import (
    CELL_MIN,
    Cells,
    cells_count,
    cells_cut,
    cells_fill,
    groups_bound,
)
from penstock.kernels.radix_sorts import entries_order
from penstock.operators.join.partition import Grouping
from penstock.operators.join.select.strategy import Rectangles
from penstock.vocabulary.batches import Ints, Rows

SPREAD = 4.0
"""Entries per member: more cells read fewer entries in vain, and cost more memory."""


class GroupMembers(Grouping, Protocol):
    """A grouping that lists its members."""

    def members(self, groups: Rows) -> tuple[Ints, Rows]:
        """Give (offsets, slots) of groups."""
        ...


class MemberPool:
    """Arrays of equal length that grow at their end."""

    def __init__(self, *kinds: tuple[npt.DTypeLike, int]) -> None:
        self.used = 0
        self.arrays = [
            np.empty((0, width) if width > 1 else 0, dtype=dtype) for dtype, width in kinds
        ]

    def append(self, parts: tuple[npt.NDArray[Any], ...]) -> int:
        """Put arrays at the end; give where they begin."""
        begin, self.used = self.used, self.used + len(parts[0])
        for k, part in enumerate(parts):
            have = self.arrays[k]
            if len(have) < self.used:
                size = self.used if begin == 0 else self.used + self.used // 2
                have = np.empty((size, *have.shape[1:]), dtype=have.dtype)
                have[:begin] = self.arrays[k][:begin]
                self.arrays[k] = have
            have[begin : self.used] = part
        return begin


class SelectGroups:
    """Stabbing groups in order of their points, ready to be probed.

    Attributes
    ----------
    ids
        The grouping's number of each group.
    points, hulls
        By group: its point; the least and greatest key of its members (al, ah, cl, ch).
    """

    def __init__(self) -> None:
        self.ids: Rows = np.empty(0, dtype=np.int32)
        self.points: Ints = np.empty(0, dtype=np.int64)
        self.hulls: Ints = np.empty((0, 4), dtype=np.int64)
        self._cell_first: Ints = np.empty(0, dtype=np.int64)
        self._cell_count: Rows = np.empty(0, dtype=np.int32)
        self._entries_of: Ints = np.empty(0, dtype=np.int64)
        self.largest_cell = 0
        self._cells = self._entries = MemberPool()
        self._clear()

    def __len__(self) -> int:
        return len(self.ids)

    def cells(self) -> Cells:
        """Give what the probing kernels read."""
        groups = self.points, self.hulls, self._cell_first, self._cell_count
        return Cells(*groups, *self._cells.arrays, *self._entries.arrays)

    def update(self, grouping: GroupMembers, touched: Rows, rectangles: Rectangles) -> None:
        """Build the touched groups anew, or all when half of the pool has gone to waste."""
        stays = ~np.isin(self.ids, touched)
        if self._entries.used > 2 * int(self._entries_of[stays].sum()):
            self._clear()
            stays, touched = stays[:0], grouping.live()
        self._select(np.flatnonzero(stays))
        fresh = touched[grouping.sizes[touched] > 0]
        if len(fresh):
            self._build(grouping, fresh, rectangles)
        self._select(np.argsort(self.points, kind="stable"))

    def _clear(self) -> None:
        """Forget everything."""
        self._cells = MemberPool((np.int64, 1), (np.int64, 1), (np.int32, 1))
        self._entries = MemberPool((np.int64, 4), (np.int32, 1), (np.int64, 1), (np.int32, 1))
        self.largest_cell = 0
        self._select(np.empty(0, dtype=np.int64))

    def _select(self, chosen: npt.NDArray[Any]) -> None:
        """Keep the chosen groups, in that order."""
        self.ids, self.points, self.hulls = (
            self.ids[chosen],
            self.points[chosen],
            self.hulls[chosen],
        )
        self._cell_first, self._cell_count = self._cell_first[chosen], self._cell_count[chosen]
        self._entries_of = self._entries_of[chosen]

    def _build(self, grouping: GroupMembers, ids: Rows, rectangles: Rectangles) -> None:
        """Append groups."""
        starts, slots = grouping.members(ids)
        a, c = rectangles.a[slots], rectangles.c[slots]
        groups = np.repeat(np.arange(len(ids), dtype=np.int32), np.diff(starts))
        lows, highs = np.ascontiguousarray(a[:, 0]), np.ascontiguousarray(a[:, 1])
        ends = entries_order(np.concatenate([groups, groups]), np.concatenate([lows, highs]))
        counts = np.zeros(len(ids), dtype=np.int64)
        bounds = np.empty(len(ids) + len(slots) // CELL_MIN, dtype=np.int64)
        cells = cells_cut(starts, ends, lows, highs, SPREAD, counts, bounds)
        first = np.concatenate([[0], np.cumsum(counts)])
        from_cell, to_cell = (np.empty(len(slots), dtype=np.int32) for _ in range(2))
        sizes = np.zeros(cells, dtype=np.int64)
        total = cells_count(groups, lows, highs, first, bounds, from_cell, to_cell, sizes)
        cell_start = np.concatenate([[0], np.cumsum(sizes)])
        entries = (
            np.empty((total, 4), dtype=np.int64), np.empty(total, dtype=np.int32),
            np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int32),
        )  # fmt: skip
        by_low = entries_order(groups, np.ascontiguousarray(c[:, 0]))
        by_high = entries_order(groups, ~c[:, 1])
        cells_fill(by_low, by_high, slots, a, c, from_cell, to_cell, cell_start, *entries)
        hulls = np.empty((len(ids), 4), dtype=np.int64)
        groups_bound(starts, a, c, hulls)
        begin = self._entries.append(entries)
        place = self._cells.append(
            (bounds[:cells], cell_start[:-1] + begin, sizes.astype(np.int32))
        )
        self.ids = np.concatenate([self.ids, ids])
        self.points = np.concatenate([self.points, grouping.points[ids]])
        self.hulls = np.concatenate([self.hulls, hulls])
        self._cell_first = np.concatenate([self._cell_first, first[:-1] + place])
        self._cell_count = np.concatenate([self._cell_count, counts.astype(np.int32)])
        self._entries_of = np.concatenate([self._entries_of, np.diff(cell_start[first])])
        self.largest_cell = max(self.largest_cell, int(sizes.max()))
