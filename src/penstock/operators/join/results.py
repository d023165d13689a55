"""Results: the rows that a join makes, and whose they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.algebra.joins import JoinStep
from penstock.kernels.made_rows import pairs_mark, pairs_name, triples_number
from penstock.operators.shared.readers import SideArrivals
from penstock.operators.shared.results import made_schema
from penstock.operators.shared.sides import Side
from penstock.vocabulary.batches import Ints, Results, Rows


class Made:
    """Collects made rows and pairs of one batch."""

    def __init__(self, step: JoinStep) -> None:
        self._step = step
        self.schema = made_schema(step)
        self._tables: list[pa.Table] = []
        self._queries: list[Ints] = []
        self._events: list[Rows] = []
        self._rows = 0
        self._arrivals: SideArrivals | None = None
        self._seen: Rows = np.empty(0, dtype=np.int32)
        self._number: Rows = np.empty(0, dtype=np.int32)

    def join(
        self,
        side: int,
        arrivals: SideArrivals,
        other: Side,
        numbers: Ints,
        tuples: Rows,
        slots: Rows,
    ) -> None:  # fmt: skip
        """Take triples (query number, change, row of the other side).

        One row is made for each change and row, however many queries they are for. Equal changes
        are together, also from call to call.
        """
        if len(tuples) == 0:
            return
        if self._arrivals is not arrivals:
            room = other.slots.room
            self._seen = np.full(room, -1, dtype=np.int32)
            self._number = np.empty(room, dtype=np.int32)
            self._arrivals = arrivals
        events, made_tuples, made_slots = (np.empty(len(tuples), dtype=np.int32) for _ in range(3))
        made = triples_number(
            tuples, slots, self._seen, self._number, self._rows, events, made_tuples, made_slots
        )
        made_tuples, made_slots = made_tuples[:made], made_slots[:made]
        near = arrivals.table.take(pa.array(made_tuples))
        far = other.contents.take(made_slots)
        self._take(side, near, far, arrivals.signs[made_tuples], numbers, events)

    def affect(
        self, side: int, arrivals: SideArrivals, numbers: Ints, tuples: Rows, slots: Rows
    ) -> None:
        """Take pairs (change, query slot): one row per change, empty on the other side.

        `numbers` are the query numbers by slot.
        """
        if len(tuples) == 0:
            return
        seen = np.zeros(len(arrivals), dtype=np.bool_)
        pairs_mark(tuples, seen)
        place = (self._rows - 1 + np.cumsum(seen)).astype(np.int32)
        events = np.empty(len(tuples), dtype=np.int32)
        queries = np.empty(len(tuples), dtype=np.int64)
        pairs_name(tuples, slots, place, numbers, events, queries)
        chosen = np.flatnonzero(seen)
        near = arrivals.table if seen.all() else arrivals.table.take(pa.array(chosen))
        self._take(side, near, None, arrivals.signs[chosen], queries, events)

    def _take(
        self, side: int, near: pa.Table, far: pa.Table | None, signs: npt.NDArray[np.int8],
        numbers: Ints, events: Rows,
    ) -> None:  # fmt: skip
        rows = len(signs)
        columns: list[pa.Array | pa.ChunkedArray] = []
        for number, shape in enumerate(self._step.inputs):
            source = near if number == side else far
            for name, type_ in shape.columns:
                columns.append(pa.nulls(rows, type_) if source is None else source.column(name))
        self._tables.append(pa.table([*columns, pa.array(signs)], schema=self.schema))
        self._queries.append(numbers)
        self._events.append(events)
        self._rows += rows

    def results(self) -> list[Results]:
        """Give everything as one."""
        if not self._tables:
            return []
        assert self._rows <= np.iinfo(np.int32).max, "a batch's rows are counted in 32 bits"
        return [
            Results(
                relation=self._step.inputs[0].relation,
                query=_together(self._queries),
                event=_together(self._events),
                rows=pa.concat_tables(self._tables),
            )
        ]


def _together(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
