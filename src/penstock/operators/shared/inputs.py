"""Inputs: the relations of FROM, each with its rows in full, its selection and its place.

Rows are known by the numbers that the cascade gave them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.algebra.crossings import CrossedShape, key_classes
from penstock.algebra.inputs import InputShape
from penstock.operators.protocol import WHOLE, Share
from penstock.operators.shared.chunks import Stretch
from penstock.operators.shared.codes import BranchCodes
from penstock.operators.shared.common_keys import placing_type
from penstock.operators.shared.fields import Fields, Matrix
from penstock.operators.shared.intake import Arrived, Intake, let_through
from penstock.operators.shared.ownership import shard_of
from penstock.operators.shared.readers import ReadColumns, Reader, Signs
from penstock.operators.shared.selections import Selection
from penstock.operators.shared.sides import Side
from penstock.operators.shared.slots import grown
from penstock.vocabulary.batches import Flags, Ints, Rows
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import LATE_ROWS, NULL_EVENT_TIMES, UNKNOWN_DELETES
from penstock.vocabulary.shared_figures import ARRIVED, DROPPED, NULL_VALUES, STORED

NOWHERE = -1
KNOWN_MIN = 64


def reader_of(shape: InputShape) -> Reader:
    """Give what reads an input's columns, its event time and its changes."""
    return Reader(shape, ReadColumns(time=shape.event_time), BranchCodes(()), WHOLE)


def key_of_all(step: CrossedShape) -> dict[int, str] | None:
    """Give a column of every input that must be equal, if there is such a key."""
    for places in key_classes(step.crossing.equalities):
        found = {number: column for number, column in reversed(places)}
        if len(found) == len(step.inputs):
            return found
    return None


class Owning:
    """Which rows of an input a share keeps, by a column if one is given; the others only count.

    `common` is the type in which rows are placed, where others have keys of another scale.
    """

    def __init__(
        self, shape: InputShape, column: str | None, share: Share,
        common: pa.DataType | None = None,
    ) -> None:  # fmt: skip
        self._column = column
        self._type = shape.types[column] if column is not None else None
        self._common = common
        self._share = share
        self.is_first = share.number == 0

    def mine(self, table: pa.Table) -> Flags:
        """Say which rows belong here."""
        if self._share.count == 1 or self._column is None or table.num_rows == 0:
            return np.ones(table.num_rows, dtype=np.bool_)
        shards = shard_of(
            [table.column(self._column)], [self._type], self._share.count, [self._common]
        )
        mine: Flags = shards == self._share.number
        return mine


def owners_of_all(step: CrossedShape, share: Share) -> list[Owning]:
    """Say for every input which rows a share keeps: by a key of all, else all of them."""
    key = key_of_all(step)
    if key is None:
        return [Owning(shape, None, share) for shape in step.inputs]
    common = placing_type(shape.types[key[number]] for number, shape in enumerate(step.inputs))
    return [Owning(shape, key[n], share, common) for n, shape in enumerate(step.inputs)]


