"""TellingFilter: filters of a table whose answers begin with the rows that the table holds.

Those rows are of no batch. So all results of such a group are rows of its own, with their signs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from penstock.algebra.physical import FilterStep
from penstock.operators.filter.operator import FilterOperator
from penstock.vocabulary.batches import Results
from penstock.vocabulary.changes import sign_beside, signs_of

INSERT = "insert"


class TellingFilter(FilterOperator):
    """Makes rows of what it finds. A table without its change column holds insertions."""

    def __init__(self, step: FilterStep) -> None:
        super().__init__(step)
        assert step.change_column is not None
        self._change = step.change_column
        self._schema = pa.schema(list(step.kept))
        self._sign = sign_beside(self._schema.names)

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Match one batch: every (row, query) pair once."""
        found = super().process(batch)
        if not found:
            return []
        event = np.concatenate([own.event for own in found])
        seen, places = np.unique(event, return_inverse=True)
        rows = self._made(batch[self._step.relation].take(pa.array(seen)))
        return [
            Results(
                relation=self._step.relation,
                query=np.concatenate([own.query for own in found]),
                event=places.astype(np.int32),
                rows=rows,
            )
        ]

    def _made(self, rows: pa.Table) -> pa.Table:
        if self._change not in rows.column_names:
            words = pa.array([INSERT] * rows.num_rows, pa.string())
            rows = rows.append_column(self._change, words)
        signs = signs_of(rows[self._change])
        rows = rows.select(self._schema.names).cast(self._schema)
        return rows.append_column(self._sign, signs.cast(pa.int8()))
