"""Timed rows: the data index of one side of window joins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.window_runs import items_expand, runs_summarise
from penstock.operators.join.runs import Runs, own
from penstock.operators.shared.slots import grown
from penstock.vocabulary.batches import Flags, Ints, Rows

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1


class TimedRows:
    """Rows by join key and value, each with an event time and a number that says when it arrived.

    Summaries of times are made good for a key when it is next asked for (`summarise`).

    >>> rows = TimedRows()
    >>> rows.change([3, 3], [10, 20], [1_000, 2_000], [0, 1], [True, True])
    >>> offsets, slots = rows.expand([3], [0], [99], [2_500], [1_000])
    >>> offsets.tolist(), slots.tolist(), rows.expire(1_000).tolist(), len(rows)
    ([0, 1], [1], [0], 1)
    """

    def __init__(self) -> None:
        self.runs = Runs()
        self.arrivals = 0
        """The number of the next row: a query that is registered now sees rows from here on."""
        self.code_of: Rows = np.zeros(0, dtype=np.int32)
        self.value_of: Ints = np.zeros(0, dtype=np.int64)
        self.time_of: Ints = np.zeros(0, dtype=np.int64)
        self.arrived: Ints = np.zeros(0, dtype=np.int64)
        self.live: Flags = np.zeros(0, dtype=np.bool_)
        self.times: Ints = np.zeros(0, dtype=np.int64)
        self.newest: Ints = np.zeros(0, dtype=np.int64)
        self.oldest: Ints = np.zeros(0, dtype=np.int64)
        self.version: Ints = np.zeros(0, dtype=np.int64)
        """By code: how often the run has changed."""
        self._summarised: Ints = np.zeros(0, dtype=np.int64)
        self._pool: Ints | None = None
        self._earliest = HIGHEST
        """No row has an earlier time."""
        self._first: int | None = None
        """The number of the row that arrived first, if that is known."""

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.runs)

    def change(
        self, codes: npt.ArrayLike, values: npt.ArrayLike, times: npt.ArrayLike,
        slots: npt.ArrayLike, added: npt.ArrayLike, arrived: npt.ArrayLike | None = None,
    ) -> None:  # fmt: skip
        """Add and remove rows; a removal names what was added.

        `arrived` numbers the added rows (all items have a place there); else they are counted.
        """
        codes_, slots_, added_ = own(codes, np.int32), own(slots, np.int32), own(added, np.bool_)
        if len(codes_) == 0:
            return
        values_, times_ = own(values, np.int64), own(times, np.int64)
        top = int(slots_.max()) + 1
        for name in ("code_of", "value_of", "time_of", "arrived", "live"):
            setattr(self, name, grown(getattr(self, name), top))
        self.version = grown(self.version, int(codes_.max()) + 1)
        gone, new = slots_[~added_], slots_[added_]
        self.live[gone] = False
        if self._first is not None and self._first in self.arrived[gone]:
            self._first = None
        numbers = self.arrivals + np.arange(len(new))
        if arrived is not None:
            numbers = own(arrived, np.int64)[added_]
        self.code_of[new], self.value_of[new] = codes_[added_], values_[added_]
        self.time_of[new], self.arrived[new], self.live[new] = times_[added_], numbers, True
        self.arrivals = max(self.arrivals, int(numbers.max(initial=-1)) + 1)
        self._earliest = min(self._earliest, int(times_[added_].min(initial=HIGHEST)))
        if self._first is not None:
            self._first = min(self._first, int(numbers.min(initial=HIGHEST)))
        self.runs.change(codes_, values_, slots_, added_)
        self.version[codes_] += 1

    def expire(self, threshold: int) -> Rows:
        """Remove the rows with times up to a threshold; give their slots."""
        if threshold < self._earliest:
            return np.empty(0, dtype=np.int32)
        slots = np.flatnonzero(self.live & (self.time_of <= threshold)).astype(np.int32)
        codes, values = self.code_of[slots], self.value_of[slots]
        gone = np.zeros(len(slots), dtype=np.bool_)
        self.change(codes, values, self.time_of[slots], slots, gone)
        self._earliest = int(self.time_of[self.live].min(initial=HIGHEST))
        return slots

    def oldest_arrival(self) -> int:
        """Give the number of the row that arrived first, or of the next one."""
        if len(self) == 0:
            return self.arrivals
        if self._first is None:
            self._first = int(self.arrived[self.live].min())
        return self._first

    def expand(
        self, codes: npt.ArrayLike, lows: npt.ArrayLike, highs: npt.ArrayLike,
        times: npt.ArrayLike, windows: npt.ArrayLike, since: npt.ArrayLike | None = None,
    ) -> tuple[Ints, Rows]:  # fmt: skip
        """Give the row slots of each item, and where each item begins.

        An item's rows have its code, a value in [low, high], a time less than its window away, and
        arrived `since` (a number by item), if that is given.
        """
        codes_ = own(codes, np.int32)
        self.summarise(codes_)
        sinces = np.full(len(codes_), LOWEST) if since is None else own(since, np.int64)
        items = (
            codes_, own(lows, np.int64), own(highs, np.int64), own(times, np.int64),
            own(windows, np.int64), sinces, *self.arrays(),
        )  # fmt: skip
        offsets = np.empty(len(codes_) + 1, dtype=np.int64)
        out = np.empty(4 * len(codes_) + 64, dtype=np.int32)
        total = items_expand(*items, offsets, out)
        if total > len(out):
            out = np.empty(total, dtype=np.int32)
            items_expand(*items, offsets, out)
        return offsets, out[:total]

    def arrays(self) -> tuple[Ints, Rows, Ints, Rows, Ints, Ints, Ints, Ints]:
        """Give what kernels take: runs, values, slots, times, summaries, arrival numbers."""
        runs = self.runs
        return (
            runs.start, runs.length, runs.value, runs.slot, self.times, self.newest, self.oldest,
            self.arrived,
        )  # fmt: skip

    def summarise(self, codes: Rows) -> None:
        """Make the summaries of some codes good."""
        runs = self.runs
        if runs.value is not self._pool:
            self._pool = runs.value
            self.times, self.newest, self.oldest = (np.empty_like(runs.value) for _ in range(3))
            self._summarised = np.zeros(0, dtype=np.int64)
        self._summarised = grown(self._summarised, len(runs.start))
        known = codes[(codes >= 0) & (codes < len(runs.start))]
        stale = np.unique(known[self._summarised[known] < self.version[known]])
        runs_summarise(
            stale, runs.start, runs.length, runs.slot, self.time_of,
            self.times, self.newest, self.oldest,
        )  # fmt: skip
        self._summarised[stale] = self.version[stale]
