"""KeepOperator: a table's changes as they come in, how its rows change, and the rows it holds.

It stands in front of everybody who reads the table: a word that means nothing is set aside here,
and nowhere else is decided what a change does.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from penstock.algebra.physical import KeepStep
from penstock.operators.keep.keyed_rows import KeyedTable
from penstock.operators.keep.weights import NettedTable
from penstock.operators.protocol import NO_CLOCKS, WHOLE, Share
from penstock.operators.shared.keys import whole
from penstock.vocabulary.batches import QueryChanges, Results
from penstock.vocabulary.changes import Meaning, meanings_of
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import (
    FORGOTTEN_DELETES,
    GUESSED_ORDER,
    KEYLESS_CHANGES,
    OLDER_CHANGES,
    TIED_CHANGES,
    UNKNOWN_CHANGES,
    UNKNOWN_DELETES,
    UPDATES_WITHOUT_KEY,
)

FIGURES = (
    UNKNOWN_CHANGES, UPDATES_WITHOUT_KEY, KEYLESS_CHANGES, UNKNOWN_DELETES, FORGOTTEN_DELETES,
    OLDER_CHANGES, TIED_CHANGES, GUESSED_ORDER,
)  # fmt: skip


class KeepOperator:
    """Keeps one table.

    Attributes
    ----------
    gives
        The table's name.
    resolved
        How the rows of the table changed in the last batch, in the columns of its changes: a row
        comes or goes as often as it is there, and none does both. None: the batch had no change.
    """

    def __init__(self, step: KeepStep, snapshot: bytes | None, _share: Share = WHOLE) -> None:
        self._step = step
        self.gives = step.relation
        self._table = KeyedTable(step, snapshot) if step.key else NettedTable(step, snapshot)
        self._counts = Tally()
        self.resolved: pa.Table | None = None

    def apply(self, changes: QueryChanges) -> None:
        """Take nothing: nobody subscribes to a kept table."""
        assert not changes.adds, "a kept table has no queries"

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take nothing: a table is kept from its declaration on."""

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Take a batch's changes; what they mean is then in `resolved`."""
        self._counts = Tally()
        self.resolved = None
        table = batch.get(self._step.relation)
        if table is not None:
            meanings = meanings_of(table[self._step.change_column])
            known = meanings != Meaning.UNKNOWN
            if not known.all():
                self._counts[UNKNOWN_CHANGES] = int(np.count_nonzero(~known))
                table, meanings = table.filter(pa.array(known)), meanings[known]
            conformed = self._conform(table)
            self.resolved = self._table.resolve(table, conformed, meanings, self._counts)
        return []

    def _conform(self, table: pa.Table) -> pa.Table:
        """Give the columns that are kept in their declared types, one chunk each."""
        schema = self._table.schema
        columns = [whole(table.column(name)) for name in schema.names]
        return pa.table(
            [
                column if column.type == own.type else column.cast(own.type)
                for column, own in zip(columns, schema, strict=True)
            ],
            schema=schema,
        )

    def delta(self) -> bytes | None:
        """Give what the last batch changed."""
        return self._table.delta()

    def catch_up(self, delta: bytes) -> None:
        """Take what a batch changed in another copy."""
        self._table.catch_up(delta)

    def snapshot(self) -> bytes | None:
        """Give all that is held; copies in one state give the same bytes."""
        return self._table.snapshot()

    def sizes(self) -> Tally:
        """Say nothing: every reader of the table has its own rows, and tells of them."""
        return Tally()

    def counts(self) -> Tally:
        """Say what the last batch's changes lacked."""
        return self._counts

    def rows(self) -> pa.Table:
        """Give the rows that the table holds now."""
        return self._table.rows()
