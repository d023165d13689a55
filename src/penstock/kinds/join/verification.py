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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import duckdb
import pyarrow as pa

from penstock.algebra.catalog import Catalog, Relation
from penstock.algebra.inputs import JoinInput
from penstock.algebra.joins import SIDES, StandingJoin
from penstock.delivery.log import LoggedBatch
from penstock.expressions.connections import connect
from penstock.expressions.quotation import theirs
from penstock.kinds.outcomes import (
    Chunk,
    Place,
    SubscriptionOutcome,
    compare_changes,
    count,
    parameter_columns,
    settle,
    summed,
    without_nan,
)
from penstock.kinds.recorded import load_found, made_sql
from penstock.kinds.table_verification import changes_sql, load_changes, sections_of
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
        for letter, side in zip(SIDES, logical.inputs, strict=True):
            relation = catalog[side.relation.lower()]
            load_changes(db, relation, sections_of(batches, side.relation))
            lates[side.relation] = _load_side(db, letter, side, relation, begun)
        answer.late = max(answer.late, sum(lates.values()))
        _refuse_too_much(db, logical, parameters.num_rows)
        pairs = {} if logical.keys else _pairs_by_batch(db)
        chunks = list(_chunks(batches, group, pairs))
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


def _chunks(batches: list[LoggedBatch], group: str, pairs: Mapping[int, int]) -> Iterator[Chunk]:
    """Split the log where the results, or the pairs that DuckDB looks at, grow many."""
    places: list[Place] = []
    first = results = looked_at = 0
    for batch in batches:
        for part, section in enumerate(batch.sections):
            if section.relation == group:
                places.append((batch.batch, part, section.path))
        results += batch.matches
        looked_at += pairs.get(batch.batch, 0)
        if results >= RESULTS_PER_CHUNK or looked_at >= PAIRS_PER_CHUNK:
            yield Chunk(first, batch.batch + 1, places)
            first, places, results, looked_at = batch.batch + 1, [], 0, 0
    if batches and first <= batches[-1].batch:
        yield Chunk(first, batches[-1].batch + 1, places)


def _pairs_by_batch(db: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """Count the pairs of rows whose newer one came in each batch."""
    both = "SELECT _batch, 1 AS _l, 0 AS _r FROM l UNION ALL SELECT _batch, 0, 1 FROM r"
    rows = db.execute(
        f"SELECT _batch, sum(_l), sum(_r) FROM ({both}) GROUP BY _batch ORDER BY _batch"
    ).fetchall()
    found: dict[int, int] = {}
    left = right = 0
    for batch, new_left, new_right in rows:
        found[batch] = new_left * (right + new_right) + left * new_right
        left, right = left + new_left, right + new_right
    return found


def _load_side(
    db: duckdb.DuckDBPyConnection, letter: str, side: JoinInput, relation: Relation, begun: int
) -> int:
    """Make the table l or r: the changes that count, with _batch, _at (a number) and _sign.

    Gives how many rows of a stream come too late.
    """
    columns = ", ".join(without_nan(name, type_) for name, type_ in side.columns)
    if side.change_column is None:
        counting = f"SELECT *, 1 AS _sign FROM ({_in_time(side)})"
    else:
        counting = f"SELECT *, row_number() OVER () AS _at FROM ({changes_sql(relation)})"
    db.execute(f"CREATE TABLE {letter} AS SELECT _batch, _at, _sign, {columns} FROM ({counting})")
    if side.change_column is not None:
        return 0
    since = f"WHERE _batch >= {begun}"
    came, counted = (count(db, f"SELECT count(*) FROM {t} {since}") for t in ("changes", letter))
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
        on = " AND ".join(f"l.{theirs(a)} = r.{theirs(b)}" for a, b in logical.keys)
        by_key = (
            f"(SELECT {', '.join(f'{letter}.{theirs(pair[place])}' for pair in logical.keys)}, "
            f"count(*) AS _number FROM {letter} GROUP BY ALL) AS {letter}"
            for place, letter in enumerate(SIDES)
        )
        pairs = count(db, f"SELECT sum(l._number * r._number) FROM {' JOIN '.join(by_key)} ON {on}")
        too_much = pairs * queries > COMPARISONS_MAX
    else:
        pairs = count(db, "SELECT (SELECT count(*) FROM l) * (SELECT count(*) FROM r)")
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
    db.execute(f"CREATE OR REPLACE TABLE expected AS {expected(logical, chunk)}")
    load_found(db, chunk.places, logical.made)
    compare_changes(db, answer)


def _since(logical: StandingJoin) -> str:
    """Say that rows of streams came since the query was registered."""
    streams = [
        f" AND {letter}._batch >= p._first"
        for letter, side in zip(SIDES, logical.inputs, strict=True)
        if side.change_column is None
    ]
    return "".join(streams)


def _expected_rows(logical: StandingJoin, chunk: Chunk) -> str:
    first, last = chunk.first, chunk.last
    new = f"(SELECT * FROM {{}} WHERE _batch >= {first} AND _batch < {last})"
    old = "(SELECT * FROM {} WHERE _batch < {})"
    pairs = [
        f"{new.format('l')} AS l, {old.format('r', last)} AS r",
        f"{old.format('l', first)} AS l, {new.format('r')} AS r",
    ]
    batch = "greatest(l._batch, r._batch)"
    if logical.snapshot:
        # What the tables held before comes with the query's first batch.
        pairs.append(f"{old.format('l', first)} AS l, {old.format('r', first)} AS r")
        batch = "greatest(l._batch, r._batch, p._first)"
    both = " UNION ALL ".join(
        f"SELECT p._query, {batch} AS _batch, {made_sql(SIDES, logical.inputs)}, "
        f"l._sign * r._sign AS _sign FROM {sides}, p "
        f"WHERE {batch} >= greatest(p._first, {first}) "
        f"AND {batch} < least(p._last, {last}){_since(logical)} AND ({logical.where_sql})"
        for sides in pairs
    )
    return summed(both)


def _expected_triggers(logical: StandingJoin, chunk: Chunk) -> str:
    halves = []
    for own, other, earlier in (("l", "r", "<"), ("r", "l", "<=")):
        affected = (
            f"SELECT p._query, {own}._at AS _at FROM {own}, {other}, p "
            f"WHERE {own}._batch >= {chunk.first} AND {own}._batch < {chunk.last} "
            f"AND {own}._batch >= p._first AND {own}._batch < p._last "
            f"AND {other}._batch {earlier} {own}._batch{_since(logical)} "
            f"AND ({logical.where_sql}) GROUP BY ALL HAVING sum({other}._sign) > 0"
        )
        halves.append(
            f"SELECT a._query, {own}._batch AS _batch, {made_sql(SIDES, logical.inputs, [own])}, "
            f"{own}._sign AS _sign FROM ({affected}) AS a JOIN {own} USING (_at)"
        )
    return summed(" UNION ALL ".join(halves))
