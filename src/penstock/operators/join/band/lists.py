"""Lists of stabbing groups: the members of each, by low and by high."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from penstock.kernels.band_groups import Groups, lists_count, lists_merge, lists_step
from penstock.operators.join.band.ranges import Book, Touched
from penstock.operators.join.partition.protocol import Grouping
from penstock.vocabulary.batches import Ints, Rows

Values = npt.NDArray[Any]
Decode = Callable[[Ints], Values]


class Listing(Grouping, Protocol):
    """A grouping that can name the members of a group."""

    def members(self, groups: Rows) -> tuple[Ints, Rows]:
        """Give the members of groups, one after the other: (offsets, slots)."""
        ...


class GroupLists:
    """All groups, in ascending order of their points, with their members."""

    def __init__(self, dtype: npt.DTypeLike, decode: Decode) -> None:
        keys, ints = np.zeros(0, dtype=dtype), np.zeros(1, dtype=np.int64)
        rows: Rows = np.zeros(0, dtype=np.int32)
        self.groups = Groups(
            points=keys, starts=ints, low_starts=ints, lows=keys, low_counts=rows, low_slots=rows,
            high_starts=ints, highs=keys, high_counts=rows, high_slots=rows, high_lows=keys,
        )  # fmt: skip
        self._ids: Rows = rows
        self._decode = decode
        self._dirty = Touched()
        self.touch = self._dirty.add

    def __len__(self) -> int:
        return len(self.groups.points)

    def refresh(self, grouping: Listing, book: Book) -> None:
        """Bring the lists of the groups that changed since the last refresh up to date.

        Slots that came or went (`touch`) are merged into a list. Where other slots have moved as
        well, the list is sorted anew.
        """
        touched = grouping.drain()
        if len(touched) == 0:
            return
        ids, group_of = grouping.live(), grouping.group_of
        room = len(grouping.sizes)
        fresh = np.zeros(room, dtype=np.bool_)
        fresh[touched] = True
        dirty = np.zeros(len(group_of), dtype=np.bool_)
        came = self._dirty.take()
        dirty[came] = True
        came = came[group_of[came] >= 0]
        came = came[fresh[group_of[came]]].astype(np.int32)
        old = _by_id(self._ids, self.groups.starts, room)
        kept = np.bincount(group_of[came], minlength=room).astype(np.int64)
        lists_count(touched, *old, self.groups.low_slots, dirty, group_of, kept)
        moved = touched[(kept != grouping.sizes)[touched]]
        old[1][moved] = 0
        if len(moved):
            anew = np.zeros(room, dtype=np.bool_)
            anew[moved] = True
            members = grouping.members(moved[grouping.sizes[moved] > 0])[1]
            came = np.concatenate([came[~anew[group_of[came]]], members])
        owner = group_of[came]
        by_low = came[np.lexsort((book.low[came], owner))]
        by_high = came[np.lexsort((book.high[came], -owner))[::-1]]
        sizes = np.bincount(owner, minlength=room).astype(np.int64)
        new = np.cumsum(sizes) - sizes, sizes
        starts = np.empty(len(ids) + 1, dtype=np.int64)

        def merged(before: Rows, added: Rows, ends: Values, descends: bool) -> Rows:
            out = np.empty(int(grouping.sizes[ids].sum()), dtype=np.int32)
            lists_merge(
                ids, fresh, *old, *new, before, added, dirty, group_of, ends, descends, starts, out
            )
            return out

        low_slots = merged(self.groups.low_slots, by_low, book.low, False)
        high_slots = merged(self.groups.high_slots, by_high, book.high, True)
        low_starts, lows, low_counts = _steps(starts, book.low[low_slots])
        high_starts, highs, high_counts = _steps(starts, book.high[high_slots])
        self.groups = Groups(
            points=self._decode(grouping.points[ids]), starts=starts,
            low_starts=low_starts, lows=lows, low_counts=low_counts, low_slots=low_slots,
            high_starts=high_starts, highs=highs, high_counts=high_counts, high_slots=high_slots,
            high_lows=book.low[high_slots],
        )  # fmt: skip
        self._ids = ids


def _steps(starts: Ints, ends: Values) -> tuple[Ints, Values, Rows]:
    """Give the distinct ends of each group: where they begin, the ends, members up to each."""
    step_starts, steps = np.empty_like(starts), np.empty_like(ends)
    counts = np.empty(len(ends), dtype=np.int32)
    size = lists_step(starts, ends, step_starts, steps, counts)
    return step_starts, steps[:size], counts[:size]


def _by_id(ids: Rows, starts: Ints, room: int) -> tuple[Ints, Ints]:
    """Give starts and sizes by group id."""
    by_id = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
    by_id[0][ids], by_id[1][ids] = starts[:-1], np.diff(starts)
    return by_id
