"""Skylines of all keys around the stabbing points, made good when a key is next probed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.kernels.skylines import picks_pack, skylines_pick
from penstock.operators.join.window.rows import TimedRows
from penstock.operators.shared.slots import grown
from penstock.vocabulary.batches import Flags, Ints, Rows

LATE = 8
"""One of so many tuples of a key may be older than its horizon, and probe the whole run."""
SLACK = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """What the tuples of a batch probe: places [firsts, lasts) of `picks`, from `bases` on."""

    bases: Ints
    firsts: Ints
    lasts: Ints
    picks: Rows


def all_picked(codes: Rows, rows: TimedRows) -> Picked:
    """Let every tuple probe its whole run; codes without a run have nothing to probe."""
    runs = rows.runs
    known = (codes >= 0) & (codes < len(runs.start))
    safe = np.where(known, codes, 0)
    none = np.zeros(len(codes), dtype=np.int64)
    if len(runs.start) == 0:
        return Picked(bases=none, firsts=none, lasts=none, picks=np.zeros(0, dtype=np.int32))
    lengths = np.where(known, runs.length[safe], 0).astype(np.int64)
    picks = np.arange(int(lengths.max(initial=0)), dtype=np.int32)
    return Picked(bases=runs.start[safe], firsts=none, lasts=lengths, picks=picks)


class Skylines:
    """Picks by code, good for the points and the rows that they were made of.

    A code's picks are made again when its run or the points have changed, when a wider window
    reaches rows that were cut, or when too many tuples lie before its horizon or too many rows
    after it. Nothing is done for a code that no tuple asks for.
    """

    def __init__(self) -> None:
        self.passes = self.rows_read = 0
        """How many runs were read to make picks, and how many rows they had."""
        self._points: Ints = np.zeros(0, dtype=np.int64)
        self._generation = 1
        self._picks: Rows = np.zeros(64, dtype=np.int32)
        self._used = 0
        self._first: Ints = np.zeros(0, dtype=np.int64)
        self._middle: Ints = np.zeros(0, dtype=np.int64)
        self._last: Ints = np.zeros(0, dtype=np.int64)
        self._horizon: Ints = np.zeros(0, dtype=np.int64)
        self._floor: Ints = np.zeros(0, dtype=np.int64)
        self._version: Ints = np.zeros(0, dtype=np.int64)
        self._made: Ints = np.zeros(0, dtype=np.int64)

    @property
    def size(self) -> int:
        """How many skyline rows all codes have."""
        return int((self._middle - self._first).sum())

    def skyline(self, code: int) -> Rows:
        """Give the places of a code's skyline rows in its run, ascending, as last made."""
        return self._picks[self._first[code] : self._middle[code]]

    def bounds(self, code: int) -> tuple[int, int]:
        """Give a code's horizon, and the time that its skyline begins with, as last made."""
        return int(self._horizon[code]), int(self._floor[code])

    def move(self, points: Ints) -> None:
        """Take the stabbing points, ascending; if they changed, all picks are stale."""
        points = np.unique(points)
        if not np.array_equal(points, self._points):
            self._points = points
            self._generation += 1

    def picked(self, codes: Rows, moments: Ints, reach: int, rows: TimedRows) -> Picked:
        """Say what tuples probe: their key's picks, or the whole run before its horizon."""
        whole = all_picked(codes, rows)
        asked = np.flatnonzero(whole.lasts > 0)
        self._grow(len(rows.runs.start))
        if len(asked):
            order = asked[np.lexsort((moments[asked], codes[asked]))]
            self._refresh(codes[order], moments[order], reach, rows)
        safe = np.where(whole.lasts > 0, codes, 0)
        if len(self._horizon) == 0:
            return whole
        timely: Flags = (whole.lasts > 0) & (moments >= self._horizon[safe])
        longest = len(whole.picks)
        return Picked(
            bases=whole.bases,
            # The picks of whole runs stand in front of the others.
            firsts=np.where(timely, longest + self._first[safe], 0),
            lasts=np.where(timely, longest + self._last[safe], whole.lasts),
            picks=np.concatenate([whole.picks, self._picks[: self._used]]),
        )

    def _refresh(self, codes: Rows, moments: Ints, reach: int, rows: TimedRows) -> None:
        """Make the picks of stale codes anew; tuples come sorted by code and time."""
        first = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
        sizes = np.diff(np.append(first, len(codes)))
        distinct = codes[first]
        horizons = moments[first + sizes // LATE]
        low = moments[first]
        late = np.add.reduceat((moments < self._horizon[codes]).astype(np.int64), first)
        after = self._last[distinct] - self._middle[distinct]
        before = self._middle[distinct] - self._first[distinct]
        needed = _floors(np.maximum(low, self._horizon[distinct]), reach)
        stale = (
            (self._version[distinct] != rows.version[distinct])
            | (self._made[distinct] != self._generation)
            | (self._floor[distinct] > needed)
            | (late > sizes // LATE)
            | ((after > before + SLACK) & (horizons > self._horizon[distinct]))
        )
        if not stale.any():
            return
        mine, horizons = distinct[stale], horizons[stale]
        lengths = rows.runs.length[mine].astype(np.int64)
        self._reserve(int(lengths.sum()) + 1, mine)  # One place is written in vain.
        floors = _floors(horizons, reach)
        self._used = skylines_pick(
            mine, horizons, floors, rows.runs.start, rows.runs.length, rows.runs.value, rows.times,
            self._points, np.empty(int(lengths.max()), dtype=np.uint8), self._used,
            self._picks, self._first, self._middle, self._last,
        )  # fmt: skip
        self._horizon[mine], self._floor[mine] = horizons, floors
        self._version[mine], self._made[mine] = rows.version[mine], self._generation
        self.passes += len(mine)
        self.rows_read += int(lengths.sum())

    def _reserve(self, more: int, again: Rows) -> None:
        """Make room for picks; those of the codes that are made again are given up."""
        self._last[again] = self._middle[again] = self._first[again]
        if self._used + more <= len(self._picks):
            return
        live = int((self._last - self._first).sum())
        packed = np.empty(2 * (live + more), dtype=np.int32)
        self._used = picks_pack(self._first, self._middle, self._last, self._picks, packed)
        self._picks = packed

    def _grow(self, codes: int) -> None:
        for name in ("_first", "_middle", "_last", "_horizon", "_floor", "_version", "_made"):
            setattr(self, name, grown(getattr(self, name), codes))


def _floors(moments: Ints, reach: int) -> Ints:
    """Give the first times that windows of a width around times reach."""
    back = np.int64(max(reach, 1) - 1)
    lowest = np.iinfo(np.int64).min
    floors: Ints = np.where(moments >= lowest + back, moments - back, lowest)
    return floors
