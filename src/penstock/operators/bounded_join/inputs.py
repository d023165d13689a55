"""Inputs: the streams of a bounded join, their rows that wait and those that are held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.algebra.crossings import CrossedShape
from penstock.operators.bounded.caches import NO_WINDOW
from penstock.operators.bounded_join.contents import HeldRows
from penstock.operators.bounded_join.keys import JoinKeys
from penstock.operators.protocol import WHOLE, Share
from penstock.operators.shared.fields import Matrix
from penstock.operators.shared.inputs import Owning, StreamInput, key_of_all, owners_of_all
from penstock.operators.shared.intake import Arrived
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.selections import Selection
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import NULL_VALUES, STORED

NOBODY = Queries(pa.schema([("query", pa.int64())]), ())
"""No queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """Released rows of one stream: which are wanted and which of those are kept here.

    `keys` are those of all rows, 0 where a row is not wanted; `table` are the rows kept.
    """

    times: Ints
    wanted: Flags
    owned: Flags
    keys: Ints
    table: pa.Table


class BoundedInput(StreamInput):
    """A stream of which a few rows are held; all shards see all its rows."""

    def __init__(self, number: int, step: CrossedShape, keys: JoinKeys, share: Share) -> None:
        shape = step.inputs[number]
        # What queries ask of its rows, an `AskingInput` knows.
        nothing = Selection(shape, number, (), (), NOBODY)
        # Who does not keep a row must still see its key.
        super().__init__(number, shape, nothing, keys.fields, Owning(shape, None, share))
        self.rows = HeldRows(self.schema)
        self.released = 0
        """Rows that have been released, wanted or not."""
        self.asking: list[AskingInput] = []
        """What queries want of its rows, shape by shape."""
        self._keys = keys
        assert key_of_all(step) is not None
        self._mine = owners_of_all(step, share)[number]

    @property
    def size(self) -> int:
        """The size of the window in the stream's measure."""
        return NO_WINDOW if self.shape.window is None else self.shape.window.size

    def measure(self, inputs: Ints, times: Ints) -> Ints:
        """Give the stream's measure at each of some released rows, which move it on."""
        window = self.shape.window
        if window is None:
            return np.zeros(len(times), dtype=np.int64)
        if window.kind == "range":
            return times
        return self.released + np.cumsum(inputs == self.number)

    def come(self, table: pa.Table, counts: Tally) -> Arrived:
        """Read rows as they come: leave out the late, let the others wait."""
        return self.arrive(table, 1.0, False, counts)

    def ask(self, rows: Arrived, counts: Tally) -> Entered:
        """Ask released rows whether some query may want them, and whose they are."""
        table = rows.table
        fields, present, agrees = self._keys.read(self.number, table)
        owned = self._mine.mine(table)
        counts[NULL_VALUES] += int(np.count_nonzero(owned & ~present))
        wanted: Flags = present & agrees
        if not wanted.all():
            fields, table = fields[wanted], table.filter(pa.array(wanted))
        # Every shard asks the same: one of them tells.
        told = counts if self._mine.is_first else None
        passing = np.zeros(len(fields), dtype=np.bool_)
        for each in self.asking:
            passing |= each.passes(fields if each.keys is self._keys else None, table, told)
        if not passing.all():
            fields, table = fields[passing], table.filter(pa.array(passing))
        wanted[wanted] = passing
        keys = np.zeros(len(rows), dtype=np.int64)
        keys[wanted] = self._keys.keys(self.number, table, fields)
        owned &= wanted
        mine = owned[wanted]
        counts[STORED, self.number] += int(np.count_nonzero(mine))
        return Entered(
            times=rows.times, wanted=wanted, owned=owned, keys=keys,
            table=table if mine.all() else table.filter(pa.array(mine)),
        )  # fmt: skip

    def take(self, ids: Ints, names: tuple[str, ...] | None = None) -> pa.Table:
        """Give rows by number."""
        return self.rows.take(ids, names)


class AskingInput(StreamInput):
    """A stream as the queries of one shape see it: what they ask of its rows."""

    def __init__(
        self, stream: BoundedInput, step: CrossedShape, keys: JoinKeys, names: tuple[str, ...],
        queries: Queries,
    ) -> None:  # fmt: skip
        number, shape = stream.number, step.inputs[stream.number]
        selection = Selection(shape, number, keys.fields.terms[number], names, queries)
        super().__init__(number, shape, selection, keys.fields, Owning(shape, None, WHOLE))
        self.keys = keys
        self._rows = stream.rows

    def passes(self, fields: Matrix | None, table: pa.Table, counts: Tally | None) -> Flags:
        """Say which rows some query may want; `fields` are theirs, if they were read already."""
        if fields is not None:
            return self.selection.passes(fields, table, counts)
        fields, present, agrees = self.keys.read(self.number, table)
        wanted: Flags = present & agrees
        if not wanted.all():
            fields, table = fields[wanted], table.filter(pa.array(wanted))
        wanted[wanted] = self.selection.passes(fields, table, counts)
        return wanted

    def take(self, ids: Ints, names: tuple[str, ...] | None = None) -> pa.Table:
        """Give rows by number."""
        return self._rows.take(ids, names)
