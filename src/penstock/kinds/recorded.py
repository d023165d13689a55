"""Recorded files as verification reads them: through Arrow, never by DuckDB's reader of Parquet.

DuckDB trusts the statistics of row groups, and those leave NaN out: where NaN stands beside numbers
it takes `isnan` for false and reads nothing as NULL. A column called `filename` would be in its way
as well.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.inputs import place_of
from penstock.delivery.log import LoggedBatch
from penstock.delivery.parts import kept_section
from penstock.expressions.connections import UNSOUND, connect
from penstock.expressions.quotation import quoted, theirs, with_dots
from penstock.kinds.outcomes import Chunk, Place, count, summed, without_nan
from penstock.registry.store import Registry
from penstock.vocabulary.broken import sound_rows
from penstock.vocabulary.changes import sign_beside

ROWS_PER_INSERT = 200_000
ROWS_SHELVED = 1_000_000
SHELVED = "shelved_"

MATCHES = pa.schema([("query", pa.int64()), ("event", pa.int32())])


class RecordedShelf:
    """A database in which loaded files stay for the next text that asks for them.

    Of many texts over the same rows, loading these would be most of the work. At most
    `ROWS_SHELVED` rows stay; those go first that were asked for longest ago.
    """

    def __init__(self) -> None:
        self._db = connect()
        self._held: dict[tuple[Any, ...], tuple[str, int]] = {}
        self._number = 0

    @contextmanager
    def opened(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give the database for one text; what it makes there is gone afterwards."""
        try:
            yield self._db
        finally:
            self._tidy()

    def events(self, places: Sequence[Place], schema: pa.Schema, with_broken: bool = False) -> str:
        """Name a table as `load_events` makes it."""
        columns = tuple((own.name, str(own.type)) for own in schema)
        key = ("events", _files(places), columns, with_broken)
        return self._table(
            key, lambda name: load_events(self._db, name, places, schema, with_broken)
        )

    def matches(self, places: Sequence[Place]) -> str:
        """Name a table as `load_matches` makes it."""
        key = ("matches", _files(places))
        return self._table(key, lambda name: load_matches(self._db, name, places))

    def renew(self) -> None:
        """Begin anew: a database that has failed may be of no use."""
        self.close()
        self._db, self._held = connect(), {}

    def close(self) -> None:
        """Let go of everything."""
        self._db.close()

    def _table(self, key: tuple[Any, ...], load: Callable[[str], None]) -> str:
        if key not in self._held:
            self._number += 1
            name = f"{SHELVED}{self._number}"
            load(name)
            self._held[key] = name, count(self._db, f"SELECT count(*) FROM {name}")
        # The one that was asked for last is the last to go.
        self._held[key] = self._held.pop(key)
        return self._held[key][0]

    def _tidy(self) -> None:
        with suppress(duckdb.Error):
            self._db.execute(f"SET disabled_optimizers = '{UNSOUND}'")
            views = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
            for (name,) in self._db.execute(views).fetchall():
                self._db.unregister(name)
            while self._held and sum(rows for _, rows in self._held.values()) > ROWS_SHELVED:
                del self._held[next(iter(self._held))]
            kept = {name for name, _ in self._held.values()}
            for (name,) in self._db.execute("SELECT table_name FROM duckdb_tables()").fetchall():
                if name not in kept:
                    self._db.execute(f"DROP TABLE {quoted(name)}")


def _files(places: Sequence[Place]) -> tuple[Any, ...]:
    return tuple((batch, part, section.path) for batch, part, section in places)


def load_events(
    db: duckdb.DuckDBPyConnection,
    table: str,
    places: Sequence[Place],
    schema: pa.Schema,
    with_broken: bool = False,
) -> None:
    """Make a table of recorded events: _batch, _part, _row, then the columns, with dots.

    Lines that do not parse are no rows but for who asks for them.
    """
    _load(db, table, places, "events", schema, with_broken)


def load_matches(db: duckdb.DuckDBPyConnection, table: str, places: Sequence[Place]) -> None:
    """Make a table of pairs: _batch, _part, _row, query, event."""
    _load(db, table, places, "matches", MATCHES, with_broken=True)


def made_sql(made: Iterable[str], shown: Container[int] | None = None) -> str:
    """List the columns of joined rows as the log names them; NULL for inputs that are not shown.

    >>> made_sql(["i0.x", "i1.x"], [1])
    'NULL AS ".i0.x", i1.".x" AS ".i1.x"'
    """
    return ", ".join(
        f"{f'i{number}.{theirs(column)}' if shown is None or number in shown else 'NULL'} "
        f"AS {theirs(name)}"
        for name, (number, column) in ((name, place_of(name)) for name in made)
    )


