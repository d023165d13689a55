"""Verification of semantic messages: what somebody who follows them alone would know.

Some ranges are chosen from the recorded rows. Each follows the messages, batch by batch, as an edge
does for its subscribers; after every batch it must have the value that DuckDB computes.
"""

from __future__ import annotations

import duckdb
import pyarrow as pa

from penstock.algebra.range_aggregates import StandingRangeAggregate
from penstock.expressions.connections import connect
from penstock.expressions.quotation import theirs
from penstock.kinds.outcomes import compare, count
from penstock.kinds.protocol import AnswerComparison
from penstock.kinds.range_aggregate.recorded_rows import (
    changing,
    load_rows,
    shown_sql,
    stand,
    values_sql,
)
from penstock.kinds.recorded import load_events, load_matches, sections_of
from penstock.vocabulary.changes import MADE_SIGN

PROBES_MAX = 64
"""Ranges that follow the messages of one subscription."""
INSIDE = (
    "(m.outer_l IS NULL OR m.outer_l < p.lo) AND p.lo <= m.inner_l "
    "AND m.inner_r <= p.hi AND (m.outer_r IS NULL OR p.hi < m.outer_r)"
)
"""Whether a range lies in the rectangle of a message."""


def verify_messages(asked: AnswerComparison) -> None:
    """Compare what ranges learn from messages with DuckDB's values, after every batch."""
    logical: StandingRangeAggregate = asked.logical
    with connect() as db:
        load_rows(db, asked)
        _load_told(db, asked)
        first = asked.parameters["_first"].to_numpy()
        for number, one in enumerate(asked.parameters.to_pylist()):
            _choose_probes(db, logical, one)
            _follow(db, asked, one, _follower(db, logical))
            asked.progress(asked.answer.subscription, number + 1, len(first))


def _load_told(db: duckdb.DuckDBPyConnection, asked: AnswerComparison) -> None:
    """Make the table `told`: messages with _query and _batch."""
    made = asked.logical.shape.made
    places = sections_of(asked.batches, asked.group)
    load_events(db, "made", places, pa.schema([*made, (MADE_SIGN, pa.int8())]))
    load_matches(db, "matches", places)
    names = ", ".join(f"e.{theirs(name)} AS {name}" for name, _ in made)
    db.execute(
        f"CREATE TABLE told AS SELECT m.query AS _query, m._batch, {names} FROM matches AS m "
        "JOIN made AS e ON e._batch = m._batch AND e._part = m._part AND e._row = m.event"
    )


def _choose_probes(
    db: duckdb.DuckDBPyConnection, logical: StandingRangeAggregate, one: dict[str, int]
) -> None:
    """Make the table `p`: ranges between values of rows that there were, in their partitions."""
    shape = logical.shape
    x = theirs(shape.attribute)
    parts = [theirs(name) for name, _ in shape.partition]
    keys = "".join(f", {name} AS p{number}" for number, name in enumerate(parts))
    there = " AND ".join(f"{name} IS NOT NULL" for name in (x, *parts))
    ends = (
        f"SELECT DISTINCT {x} AS x{keys} FROM changes_of_rows WHERE {there} "
        f"ORDER BY hash({x}::VARCHAR{''.join(f' || {name}::VARCHAR' for name in parts)}) LIMIT 16"
    )
    columns = "".join(f", a.p{number}" for number in range(len(parts)))
    same = " AND ".join(f"a.p{n} = b.p{n}" for n in range(len(parts))) or "TRUE"
    db.execute(
        "CREATE OR REPLACE TABLE p AS SELECT row_number() OVER () AS _query, * FROM ("
        f"SELECT DISTINCT a.x AS lo, b.x AS hi{columns} FROM ({ends}) AS a, ({ends}) AS b "
        f"WHERE a.x <= b.x AND {same} ORDER BY hash(a.x::VARCHAR || b.x::VARCHAR) "
        f"LIMIT {PROBES_MAX})"
    )
    db.execute(f"ALTER TABLE p ADD COLUMN _first BIGINT DEFAULT {one['_first']}")


def _follow(
    db: duckdb.DuckDBPyConnection, asked: AnswerComparison, one: dict[str, int], follower: _Follower
) -> None:
    logical: StandingRangeAggregate = asked.logical
    shape = logical.shape
    equal = "".join(f" AND e.{theirs(n)} = p.p{i}" for i, (n, _) in enumerate(shape.partition))
    where = f"e.{theirs(shape.attribute)} BETWEEN p.lo AND p.hi{equal} AND {logical.condition_sql}"
    stand(db, asked, one["_first"] - 1)
    follower.begin(where, told=not logical.snapshot)
    noticed = {one["_first"], *changing(db)}
    for batch in range(one["_first"], min(one["_last"], len(asked.batches))):
        if batch not in noticed:
            continue
        follower.take(one["_query"], batch)
        stand(db, asked, batch)
        value = theirs(shape.measures[0].name)
        values = values_sql(logical, where, "FROM p")
        db.execute(
            f"CREATE OR REPLACE TABLE expected AS SELECT lo, hi, {batch} AS batch, "
            f"{value} AS value FROM ({values}) JOIN p USING (_query)"
        )
        db.execute(
            f"CREATE OR REPLACE TABLE found AS SELECT lo, hi, {batch} AS batch, "
            f"{shown_sql(shape.measures[0], 'value')} AS value FROM ({follower.values}) JOIN p "
            "USING (_query)"
        )
        for table in ("expected", "found"):
            own = count(db, f"SELECT count(*) FROM {table}")
            setattr(asked.answer, table, getattr(asked.answer, table) + own)
        compare(db, asked.answer, "FROM {kind}")


