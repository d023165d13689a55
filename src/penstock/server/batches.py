"""Batches as they are served: written once as text, whoever reads them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.delivery.batch_tables import batch_table
from penstock.delivery.row_texts import event_lines, json_lines
from penstock.delivery.sheets import Piece
from penstock.vocabulary.batches import Ints

Form = Literal["events", "messages"]
"""Server-sent events, one per change; or messages of a WebSocket, with many changes each."""


class ServedBatch:
    r"""A batch's changes for one subscription as lines of JSON and as server-sent events.

    >>> table = pa.table({"_id": ["a", "b", "a"], "n": [1, 2, 3]})
    >>> batch = ServedBatch(17, table)
    >>> batch.text("events", None, 2, 3)
    b'id: 17:3\ndata: {"_id":"a","n":3}\n\n'
    >>> batch.text("events", batch.rows_of("a"), 1, 2)
    b'id: 17:2\ndata: {"_id":"a","n":3}\n\n'
    >>> batch.text("messages", None, 0, 2)
    b'{"token":"17:2","changes":[{"_id":"a","n":1},{"_id":"b","n":2}]}'
    """

    def __init__(self, batch: int, table: pa.Table, wanted: Sequence[str] = ()) -> None:
        self.batch = batch
        self._lines = json_lines(table)
        self._events = event_lines(self._lines, batch)
        self._ids = table["_id"].cast(pa.string()).combine_chunks()
        self._rows = _rows_of(self._ids, wanted)

    @classmethod
    def of_pieces(
        cls, pieces: Sequence[Piece], batch: int, version: int, wanted: Sequence[str] = ()
    ) -> ServedBatch:
        """Write what a batch has for one subscription; the rows of `wanted` ids are found now."""
        return cls(batch, batch_table(pieces, batch, version), wanted)

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return self._lines.nbytes + self._events.nbytes

    def rows_of(self, id_: str) -> Ints:
        """Give the rows of one standing query."""
        if id_ not in self._rows:
            self._rows |= _rows_of(self._ids, [id_])
        return self._rows[id_]

    def stop_within(self, start: int, bytes_max: int) -> int:
        """Say how far rows reach that are so long at most."""
        return self._events.stop_within(start, bytes_max)

    def text(self, form: Form, rows: Ints | None, start: int, stop: int) -> bytes:
        """Give some rows, of all or of those of one id, with the token behind them."""
        if rows is None:
            if form == "events":
                return bytes(self._events.piece(start, stop))
            # A line of JSON holds no end of a line but its own.
            changes = bytes(self._lines.piece(start, stop))[:-1].replace(b"\n", b",")
        else:
            lines = [bytes(self._lines.piece(row, row + 1))[:-1] for row in rows[start:stop]]
            if form == "events":
                told = [
                    b"id: %d:%d\ndata: %s\n\n" % (self.batch, number, line)
                    for number, line in enumerate(lines, start=start + 1)
                ]
                return b"".join(told)
            changes = b",".join(lines)
        return b'{"token":"%d:%d","changes":[%s]}' % (self.batch, stop, changes)


def _rows_of(ids: pa.Array, wanted: Sequence[str]) -> dict[str, Ints]:
    """Give the rows of some ids, of all in one pass."""
    if not wanted:
        return {}
    codes = pc.index_in(ids, value_set=pa.array(wanted, pa.string())).fill_null(-1).to_numpy()
    found = np.flatnonzero(codes >= 0)
    order = found[np.argsort(codes[found], kind="stable")]
    cuts = np.searchsorted(codes[order], np.arange(len(wanted) + 1))
    return {
        id_: order[start:stop] for id_, (start, stop) in zip(wanted, pairwise(cuts), strict=True)
    }
