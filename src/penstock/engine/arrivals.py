"""Arrivals: the recorded rows of a multi-way join's inputs, put in order once more.

Plain arithmetic over whole columns, in the order of the rules: which rows were late, which a drop
box let pass, in which batch each was released, where each stands in the one order of all streams,
and how many rows of every input had been counted then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.algebra.multi_joins import JoinInput
from penstock.algebra.trees import JoinPlan
from penstock.delivery.log import LoggedBatch
from penstock.delivery.parts import PIECES
from penstock.vocabulary.batches import Flags, Ints

LONG_AGO = np.iinfo(np.int64).min // 2
"""The clock of a stream that has brought nothing yet."""

Plans = Sequence[tuple[int, JoinPlan]]
"""Plans and the batches from which they were in force, in order."""
Passing = Callable[[int, Ints, float], Flags]
"""`(input, arrival numbers, pass fraction)`: which rows a drop box lets pass."""


@dataclass(slots=True, kw_only=True)
class Arrivals:
    """Rows of one stream input that were in time, in arrival order.

    `batch` is the batch of arrival, `release` that of release (the number of batches: never),
    `counts` whether a row counts in ROWS windows, `passes` whether it is kept. `position` is the
    row's place in the order of all streams, `seen[k]` the rows of input k counted up to it.
    """

    rows: pa.Table
    batch: Ints
    time: Ints
    passes: Flags
    counts: Flags
    release: Ints
    position: Ints
    seen: list[Ints]

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
    """Read a relation's recorded rows in the order in which they came, and the batch of each."""
    parts, numbers = [schema.empty_table()], [np.empty(0, dtype=np.int64)]
    for batch in batches:
        pieces: list[tuple[int, int, pa.Table]] = []
        for part, section in enumerate(batch.sections):
            if section.relation == relation:
                table = pq.read_table(f"{section.path}-events.parquet")
                first = 0
                for partition, sequence, rows in _pieces(table, part):
                    pieces.append((partition, sequence, table.slice(first, rows)))
                    first += rows
        for _, _, piece in sorted(pieces, key=lambda piece: piece[:2]):
            parts.append(piece.select(schema.names).cast(schema))
            numbers.append(np.full(piece.num_rows, batch.batch, dtype=np.int64))
    return pa.concat_tables(parts), np.concatenate(numbers)


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
) -> dict[int, Arrivals]:
    """Put the rows of all stream inputs in order, by input; the group came to be with `begun`."""
    found: dict[int, Arrivals] = {}
    frontiers: dict[int, Ints] = {}
    for number, each in enumerate(inputs):
        if each.window is None:
            continue
        rows, batch = read(each.relation)
        own = pa.array(batch >= begun)
        found[number], frontiers[number] = _in_time(
            each, rows.filter(own), batch[batch >= begun], batches
        )
        _drop(number, found[number], plans, passing)
    for number, own_rows in found.items():
        _release(number, own_rows, frontiers, batches)
    _order(found, len(inputs), batches)
    return found


def _in_time(each: JoinInput, rows: pa.Table, batch: Ints, batches: int) -> tuple[Arrivals, Ints]:
    """Leave out late rows; give also, for every batch, up to when the input lets rows go."""
    assert each.event_time is not None
    times = rows[each.event_time]
    known = pc.is_valid(times).to_numpy(zero_copy_only=False)
    rows, batch = rows.filter(pa.array(known)), batch[known]
    zone = getattr(times.type, "tz", None)
    time = (
        rows[each.event_time]
        .cast(pa.timestamp("us", zone))
        .cast(pa.int64())
        .to_numpy()
        .astype(np.int64)
    )
    newest = np.maximum.accumulate(np.concatenate([[LONG_AGO], time]))
    clock = np.full(batches, LONG_AGO, dtype=np.int64)
    last = np.searchsorted(batch, np.arange(batches), side="right")
    clock[:] = newest[last]
    on_time = time >= newest[:-1] - each.lateness_us
    rows, batch, time = rows.filter(pa.array(on_time)), batch[on_time], time[on_time]
    everything = np.ones(len(time), dtype=np.bool_)
    arrivals = Arrivals(
        rows=rows,
        batch=batch,
        time=time,
        passes=everything,
        counts=everything.copy(),
        release=batch.copy(),
        position=np.full(len(time), -1, dtype=np.int64),
        seen=[],
    )
    return arrivals, clock - each.lateness_us


def _drop(number: int, own: Arrivals, plans: Plans, passing: Passing) -> None:
    """Ask the drop boxes that were in force when each row came."""
    ends = [*(first for first, _ in plans), np.iinfo(np.int64).max][1:]
    arrival = np.arange(len(own.time), dtype=np.int64)
    for (first, plan), last in zip(plans, ends, strict=True):
        here = (own.batch >= first) & (own.batch < last)
        own.passes[here] = passing(number, arrival[here], plan.share(number))
        if plan.boxes == "faithful":
            own.counts[here] = own.passes[here]


def _release(number: int, own: Arrivals, frontiers: dict[int, Ints], batches: int) -> None:
    """Find the batch that let each row go: nothing can come before it any more.

    At equal times, rows of a lower input come first: they are waited for.
    """
    until = np.full(batches, np.iinfo(np.int64).max, dtype=np.int64)
    for other, frontier in frontiers.items():
        until = np.minimum(until, frontier - (other < number))
    own.release = np.maximum(own.batch, np.searchsorted(until, own.time, side="left"))


def _order(found: dict[int, Arrivals], inputs: int, batches: int) -> None:
    """Put all released rows in one order, and count the rows of every input along it."""
    if not found:
        return
    released = {number: np.flatnonzero(own.release < batches) for number, own in found.items()}
    time = np.concatenate([found[number].time[rows] for number, rows in released.items()])
    of = np.concatenate([np.full(len(rows), number) for number, rows in released.items()])
    row = np.concatenate(list(released.values()))
    counts = np.concatenate([found[number].counts[rows] for number, rows in released.items()])
    order = np.lexsort((row, of, time))
    time, of, row, counts = time[order], of[order], row[order], counts[order]
    seen = [np.cumsum((of == number) & counts) for number in range(inputs)]
    for number, own in found.items():
        mine = np.flatnonzero(of == number)
        own.position[row[mine]] = mine
        own.seen = [np.zeros(len(own.time), dtype=np.int64) for _ in range(inputs)]
        for other in range(inputs):
            own.seen[other][row[mine]] = seen[other][mine]


def take_in_twos(found: dict[int, Arrivals], batches: int) -> None:
    """Let rows take effect as in a join with a budget: two by two, in the order of all streams.

    A row whose fellow is not released yet waits for it.
    """
    count = sum(int((own.position >= 0).sum()) for own in found.values())
    release = np.zeros(count, dtype=np.int64)
    for own in found.values():
        known = own.position >= 0
        release[own.position[known]] = own.release[known]
    for own in found.values():
        fellow = own.position | 1
        alone = (own.position < 0) | (fellow >= count)
        own.release = np.where(alone, batches, release[np.where(alone, 0, fellow)] if count else 0)
        own.position[alone] = -1


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