class _Follower:
    """Follows messages in a table `held`: what each range knows."""

    values = "SELECT _query, value FROM held"

    def __init__(self, db: duckdb.DuckDBPyConnection, logical: StandingRangeAggregate) -> None:
        self._db, self._logical = db, logical
        parts = logical.shape.partition
        self._same = "".join(f" AND m.p{number} = p.p{number}" for number in range(len(parts)))

    def begin(self, where: str, *, told: bool) -> None:
        """Know what there was before, or nothing: then messages will say it."""
        raise NotImplementedError

    def take(self, query: int, batch: int) -> None:
        """Take the messages of a batch."""
        raise NotImplementedError


class _Rectangles(_Follower):
    """Takes the value of the rectangle that a range lies in."""

    def begin(self, where: str, *, told: bool) -> None:
        name = theirs(self._logical.shape.measures[0].name)
        values = values_sql(self._logical, where, "FROM p")
        value = name if told else f"CASE WHEN FALSE THEN {name} END"
        self._db.execute(
            f"CREATE OR REPLACE TABLE held AS SELECT _query, {value} AS value FROM ({values})"
        )

    def take(self, query: int, batch: int) -> None:
        value = f'm."{self._logical.shape.measures[0].function}"'
        self._db.execute(
            f"CREATE OR REPLACE TABLE came AS SELECT p._query, {value} AS value FROM told AS m "
            f"JOIN p ON m._query = {query} AND m._batch = {batch}{self._same} AND {INSIDE}"
        )
        # A range that two rectangles of one batch hold would be there twice from now on.
        self._db.execute("DELETE FROM held WHERE _query IN (SELECT _query FROM came)")
        self._db.execute("INSERT INTO held FROM came")


class _Sets(_Follower):
    """Gains and loses values."""

    values = (
        "SELECT p._query, count(held.value) AS value FROM p LEFT JOIN held USING (_query) "
        "GROUP BY p._query"
    )

    def begin(self, where: str, *, told: bool) -> None:
        column = theirs(str(self._logical.shape.measures[0].column))
        on = f"({where}) AND e.{column} IS NOT NULL"
        self._db.execute(
            f"CREATE OR REPLACE TABLE held AS SELECT DISTINCT p._query, e.{column} AS value "
            f"FROM p JOIN standing AS e ON {on if told else 'FALSE'}"
        )

    def take(self, query: int, batch: int) -> None:
        came = (
            f"SELECT p._query, m.value FROM told AS m JOIN p ON m._query = {query} "
            f"AND m._batch = {batch}{self._same} AND {INSIDE}"
        )
        # A value that is gained twice counts twice, and so is one that is lost and was not there.
        self._db.execute(
            f"CREATE OR REPLACE TABLE held AS (FROM held EXCEPT ALL ({came} AND m.op = 'lose')) "
            f"UNION ALL ({came} AND m.op = 'gain')"
        )


class _Sums(_Follower):
    """Adds what comes into a range and takes away what goes."""

    def __init__(self, db: duckdb.DuckDBPyConnection, logical: StandingRangeAggregate) -> None:
        super().__init__(db, logical)
        measure = logical.shape.measures[0]
        self._adds = measure.function != "count"
        whole = measure.type == pa.int64()
        total = "CASE WHEN n > 0 THEN total END"
        self.values = {
            "count": "SELECT _query, n AS value FROM held",
            "sum": f"SELECT _query, {f'TRY_CAST({total} AS BIGINT)' if whole else total} AS value "
            "FROM held",
            "avg": "SELECT _query, CASE WHEN n > 0 THEN total::DOUBLE / n END AS value FROM held",
        }[measure.function]

    def begin(self, where: str, *, told: bool) -> None:
        measure = self._logical.shape.measures[0]
        column = None if measure.column is None else f"e.{theirs(measure.column)}"
        total = f"sum({column})" if self._adds else "0"
        on = f"({where})" if told else "FALSE"
        self._db.execute(
            f"CREATE OR REPLACE TABLE held AS SELECT p._query, count({column or 'e._batch'}) AS n, "
            f"coalesce({total}, 0) AS total FROM p LEFT JOIN standing AS e ON {on} "
            "GROUP BY p._query"
        )

    def take(self, query: int, batch: int) -> None:
        inside = {
            side: f"(m.x_{side} IS NOT NULL AND m.x_{side} BETWEEN p.lo AND p.hi)::INTEGER"
            for side in ("old", "new")
        }
        came = " - ".join(
            f"coalesce({'m.y_' + side if self._adds else '0'}, 0) * {inside[side]}"
            for side in ("new", "old")
        )
        self._db.execute(
            "CREATE OR REPLACE TABLE came AS SELECT p._query, "
            f"sum({inside['new']} - {inside['old']}) AS n, sum({came}) AS total "
            f"FROM told AS m JOIN p ON m._query = {query} AND m._batch = {batch}{self._same} "
            "GROUP BY p._query"
        )
        self._db.execute(
            "CREATE OR REPLACE TABLE held AS SELECT _query, held.n + coalesce(came.n, 0) AS n, "
            "held.total + coalesce(came.total, 0) AS total FROM held LEFT JOIN came USING (_query)"
        )


def _follower(db: duckdb.DuckDBPyConnection, logical: StandingRangeAggregate) -> _Follower:
    """Give who follows the messages of a measure."""
    measure = logical.shape.measures[0]
    if measure.is_set:
        return _Sets(db, logical)
    return _Rectangles(db, logical) if measure.is_extreme else _Sums(db, logical)
