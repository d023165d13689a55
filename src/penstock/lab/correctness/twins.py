"""Twins: what DuckDB says of a history's queries after every batch."""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

import duckdb
import numpy as np
import pyarrow as pa

from penstock.lab.correctness.histories import WORDS, JoinHistory, JoinQuery
from penstock.lab.correctness.lookups import DuckdbShop

WITHOUT_NAN = "* REPLACE (CASE WHEN isnan(x) THEN NULL ELSE x END AS x)"
Answer = Counter[tuple[Any, ...]]


class Twin(Protocol):
    """A history, loaded into DuckDB."""

    def __init__(self, db: duckdb.DuckDBPyConnection, history: JoinHistory) -> None: ...

    def answer(self, query: JoinQuery, batch: int) -> Answer:
        """Give what has changed since a query was registered, up to the end of a batch."""

    def is_due(self, batch: int) -> bool:
        """Say whether everything that a batch means has come out by its end."""


class TablesTwin:
    """Joins of tables: the rows that stand, each as often as it was inserted and not deleted."""

    def __init__(self, db: duckdb.DuckDBPyConnection, history: JoinHistory) -> None:
        self._db = db
        load_batches(db, history)
        plus, minus = (
            ", ".join(f"'{word}'" for word in words) for words in zip(*WORDS, strict=True)
        )
        for relation in history.relations:
            db.execute(
                f"CREATE TABLE {relation.name}_changes AS SELECT * EXCLUDE (op, _nth), "
                f"CASE WHEN op IN ({minus}) THEN -1 ELSE 1 END AS _sign FROM {relation.name}_log "
                f"WHERE op IN ({plus}, {minus})"
            )

    def answer(self, query: JoinQuery, batch: int) -> Answer:
        """Give what has changed since the query was registered, up to a batch."""
        now = self._whole(query, batch)
        if not query.text.snapshot:
            now.subtract(self._whole(query, query.begun - 1))
        return Counter({row: count for row, count in now.items() if count})

    def _whole(self, query: JoinQuery, batch: int) -> Answer:
        for name in "lr":
            self._db.execute(
                f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * EXCLUDE (n), unnest(range(n)) "
                f"FROM (SELECT * EXCLUDE (_batch, _sign), sum(_sign)::BIGINT AS n "
                f"FROM {name}_changes WHERE _batch <= {batch} GROUP BY ALL) WHERE n > 0"
            )
        rows = self._db.execute(query.text.twin).fetchall()
        return Counter(tuple(tuple(v) if isinstance(v, list) else v for v in row) for row in rows)

    def is_due(self, _batch: int) -> bool:
        """Tables change at once."""
        return True


class PairsTwin:
    """Window joins: a pair is there when its second row has come, if neither was late."""

    def __init__(self, db: duckdb.DuckDBPyConnection, history: JoinHistory) -> None:
        self._db = db
        self._names = [relation.name for relation in history.relations]
        load_batches(db, history)
        for relation in history.relations:
            # A row is late if the newest of the batches before it is too far ahead.
            newest = (
                f"SELECT max(epoch_us(e.ts)) FROM {relation.name}_log e WHERE e._batch < log._batch"
            )
            db.execute(
                f"CREATE TABLE {relation.name}_timely AS FROM {relation.name}_log log "
                f"WHERE epoch_us(ts) >= coalesce(({newest}), 0) - {relation.lateness_us}"
            )

    def answer(self, query: JoinQuery, batch: int) -> Answer:
        """Give the pairs whose rows have come since the query was registered, up to a batch."""
        for name in self._names:
            self._db.execute(
                f"CREATE OR REPLACE TEMP VIEW {name} AS FROM {name}_timely "
                f"WHERE _batch BETWEEN {query.begun} AND {batch}"
            )
        return Counter(self._db.execute(query.text.twin).fetchall())

    def is_due(self, _batch: int) -> bool:
        """Pairs come at once."""
        return True


