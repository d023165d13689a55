"""Verification of joins: what the changes of two relations did to every answer, batch by batch.

The rules, in DuckDB's words:

- A table's rows change with every batch as `penstock.kinds.table_verification` says.
- A row of a stream that comes later than the stream's lateness allows is left out, and a query
  meets only rows of a stream that came since it was registered.
- A query WITH SNAPSHOT is told in its first batch what the rows before it make.
- Mode full: in batch k a query's answer changes by the pairs whose newer row came in batch k, each
  with the product of the two signs. So much must the log's signs add up to, for every batch, query
  and pair of rows.
- Mode identify: a change of the left side affects a query if right rows of earlier batches match
  it; one of the right side, if left rows of batches up to its own do. Its sign is its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa

from penstock.algebra.catalog import Catalog, Relation
from penstock.algebra.inputs import JoinInput, made_columns
from penstock.algebra.joins import StandingJoin
from penstock.delivery.log import LoggedBatch
from penstock.expressions.connections import connect
from penstock.expressions.quotation import theirs
from penstock.kinds.outcomes import (
    Chunk,
    SubscriptionOutcome,
    compare_changes,
    count,
    parameter_columns,
    settle,
    summed,
    without_nan,
)
from penstock.kinds.recorded import chunks_of, load_found, made_sql, sections_of
from penstock.kinds.table_verification import changes_sql, load_changes
from penstock.vocabulary.errors import PenstockError

RESULTS_PER_CHUNK = 500_000
PAIRS_PER_CHUNK = 10_000_000
QUERIES_PER_SLICE = 10_000
COMPARISONS_MAX = 10**12
"""Of pairs with equal keys, times queries: DuckDB looks at the ranges of one side first."""
PAIRS_MAX = 2 * 10**8
"""Of a join without a key: DuckDB computes the difference of every pair, in some minutes."""


def verify_join(
    answer: SubscriptionOutcome,
    catalog: Catalog,
    group: str,
    begun: int,
    logical: StandingJoin,
    parameters: pa.Table,
    batches: list[LoggedBatch],
    progress: Callable[[str, int, int], None],
) -> None:
    """Compare the log of one text with DuckDB; its group came to be with the batch `begun`."""
    answer.net = True
    lates: dict[str, int] = {}
    slices = range(0, parameters.num_rows, QUERIES_PER_SLICE)
    done = 0
    with (
        tempfile.TemporaryDirectory(prefix="penstock-verify-") as scratch,
        connect(Path(scratch) / "verify.duckdb") as db,
    ):
        settle(db, logical.where_sql)
        for number, side in enumerate(logical.inputs):
            relation = catalog[side.relation.lower()]
            load_changes(db, relation, sections_of(batches, side.relation))
            lates[side.relation] = _load_side(db, number, side, relation, begun)
        answer.late = max(answer.late, sum(lates.values()))
        _refuse_too_much(db, logical, parameters.num_rows)
        pairs = {} if logical.keys else _pairs_by_batch(db)
        chunks = list(
            chunks_of(
                batches,
                group,
                lambda each: (
                    each.matches / RESULTS_PER_CHUNK + pairs.get(each.batch, 0) / PAIRS_PER_CHUNK
                ),
            )
        )
        for start in slices:
            db.register("given", parameters.slice(start, QUERIES_PER_SLICE))
            db.execute(
                f"CREATE OR REPLACE TABLE p AS SELECT {parameter_columns(parameters.schema)} "
                "FROM given"
            )
            for chunk in chunks:
                _compare(db, answer, logical, chunk)
                done += 1
                progress(answer.subscription, done, len(slices) * len(chunks))


def _pairs_by_batch(db: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """Count the pairs of rows whose newer one came in each batch."""
    both = "SELECT _batch, 1 AS _0, 0 AS _1 FROM i0 UNION ALL SELECT _batch, 0, 1 FROM i1"
    rows = db.execute(
        f"SELECT _batch, sum(_0), sum(_1) FROM ({both}) GROUP BY _batch ORDER BY _batch"
    ).fetchall()
    found: dict[int, int] = {}
    left = right = 0
    for batch, new_left, new_right in rows:
        found[batch] = new_left * (right + new_right) + left * new_right
        left, right = left + new_left, right + new_right
    return found


def _load_side(
    db: duckdb.DuckDBPyConnection, number: int, side: JoinInput, relation: Relation, begun: int
) -> int:
    """Make the table i0 or i1: the changes that count, with _batch, _at (a number) and _sign.

    Gives how many rows of a stream come too late.
    """
    columns = ", ".join(without_nan(name, type_) for name, type_ in side.columns)
    if side.change_column is None:
        counting = f"SELECT *, 1 AS _sign FROM ({_in_time(side)})"
    else:
        counting = f"SELECT *, row_number() OVER () AS _at FROM ({changes_sql(relation)})"
    db.execute(f"CREATE TABLE i{number} AS SELECT _batch, _at, _sign, {columns} FROM ({counting})")
    if side.change_column is not None:
        return 0
    since = f"WHERE _batch >= {begun}"
    came, counted = (
        count(db, f"SELECT count(*) FROM {t} {since}") for t in ("changes", f"i{number}")
    )
    return came - counted


def _in_time(side: JoinInput) -> str:
    """Leave out rows that come too late: behind the newest of the batches before, less lateness."""
    if side.event_time is None:
        return "FROM changes"
    time = f"epoch_us({theirs(side.event_time)})"
    return f"""
        WITH ends AS (
            SELECT _batch, max({time}) AS _end FROM changes GROUP BY ALL
        ), newest AS (
            SELECT _batch, max(_end) OVER (
                ORDER BY _batch ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS _newest FROM ends
        )
        SELECT changes.* FROM changes JOIN newest USING (_batch)
        WHERE coalesce({time} >= _newest - {side.lateness_us}, TRUE)
    """


def _refuse_too_much(db: duckdb.DuckDBPyConnection, logical: StandingJoin, queries: int) -> None:
    """Refuse what DuckDB would not finish: it compares pair by pair and query by query."""
    if logical.keys:
        on = " AND ".join(f"i0.{theirs(a)} = i1.{theirs(b)}" for a, b in logical.keys)
        by_key = (
            f"(SELECT {', '.join(theirs(pair[number]) for pair in logical.keys)}, "
            f"count(*) AS _number FROM i{number} GROUP BY ALL) AS i{number}"
            for number in range(2)
        )
        pairs = count(
            db, f"SELECT sum(i0._number * i1._number) FROM {' JOIN '.join(by_key)} ON {on}"
        )
        too_much = pairs * queries > COMPARISONS_MAX
    else:
        pairs = count(db, "SELECT (SELECT count(*) FROM i0) * (SELECT count(*) FROM i1)")
        too_much = pairs > PAIRS_MAX
    if too_much:
        raise PenstockError(
            "VER-003",
            f"DuckDB would have to compare {pairs:,} pairs of rows with {queries:,} queries.",
            "Verify a shorter run, or one with fewer standing queries.",
        )


def _compare(
    db: duckdb.DuckDBPyConnection, answer: SubscriptionOutcome, logical: StandingJoin, chunk: Chunk
) -> None:
    expected = _expected_rows if logical.mode == "full" else _expected_triggers
    made = made_columns(logical.inputs)
    asked = expected(logical, [name for name, _ in made], chunk)
    db.execute(f"CREATE OR REPLACE TABLE expected AS {asked}")
    load_found(db, chunk.places, made)
    compare_changes(db, answer)


def _since(logical: StandingJoin) -> str:
    """Say that rows of streams came since the query was registered."""
    streams = [
        f" AND i{number}._batch >= p._first"
        for number, side in enumerate(logical.inputs)
        if side.change_column is None
    ]
    return "".join(streams)


def _expected_rows(logical: StandingJoin, made: list[str], chunk: Chunk) -> str:
    first, last = chunk.first, chunk.last
    new = f"(SELECT * FROM {{}} WHERE _batch >= {first} AND _batch < {last})"
    old = "(SELECT * FROM {} WHERE _batch < {})"
    pairs = [
        f"{new.format('i0')} AS i0, {old.format('i1', last)} AS i1",
        f"{old.format('i0', first)} AS i0, {new.format('i1')} AS i1",
    ]
    batch = "greatest(i0._batch, i1._batch)"
    if logical.snapshot:
        # What the tables held before comes with the query's first batch.
        pairs.append(f"{old.format('i0', first)} AS i0, {old.format('i1', first)} AS i1")
        batch = "greatest(i0._batch, i1._batch, p._first)"
    both = " UNION ALL ".join(
        f"SELECT p._query, {batch} AS _batch, {made_sql(made)}, "
        f"i0._sign * i1._sign AS _sign FROM {sides}, p "
        f"WHERE {batch} >= greatest(p._first, {first}) "
        f"AND {batch} < least(p._last, {last}){_since(logical)} AND ({logical.where_sql})"
        for sides in pairs
    )
    return summed(both)


def _expected_triggers(logical: StandingJoin, made: list[str], chunk: Chunk) -> str:
    halves = []
    for number, earlier in enumerate(("<", "<=")):
        own, other = f"i{number}", f"i{1 - number}"
        affected = (
            f"SELECT p._query, {own}._at AS _at FROM {own}, {other}, p "
            f"WHERE {own}._batch >= {chunk.first} AND {own}._batch < {chunk.last} "
            f"AND {own}._batch >= p._first AND {own}._batch < p._last "
            f"AND {other}._batch {earlier} {own}._batch{_since(logical)} "
            f"AND ({logical.where_sql}) GROUP BY ALL HAVING sum({other}._sign) > 0"
        )
        halves.append(
            f"SELECT a._query, {own}._batch AS _batch, {made_sql(made, [number])}, "
            f"{own}._sign AS _sign FROM ({affected}) AS a JOIN {own} USING (_at)"
        )
    return summed(" UNION ALL ".join(halves))
