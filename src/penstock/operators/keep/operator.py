"""KeepOperator: the rows that a table holds, after all its inserts, updates and deletes.

Changes are only noted down; they are folded when they outgrow what they are folded into, or when
somebody asks. A delete takes away the oldest row that is equal in all columns; a delete of a row
that is not there changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.physical import KeepStep
from penstock.expressions.connecting import connect
from penstock.operators.protocol import NO_CLOCKS, WHOLE, Share
from penstock.storage.files import table_from_bytes, table_to_bytes
from penstock.vocabulary.batches import QueryChanges, Results
from penstock.vocabulary.changes import signs_of

FOLD_AT_LEAST_ROWS = 1 << 16
SIGN = "_sign"
SEQUENCE = "_sequence"


class KeepOperator:
    """Keeps one table."""

    def __init__(self, step: KeepStep, snapshot: bytes | None, _share: Share = WHOLE) -> None:
        self._step = step
        empty = pa.schema(list(step.columns)).empty_table()
        self._rows = empty if snapshot is None else table_from_bytes(snapshot)
        self._noted: list[pa.Table] = []
        self._noted_rows = 0
        self._fresh: pa.Table | None = None

    def apply(self, changes: QueryChanges) -> None:
        """Take nothing: nobody subscribes to a kept table."""
        assert not changes.adds, "a kept table has no queries"

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take nothing: a table is kept from its declaration on."""

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Note a batch's changes down."""
        self._fresh = None
        table = batch.get(self._step.relation)
        if table is not None and table.num_rows:
            names = [name for name, _ in self._step.columns]
            sign = signs_of(table[self._step.change_column])
            self._fresh = table.select(names).append_column(SIGN, sign).combine_chunks()
            self._note(self._fresh)
        return []

    def delta(self) -> bytes | None:
        """Give the changes noted in the last batch."""
        fresh, self._fresh = self._fresh, None
        return None if fresh is None else table_to_bytes(fresh)

    def catch_up(self, delta: bytes) -> None:
        """Note the changes that another copy noted."""
        self._note(table_from_bytes(delta))

    def snapshot(self) -> bytes | None:
        """Give the rows, in the order in which they came."""
        return table_to_bytes(self.rows())

    def sizes(self) -> dict[str, int]:
        """Say nothing: what is noted is not counted before it is folded."""
        return {}

    def counts(self) -> dict[str, int]:
        """Say nothing."""
        return {}

    def rows(self) -> pa.Table:
        """Give the rows that the table holds now."""
        self._fold()
        return self._rows

    def _note(self, changes: pa.Table) -> None:
        self._noted.append(changes)
        self._noted_rows += changes.num_rows
        if self._noted_rows > max(FOLD_AT_LEAST_ROWS, self._rows.num_rows):
            self._fold()

    def _fold(self) -> None:
        if not self._noted:
            return
        held = self._rows.append_column(SIGN, _ones(self._rows.num_rows))
        changes = pa.concat_tables([held, *self._noted])
        self._noted, self._noted_rows = [], 0
        has_deletes = pc.min(changes[SIGN]).as_py() < 0
        kept = changes.take(_surviving(changes)) if has_deletes else changes
        self._rows = kept.drop_columns([SIGN]).combine_chunks()


def _ones(size: int) -> pa.Array:
    return pa.array(np.ones(size, dtype=np.int8))


def _surviving(changes: pa.Table) -> pa.ChunkedArray:
    """Find the inserts that no delete took away.

    The number of equal rows walks up and down, never below zero: at the end it is the sum of the
    signs less the lowest point of the walk (if that is below zero). The newest inserts survive.
    """
    names = [name for name in changes.column_names if name != SIGN]
    columns = ", ".join(f"c{number}" for number in range(len(names)))
    numbered = changes.rename_columns([*(f"c{n}" for n in range(len(names))), SIGN])
    numbered = numbered.append_column(SEQUENCE, pa.array(np.arange(changes.num_rows)))
    with connect(threads=1) as db:
        db.register("changes", numbered)
        found = db.sql(
            f"""
            WITH walked AS (
                SELECT {SEQUENCE}, {SIGN}, {columns},
                    sum({SIGN}) OVER (PARTITION BY {columns} ORDER BY {SEQUENCE}) AS height,
                    count(*) FILTER ({SIGN} > 0) OVER (
                        PARTITION BY {columns} ORDER BY {SEQUENCE} DESC
                    ) AS newer
                FROM changes
            ), ended AS (
                SELECT *, sum({SIGN}) OVER (PARTITION BY {columns})
                    - least(0, min(height) OVER (PARTITION BY {columns})) AS held
                FROM walked
            )
            SELECT {SEQUENCE} FROM ended WHERE {SIGN} > 0 AND newer <= held ORDER BY {SEQUENCE}
            """
        ).to_arrow_table()
    return found[SEQUENCE]