class OrderTwin(PairsTwin):
    """Joins whose rows stand in one order of event times, and wait for their place in it."""

    def __init__(self, db: duckdb.DuckDBPyConnection, history: JoinHistory) -> None:
        super().__init__(db, history)
        self._last = len(history.batches) - 1

    def answer(self, query: JoinQuery, batch: int) -> Answer:
        """Give the combinations of rows newer than all that had come at the registration."""
        inputs = query.text.inputs
        newest = "SELECT max(epoch_us(ts)) FROM {}_log WHERE _batch < {}"
        parts = " UNION ALL ".join(
            f"SELECT {number} AS input, _nth, ts FROM {relation}_timely WHERE epoch_us(ts) > "
            f"coalesce(({newest.format(relation, query.begun)}), 0)"
            for number, (_, relation) in enumerate(inputs)
        )
        counts = ", ".join(
            f"count(*) FILTER (input = {number}) OVER o AS count_{number}"
            for number in range(len(inputs))
        )
        self._db.execute(
            "CREATE OR REPLACE TEMP TABLE placed AS SELECT *, row_number() OVER o AS place, "
            f"{counts} FROM ({parts}) "
            "WINDOW o AS (ORDER BY ts, input, _nth ROWS UNBOUNDED PRECEDING)"
        )
        for number, (name, relation) in enumerate(inputs):
            self._db.execute(
                f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT t.*, place, count_{number} "
                f"FROM {relation}_timely t JOIN placed p ON p.input = {number} AND p._nth = t._nth"
            )
        assert batch == self._last
        return Counter(self._db.execute(query.text.twin).fetchall())

    def is_due(self, batch: int) -> bool:
        """Nothing waits any more at the end."""
        return batch == self._last


class SegmentsTwin(PairsTwin):
    """Model queries of one stream: what rows make that have come since, once all had their turn."""

    def __init__(self, db: duckdb.DuckDBPyConnection, history: JoinHistory) -> None:
        super().__init__(db, history)
        self._last = len(history.batches) - 1

    def is_due(self, batch: int) -> bool:
        """Nothing waits any more at the end."""
        return batch == self._last


class LookupTwin:
    """Lookups: each row with the row of its key in the table of the batch that answers it."""

    def __init__(self, db: duckdb.DuckDBPyConnection, history: JoinHistory) -> None:
        self._db, shop = db, history.shop
        assert isinstance(shop, DuckdbShop)
        self._shop = shop
        load_batches(db, history)
        for batch in range(len(history.batches)):
            db.register("given", shop.table(batch))
            of_one = "QUALIFY count(*) OVER (PARTITION BY k) = 1"
            how = "INSERT INTO r_versions" if batch else "CREATE TABLE r_versions AS"
            db.execute(f"{how} SELECT {WITHOUT_NAN}, {batch} AS _version FROM given {of_one}")

    def answer(self, query: JoinQuery, batch: int) -> Answer:
        """Give what rows are answered that have come since the query was registered."""
        answered = " ".join(
            f"WHEN {each} THEN {self._shop.answering(each)}" for each in range(batch + 1)
        )
        self._db.execute(
            f"CREATE OR REPLACE TEMP VIEW l AS SELECT *, CASE _batch {answered} END AS _version "
            f"FROM l_log WHERE _batch BETWEEN {query.begun} AND {batch}; "
            "CREATE OR REPLACE TEMP VIEW r AS FROM r_versions"
        )
        return Counter(self._db.execute(query.text.twin).fetchall())

    def is_due(self, batch: int) -> bool:
        """Rows wait for a database that is away."""
        return self._shop.answering(batch) == batch


def load_batches(db: duckdb.DuckDBPyConnection, history: JoinHistory) -> None:
    """Make the tables `<relation>_log`: all rows with their batch, NaN as NULL."""
    for relation in history.relations:
        if relation.is_asked:
            continue
        parts = [
            table.append_column("_batch", pa.array(np.full(table.num_rows, batch)))
            for batch, tables in enumerate(history.batches)
            if (table := tables.get(relation.name)) is not None
        ]
        empty = relation.schema.append(pa.field("_batch", pa.int64())).empty_table()
        db.register("given", pa.concat_tables([empty, *parts]))
        db.execute(
            f"CREATE TABLE {relation.name}_log AS SELECT row_number() OVER () AS _nth, "
            f"{WITHOUT_NAN} FROM given"
        )
