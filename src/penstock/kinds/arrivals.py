"""Arrivals: the recorded rows of a multi-way join's inputs, put in order once more.

Plain arithmetic, batch by batch, in the order of the rules: which rows were late, which a drop box
let pass, in which batch each was released, where each stands in the one order of all streams, and
how many rows of every input had been counted then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.inputs import JoinInput
from penstock.algebra.trees import JoinPlan
from penstock.delivery.log import LoggedBatch
from penstock.delivery.parts import PIECES
from penstock.expressions.quotation import dotted, with_dots
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.broken import sound_rows

LONG_AGO = np.iinfo(np.int64).min // 2
"""The clock of a stream that has brought nothing yet."""

Plans = Sequence[tuple[int, JoinPlan]]
"""Plans and the batches from which they were in force, in order."""
Passing = Callable[[int, Ints, float], Flags]
"""`(input, arrival numbers, pass fraction)`: which rows a drop box lets pass."""


@dataclass(slots=True, kw_only=True)
class Arrivals:
    """Rows of one stream input that were in time and had to wait, in arrival order.

    `passes` says whether a row is kept; the others count in ROWS windows. `release` is the batch of
    its release (the number of batches: never). `position` is the row's place in the order of all
    streams, `seen[k]` the rows of input k counted up to it. `late` rows were not in time.
    `newest[b]` is the newest event time of all batches before b.
    """

    rows: pa.Table
    time: Ints
    passes: Flags
    release: Ints
    position: Ints
    seen: list[Ints]
    late: int
    newest: Ints

    def table(self) -> pa.Table:
        """Give the rows that were kept and released, with all that was found about them."""
        found = self.rows
        for name, values in (
            ("_release", self.release),
            ("_time", self.time),
            *((f"_seen{number}", seen) for number, seen in enumerate(self.seen)),
        ):
            found = found.append_column(name, pa.array(values))
        return found.filter(pa.array(self.passes & (self.position >= 0)))


def rows_of(
    batches: Sequence[LoggedBatch], relation: str, schema: pa.Schema
) -> tuple[pa.Table, Ints]:
    """Read a relation's recorded rows in the order in which they came, and the batch of each.

    Their names have dots: ours come beside them.
    """
    parts, numbers = [schema.empty_table()], [np.empty(0, dtype=np.int64)]
    for batch in batches:
        pieces: list[tuple[int, int, pa.Table]] = []
        for part, section in enumerate(batch.sections):
            if section.relation == relation:
                table = section.events()
                first = 0
                for partition, sequence, size in _pieces(table, part):
                    pieces.append((partition, sequence, table.slice(first, size)))
                    first += size
        for _, _, piece in sorted(pieces, key=lambda piece: piece[:2]):
            rows = piece.select(schema.names).cast(schema)
            sound = sound_rows(rows)
            parts.append(rows if sound is None else rows.filter(sound))
            numbers.append(np.full(parts[-1].num_rows, batch.batch, dtype=np.int64))
    return with_dots(pa.concat_tables(parts)), np.concatenate(numbers)


def _pieces(table: pa.Table, part: int) -> list[list[int]]:
    noted = (table.schema.metadata or {}).get(PIECES)
    return json.loads(noted) if noted else [[part, 0, table.num_rows]]


def arrive(
    inputs: Sequence[JoinInput],
    read: Callable[[str], tuple[pa.Table, Ints]],
    batches: int,
    begun: int,
    plans: Plans,
    passing: Passing,
    waiting: int,
    together: int = 1,
) -> dict[int, Arrivals]:
    """Put the rows of all stream inputs in order, by input; the group came to be with `begun`.

    At most `waiting` rows wait. So many rows take effect `together`, as in a join with a budget:
    two by two, in the order of all streams; a row whose fellow is not released yet waits for it.
    """
    streams = [
        _Stream(number, each, *read(each.relation), batches)
        for number, each in enumerate(inputs)
        if each.window is not None
    ]
    for stream in streams:
        stream.clock = int(stream.newest[min(begun, batches)])
    for batch in range(begun, batches):
        plan = next((plan for first, plan in reversed(plans) if first <= batch), None)
        for stream in streams:
            stream.come(batch, plan, passing)
        _let_go(streams, batch, waiting, together)
    found = {stream.number: stream.arrivals() for stream in streams}
    _order(found, len(inputs), batches)
    return found


class _Stream:
    """A stream on its way: up to when it has come, and the places of rows that wait."""

    def __init__(
        self, number: int, each: JoinInput, rows: pa.Table, batch: Ints, batches: int
    ) -> None:
        assert each.event_time is not None and each.window is not None
        times = rows[dotted(each.event_time)]
        known = pc.is_valid(times).to_numpy(zero_copy_only=False)
        zone = getattr(times.type, "tz", None)
        self.number = number
        self.rows = rows.filter(pa.array(known))
        whole = self.rows[dotted(each.event_time)].cast(pa.timestamp("us", zone)).cast(pa.int64())
        self.time: Ints = whole.to_numpy().astype(np.int64)
        self.waiting: Ints = np.empty(0, dtype=np.int64)
        self.clock = self.floor = LONG_AGO
        self._lateness_us = each.lateness_us
        self._counts_rows = each.window.kind == "rows"
        self._ends = np.searchsorted(batch[known], np.arange(batches + 1))
        running = np.maximum.accumulate(np.concatenate([[LONG_AGO], self.time]))
        self.newest: Ints = running[self._ends]
        self._arrived = self._late = 0
        self._waited = np.zeros(len(self.time), dtype=np.bool_)
        self._passes = np.zeros(len(self.time), dtype=np.bool_)
        self.release: Ints = np.full(len(self.time), batches, dtype=np.int64)

    @property
    def frontier(self) -> int:
        """The time below which every further row is late."""
        return max(self.clock - self._lateness_us, self.floor)

    def come(self, batch: int, plan: JoinPlan | None, passing: Passing) -> None:
        """Leave out the late rows of a batch, and ask the drop box; the others wait."""
        first, end = self._ends[batch : batch + 2]
        time = self.time[first:end]
        on_time = time >= self.frontier
        self.clock = int(time.max(initial=self.clock))
        self._late += len(time) - int(np.count_nonzero(on_time))
        places = first + np.flatnonzero(on_time)
        arrival = self._arrived + np.arange(len(places), dtype=np.int64)
        self._arrived += len(places)
        if plan is None:
            passes = np.ones(len(places), dtype=np.bool_)
        else:
            passes = passing(self.number, arrival, plan.share(self.number))
        self._passes[places] = passes
        if not (self._counts_rows and plan is not None and plan.boxes == "subset"):
            places = places[passes]
        self._waited[places] = True
        self.waiting = np.concatenate([self.waiting, places])

    def arrivals(self) -> Arrivals:
        """Give the rows that waited, and what was found about them so far."""
        waited = self._waited
        return Arrivals(
            rows=self.rows.filter(pa.array(waited)),
            time=self.time[waited],
            passes=self._passes[waited],
            release=self.release[waited],
            position=np.full(int(waited.sum()), -1, dtype=np.int64),
            seen=[],
            late=self._late,
            newest=self.newest,
        )


def late_rows(inputs: Sequence[JoinInput], found: dict[int, Arrivals]) -> int:
    """Count the rows that were late, those of a relation that is joined with itself once."""
    most: dict[str, int] = {}
    for number, own in found.items():
        name = inputs[number].relation
        most[name] = max(own.late, most.get(name, 0))
    return sum(most.values())


def _let_go(streams: Sequence[_Stream], batch: int, waiting: int, together: int) -> None:
    """Release, with a batch, the rows that have nothing to wait for; more, if too many wait."""
    free = _free(streams)
    least = sum(len(stream.waiting) for stream in streams) - waiting
    least += -least % together
    if free == 0 and least <= 0:
        return
    place = np.concatenate([stream.waiting for stream in streams])
    of = np.concatenate([np.full(len(stream.waiting), stream.number) for stream in streams])
    time = np.concatenate([stream.time[stream.waiting] for stream in streams])
    order = np.lexsort((place, of, time))
    if least > free:
        last = order[least - 1]
        for stream in streams:
            stream.floor = int(time[last]) + int(stream.number < of[last])
        free = _free(streams)
    goes = np.zeros(len(order), dtype=np.bool_)
    goes[order[: free - free % together]] = True
    for stream in streams:
        own = goes[of == stream.number]
        stream.release[stream.waiting[own]] = batch
        stream.waiting = stream.waiting[~own]


def _free(streams: Sequence[_Stream]) -> int:
    """Count the rows that wait for nothing: at equal times, those of a lower input come first."""
    count = 0
    for stream in streams:
        until = min(other.frontier - (other.number < stream.number) for other in streams)
        count += int(np.count_nonzero(stream.time[stream.waiting] <= until))
    return count


def _order(found: dict[int, Arrivals], inputs: int, batches: int) -> None:
    """Put all released rows in one order, and count the rows of every input along it."""
    if not found:
        return
    released = {number: np.flatnonzero(own.release < batches) for number, own in found.items()}
    time = np.concatenate([found[number].time[rows] for number, rows in released.items()])
    of = np.concatenate([np.full(len(rows), number) for number, rows in released.items()])
    row = np.concatenate(list(released.values()))
    order = np.lexsort((row, of, time))
    time, of, row = time[order], of[order], row[order]
    seen = [np.cumsum(of == number) for number in range(inputs)]
    for number, own in found.items():
        mine = np.flatnonzero(of == number)
        own.position[row[mine]] = mine
        own.seen = [np.zeros(len(own.time), dtype=np.int64) for _ in range(inputs)]
        for other in range(inputs):
            own.seen[other][row[mine]] = seen[other][mine]


def active_most(found: dict[int, Arrivals], inputs: Sequence[JoinInput]) -> int:
    """Give the most rows of all streams together that were in their windows at any moment."""
    most = 0
    for own in found.values():
        known = own.position >= 0
        active = np.zeros(int(known.sum()), dtype=np.int64)
        for number, other in found.items():
            seen, window = own.seen[number][known], inputs[number].window
            if window is None:
                active += seen
            elif window.kind == "rows":
                active += np.minimum(seen, window.size)
            else:
                times = np.sort(other.time[other.position >= 0])
                gone = np.searchsorted(times, own.time[known] - window.size, side="right")
                active += seen - gone
        most = max(most, int(active.max(initial=0)))
    return most