class StreamInput:
    """A stream: rows that wait, and the rows of the window."""

    def __init__(
        self, number: int, shape: InputShape, selection: Selection, fields: Fields, owning: Owning
    ) -> None:
        self.number = number
        self.shape = shape
        self.selection = selection
        self.reader = reader_of(shape)
        self.schema = self.reader.schema
        self.intake = Intake(number, shape.lateness_us, self.schema)
        self.contents = Stretch(self.schema)
        self.sure_from = 0
        """The first row that the leaf was asked about as it is asked now."""
        self.tells = True
        """Whether it tells what is left out of its relation: another input may do so already."""
        self._fields = fields
        self._owning = owning

    def arrive(self, table: pa.Table, share: float, dropped_count: bool, counts: Tally) -> Arrived:
        """Read rows as they come: leave out the late, ask the drop box, let the others wait."""
        times, there = self.reader.times(table)
        late = self.intake.late(times, there)
        here = there & ~late
        if not here.all():
            table, times = table.filter(pa.array(here)), times[here]
        first = self.intake.number_rows(len(times))
        passes = let_through(self.number, first, len(times), share)
        if self._owning.is_first:
            # Every shard sees these rows: one of them tells.
            counts[LATE_ROWS] += int(np.count_nonzero(late)) * self.tells
            counts[NULL_EVENT_TIMES] += int(np.count_nonzero(~there)) * self.tells
            counts[ARRIVED, self.number] += len(times)
            if share < 1.0:
                counts[DROPPED, self.number] += int(np.count_nonzero(~passes))
        # In windows of time rows are not counted: those turned away need not wait for anything.
        window = self.shape.window
        counted = dropped_count and window is not None and window.kind == "rows"
        if not counted and not passes.all():
            table, times = table.filter(pa.array(passes)), times[passes]
            passes = np.ones(len(times), dtype=np.bool_)
        kept = passes & self._owning.mine(table)
        table = self.reader.conform(table if kept.all() else table.filter(pa.array(kept)))
        rows = Arrived(times=np.ascontiguousarray(times), kept=kept, table=table)
        self.intake.take(rows)
        return rows

    def enter(self, rows: Arrived, counts: Tally) -> tuple[Flags, Matrix]:
        """Ask released rows, take those that pass; give which, and their fields."""
        fields, present, agrees = self._fields.read(self.number, rows.table)
        table = rows.table
        counts[NULL_VALUES] += int(np.count_nonzero(~present))
        chosen: Flags = present & agrees
        if not chosen.all():
            fields, table = fields[chosen], table.filter(pa.array(chosen))
        passing = self.selection.passes(fields, table, counts)
        if not passing.all():
            fields, table = fields[passing], table.filter(pa.array(passing))
        chosen[chosen] = passing
        self._fields.encode(self.number, table, fields)
        self.contents.add(table)
        counts[STORED, self.number] += len(fields)
        stored = rows.kept.copy()
        stored[stored] = chosen
        return stored, fields

    def times(self, ids: Ints) -> Ints:
        """Give the event times of rows by number."""
        assert self.shape.event_time is not None
        return self.reader.times(self.take(ids, (self.shape.event_time,)))[0]

    def low(self, oldest: Ints) -> int:
        """Give a time that none of these rows is below, nor any row that waits or may come."""
        found = np.concatenate([self.times(oldest), self.intake.waiting.times])
        return int(found.min(initial=self.intake.reached))

    def take(self, ids: Ints, names: tuple[str, ...] | None = None) -> pa.Table:
        """Give rows by number."""
        if names is None or len(ids) < 2:
            return self.contents.take(ids, names)
        # Of few columns of many results, the window is read once.
        first, end = int(ids.min()), int(ids.max()) + 1
        if end - first >= len(ids):
            return self.contents.take(ids, names)
        return self.contents.take(np.arange(first, end), names).take(pa.array(ids - first))

    def restore(self, table: pa.Table, first: int) -> Matrix:
        """Take the rows of a window; give their fields."""
        self.contents = Stretch(self.schema, first)
        self.contents.add(table)
        fields, present, _ = self._fields.read(self.number, table)
        assert present.all(), "only rows that may join are kept"
        self._fields.encode(self.number, table, fields)
        return fields


def tell_once(streams: Sequence[StreamInput]) -> None:
    """Let one input of each relation tell its late rows: the first, whose floor is the highest."""
    told: set[str] = set()
    for each in streams:
        each.tells = each.shape.relation not in told
        told.add(each.shape.relation)


@dataclass(slots=True, kw_only=True)
class Moved:
    """What a table's changes mean for the cascade: new slots, numbers of rows that went."""

    came: Rows
    gone: Ints


