"""Intake: rows of a stream on their way into the one order of all streams.

A row is late by the newest event time of the batches before its own, is let through by its input's
drop box or not, and then waits until no row can come before it. Rows of one batch are never late by
each other: Spark hands them over in an order of its own.

But no more than so many rows wait. If a stream is silent, or far behind, and too many rows of the
others wait for it when a batch has been taken in, the oldest hurry on. A floor moves up with them:
rows that come behind it are late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.scatter import splitmix


def let_through(number: int, first: int, count: int, share: float) -> Flags:
    """Say which of the rows `first`, `first + 1`, … of an input its drop box lets through.

    A row's hash is that of its arrival number moved by a salt, the hash of the input's number; it
    passes if it is below its share of all hashes.

    >>> let_through(0, 0, 3, 1.0).tolist(), let_through(0, 0, 3, 0.0).tolist()
    ([True, True, True], [False, False, False])
    """
    if share >= 1.0:
        return np.ones(count, dtype=np.bool_)
    salt = splitmix(np.array([number], dtype=np.uint64))
    arrivals = np.arange(first, first + count).astype(np.uint64)
    passes: Flags = splitmix(arrivals + salt) < np.uint64(ceil(share * 2.0**64))
    return passes


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """Rows of a stream in some order: when they happened, and the contents of those `kept`.

    Rows that are not kept count in windows and join nothing.
    """

    times: Ints
    kept: Flags
    table: pa.Table

    def __len__(self) -> int:
        return len(self.times)

    def take(self, at: npt.NDArray[np.intp]) -> Arrived:
        """Give rows, each at most once, in another order."""
        kept = self.kept[at]
        places = (np.cumsum(self.kept) - 1)[at][kept]
        return Arrived(times=self.times[at], kept=kept, table=self.table.take(pa.array(places)))

    def part(self, begin: int, end: int) -> Arrived:
        """Give the rows from one place to another, as they stand."""
        if begin >= end:
            return nothing(self.table.schema)
        kept = self.kept[begin:end]
        first = int(np.count_nonzero(self.kept[:begin]))
        table = self.table.slice(first, int(np.count_nonzero(kept)))
        return Arrived(times=self.times[begin:end], kept=kept, table=table)

    def followed_by(self, other: Arrived) -> Arrived:
        """Give these rows and others behind them."""
        if len(self) == 0:
            return other
        if len(other) == 0:
            return self
        return Arrived(
            times=np.concatenate([self.times, other.times]),
            kept=np.concatenate([self.kept, other.kept]),
            table=pa.concat_tables([self.table, other.table]),
        )

    def sorted(self) -> Arrived:
        """Give the rows by time, those of one time as they stand."""
        if in_order(self.times):
            return self
        return self.take(np.argsort(self.times, kind="stable"))


def in_order(times: Ints) -> bool:
    """Say whether times ascend."""
    return bool((times[1:] >= times[:-1]).all())


def nothing(schema: pa.Schema) -> Arrived:
    """Give no rows."""
    empty = np.empty(0, dtype=np.int64)
    return Arrived(times=empty, kept=np.empty(0, dtype=np.bool_), table=schema.empty_table())


class Intake:
    """One stream input: its clock, its floor, how many rows have come, and those that wait."""

    def __init__(self, number: int, lateness_us: int, schema: pa.Schema) -> None:
        self.number = number
        self.lateness_us = lateness_us
        self.clock = LOWEST_TIME
        self.floor = LOWEST_TIME
        """The time below which rows are late because others hurried on."""
        self.arrived = 0
        self.waiting = nothing(schema)

    @property
    def reached(self) -> int:
        """The time below which no further row can come."""
        return max(self.clock - self.lateness_us, self.floor)

    def late(self, times: Ints, there: Flags) -> Flags:
        """Say which rows of a batch come too late, and move the clock to the newest."""
        late: Flags = there & (times < self.reached)
        self.clock = int(times[there].max(initial=self.clock))
        return late

    def number_rows(self, count: int) -> int:
        """Count rows that arrive; give the number of the first."""
        first = self.arrived
        self.arrived += count
        return first

    def facts(self) -> dict[str, int]:
        """Describe what is kept beside the rows that wait."""
        return {"clock": self.clock, "floor": self.floor, "arrived": self.arrived}

    def restore(self, facts: Mapping[str, int]) -> None:
        """Take what `facts` gave."""
        self.clock, self.floor = facts["clock"], facts["floor"]
        self.arrived = facts["arrived"]

    def take(self, rows: Arrived) -> None:
        """Let rows wait."""
        self.waiting = self.waiting.followed_by(rows)

    def release(self, until: int) -> Arrived:
        """Give the rows up to a time, in order; they wait no more."""
        waiting = self.waiting
        if in_order(waiting.times):
            end = int(np.searchsorted(waiting.times, until, side="right"))
            self.waiting = waiting.part(end, len(waiting))
            return waiting.part(0, end)
        free = waiting.times <= until
        if free.all():
            self.waiting = nothing(waiting.table.schema)
            return waiting.sorted()
        if not free.any():
            return nothing(waiting.table.schema)
        self.waiting = waiting.take(np.flatnonzero(~free))
        return waiting.take(np.flatnonzero(free)).sorted()


def released_until(intakes: Sequence[Intake], number: int) -> int:
    """Give the time up to which the rows of an input have nothing to wait for.

    A row waits for rows of its own time from inputs of lower numbers only.
    """
    return min(each.reached - (each.number < number) for each in intakes)


def hurry(intakes: Sequence[Intake], most: int, together: int = 1) -> int:
    """Let so many of the oldest rows go ahead that at most `most` wait; give how many hurry.

    Rows of one time and one input go together, so that none of them is late by another. If so many
    rows are taken `together`, those left over wait on, and that is reckoned with.
    """
    least = sum(len(each.waiting) for each in intakes) - most
    least += -least % together
    if least <= 0:
        return 0
    free = free_rows(intakes)
    if least <= free:
        return 0
    times = np.concatenate([each.waiting.times for each in intakes])
    newest = int(np.partition(times, least - 1)[least - 1])
    gone = int(np.count_nonzero(times < newest))
    for last in intakes:
        gone += int(np.count_nonzero(last.waiting.times == newest))
        if gone >= least:
            break
    for each in intakes:
        # At the newest's time, rows of the inputs before its own would come before it.
        each.floor = newest + (each.number < last.number)
    return free_rows(intakes) - free


def free_rows(intakes: Sequence[Intake]) -> int:
    """Count the rows that have nothing to wait for."""
    return sum(
        int(np.count_nonzero(each.waiting.times <= released_until(intakes, each.number)))
        for each in intakes
    )