def began(registry: Registry, group: str) -> int:
    """Find the version in which a group came to be."""
    blocks = (block for name in registry.names() for _, block in registry.history(name))
    return min(block.version for block in blocks if block.record.group == group)


def sections_of(batches: Iterable[LoggedBatch], relation: str) -> list[Place]:
    """List the sections of a relation: as its source brought it, or as a query kept it."""
    names = {relation, kept_section(relation)}
    return [
        (batch.batch, part, section)
        for batch in batches
        for part, section in enumerate(batch.sections)
        if section.relation in names
    ]


def chunks_of(
    batches: Sequence[LoggedBatch], relation: str, weight: Callable[[LoggedBatch], float]
) -> Iterator[Chunk]:
    """Split the log where batches together weigh 1 or more."""
    first, load = 0, 0.0
    for batch in batches:
        load += weight(batch)
        if load >= 1 or batch is batches[-1]:
            inside = batches[first : batch.batch + 1]
            yield Chunk(first, batch.batch + 1, sections_of(inside, relation))
            first, load = batch.batch + 1, 0.0


def load_found(
    db: duckdb.DuckDBPyConnection,
    places: list[Place],
    columns: Sequence[tuple[str, pa.DataType]],
    sign: str | None = None,
) -> None:
    """Make the table `found`: the made rows that the log has for the queries in `p`.

    Their sign is in a column of its own, or is said by the SQL `sign`.
    """
    if not places:
        db.execute("CREATE OR REPLACE TABLE found AS FROM expected LIMIT 0")
        return
    own_sign = sign_beside(name for name, _ in columns)
    signs = [(own_sign, pa.int8())] if sign is None else []
    load_events(db, "made", places, pa.schema([*columns, *signs]))
    load_matches(db, "matches", places)
    shown = ", ".join(without_nan(name, type_) for name, type_ in columns)
    logged = (
        f"SELECT query AS _query, m._batch AS _batch, {shown}, "
        f"{sign or theirs(own_sign)} AS _sign FROM matches AS m "
        "SEMI JOIN p ON p._query = m.query JOIN made AS e "
        "ON e._batch = m._batch AND e._part = m._part AND e._row = m.event"
    )
    db.execute(f"CREATE OR REPLACE TABLE found AS {summed(logged)}")


def _load(
    db: duckdb.DuckDBPyConnection,
    table: str,
    places: Sequence[Place],
    suffix: str,
    schema: pa.Schema,
    with_broken: bool,
) -> None:
    listed = [theirs(name) for name in schema.names] if suffix == "events" else schema.names
    names = ", ".join(["_batch", "_part", "_row", *listed])
    db.register("recorded", _placed(schema.empty_table(), suffix, 0, 0))
    db.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT {names} FROM recorded")
    for read in _gathered(_read(place, suffix, schema, with_broken) for place in places):
        db.register("recorded", read)
        db.execute(f"INSERT INTO {table} SELECT {names} FROM recorded")
    db.unregister("recorded")


def _read(place: Place, suffix: str, schema: pa.Schema, with_broken: bool) -> pa.Table:
    batch, part, section = place
    table = section.events() if suffix == "events" else section.matches()
    table = table.select(schema.names).cast(schema)
    sound = None if with_broken else sound_rows(table)
    placed = _placed(table, suffix, batch, part)
    return placed if sound is None else placed.filter(sound)


def _placed(table: pa.Table, suffix: str, batch: int, part: int) -> pa.Table:
    rows = table.num_rows
    table = with_dots(table) if suffix == "events" else table
    for name, values in (
        ("_row", np.arange(rows, dtype=np.int64)),
        ("_part", np.full(rows, part, dtype=np.int64)),
        ("_batch", np.full(rows, batch, dtype=np.int64)),
    ):
        table = table.add_column(0, name, pa.array(values))
    return table


def _gathered(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Gather small tables: a statement for each would take longer than its rows."""
    gathered: list[pa.Table] = []
    rows = 0
    for table in tables:
        gathered.append(table)
        rows += table.num_rows
        if rows >= ROWS_PER_INSERT:
            yield pa.concat_tables(gathered)
            gathered, rows = [], 0
    if gathered:
        yield pa.concat_tables(gathered)