class TableInput:
    """A table: all its rows by slot; those that the queries may want are in the cascade."""

    def __init__(
        self, number: int, shape: InputShape, selection: Selection, fields: Fields, owning: Owning
    ) -> None:
        self.number = number
        self.shape = shape
        self.selection = selection
        self.reader = reader_of(shape)
        self.schema = self.reader.schema
        self.side = Side(self.reader)
        self.next = 0
        self.matrix: Matrix = np.empty((0, len(fields.specs[number])), dtype=np.int64)
        self.ids: Ints = np.empty(0, dtype=np.int64)
        # In the order of their numbers, also some that are not in the cascade any more.
        self._known: Ints = np.empty(0, dtype=np.int64)
        self._slot_of: Rows = np.empty(0, dtype=np.int32)
        self._fields = fields
        self._owning = owning

    def change(self, table: pa.Table, counts: Tally) -> tuple[pa.Table, Signs, Moved]:
        """Take the changes that take effect; give them, and what the cascade must be told."""
        signs = self.reader.signs(table)
        mine = self._owning.mine(table)
        if not mine.all():
            table, signs = table.filter(pa.array(mine)), signs[mine]
        table = self.reader.conform(table)
        fields, present, agrees = self._fields.read(self.number, table)
        counts[NULL_VALUES] += int(np.count_nonzero(~present))
        chosen = present & agrees
        if not chosen.all():
            table, signs, fields = table.filter(pa.array(chosen)), signs[chosen], fields[chosen]
        return self._take(table, signs, fields, None, counts)

    def repeat(self, table: pa.Table, signs: Signs, numbers: Ints | None = None) -> Moved:
        """Take changes that took effect elsewhere; insertions may bring their numbers."""
        fields, present, _ = self._fields.read(self.number, table)
        assert present.all(), "only rows that may join are kept"
        return self._take(table, signs, fields, numbers, Tally())[2]

    def _take(
        self, table: pa.Table, signs: Signs, fields: Matrix, numbers: Ints | None,
        counts: Tally,
    ) -> tuple[pa.Table, Signs, Moved]:  # fmt: skip
        inserts = signs > 0
        fields = fields if inserts.all() else fields[inserts]
        self._fields.encode(
            self.number, table if inserts.all() else table.filter(pa.array(inserts)), fields
        )
        arrivals, _ = self.reader.read(table, signs)
        arrivals, unknown = self.side.resolve(arrivals)
        counts[UNKNOWN_DELETES] += unknown
        self._make_room()
        slots = arrivals.slots[arrivals.signs > 0]
        self.matrix[slots] = fields
        self.ids[slots] = NOWHERE
        if numbers is None:
            numbers = self.next + np.arange(len(slots))
            self.next += len(slots)
        came, went = self.side.take(arrivals, numbers)
        gone = self.ids[went]
        self.side.forget(went)
        return arrivals.table, arrivals.signs, Moved(came=came, gone=gone[gone != NOWHERE])

    def _make_room(self) -> None:
        room = self.side.slots.room
        if room > len(self.ids):
            self.ids, self.matrix = grown(self.ids, room), grown(self.matrix, room)

    def wanted(self, slots: Rows, counts: Tally | None) -> Rows:
        """Give the rows among some that a query may want; count how many were asked, if wanted."""
        if len(slots) == 0:
            return slots
        table = self.side.contents.take(slots)
        wanted: Rows = slots[self.selection.passes(self.matrix[slots], table, counts)]
        return wanted

    def enter(self, slots: Rows, ids: Ints) -> None:
        """Note the numbers that the cascade gave to rows."""
        self.ids[slots] = ids
        if len(self._known) > 2 * len(self.side) + len(slots) + KNOWN_MIN:
            stands = self.ids[self._slot_of] == self._known
            self._known, self._slot_of = self._known[stands], self._slot_of[stands]
        self._known = np.concatenate([self._known, ids])
        self._slot_of = np.concatenate([self._slot_of, slots])

    def leave(self, slots: Rows) -> None:
        """Note that rows are not in the cascade any more."""
        self.ids[slots] = NOWHERE

    def leave_all(self) -> Rows:
        """Note that the cascade begins anew; give the rows that were in it."""
        slots = self.side.in_order()
        inside: Rows = slots[self.ids[slots] != NOWHERE]
        self.ids[inside] = NOWHERE
        self._known, self._slot_of = self._known[:0], self._slot_of[:0]
        return inside

    def take(self, ids: Ints, names: tuple[str, ...] | None = None) -> pa.Table:
        """Give rows by number."""
        return self.side.contents.take(self._slot_of[np.searchsorted(self._known, ids)], names)


Input = StreamInput | TableInput
