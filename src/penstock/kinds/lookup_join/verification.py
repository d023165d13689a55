"""Verification of lookups: the other database's table as it is now, against the log.

Rows that still wait for the database have no answer yet.
"""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.inputs import JoinInput, made_columns
from penstock.algebra.lookups import LookupJoin
from penstock.expressions.connections import connect
from penstock.expressions.quotation import dotted, theirs, with_dots
from penstock.kinds.arrivals import rows_of
from penstock.kinds.crossed_verification import history_of
from penstock.kinds.outcomes import (
    Place,
    SubscriptionOutcome,
    compare,
    count,
    parameter_columns,
    settle,
    without_nan,
)
from penstock.kinds.protocol import AnswerComparison
from penstock.kinds.recorded import load_found, made_sql, sections_of
from penstock.kinds.told import Told
from penstock.operators.lookup import rows as looked_up_rows

QUERIES_PER_SLICE = 10_000


def verify_lookup(asked: AnswerComparison) -> None:
    """Compare the log of one text with the other database's table, as it is now."""
    logical: LookupJoin = asked.logical
    answer, batches, parameters = asked.answer, asked.batches, asked.parameters
    begun, _ = history_of(asked.registry, asked.group, asked.versions)
    stream = logical.inputs[1 - logical.looked_up]
    table = logical.inputs[logical.looked_up]
    rows, batch = rows_of(
        batches, stream.relation, asked.registry.catalog[stream.relation.lower()].schema
    )
    rows, batch = rows.filter(pa.array(batch >= begun)), batch[batch >= begun]
    kept = looked_up_rows(
        logical.lookup,
        pa.schema(list(table.columns)),
        pc.unique(rows[dotted(logical.stream_key)].combine_chunks().drop_null()),
    )
    places = sections_of(batches, asked.group)
    told = Told(asked.log, len(batches), asked.group)
    answer.waiting += int(told.waiting[-1]) if len(batches) else 0
    came = rows.append_column("_batch", pa.array(batch))
    came = came.append_column("_settled", pa.array(told.settled(batch)))
    with connect() as db:
        settle(db, logical.where_sql)
        _load(db, 1 - logical.looked_up, stream, came)
        _load(db, logical.looked_up, table, with_dots(kept))
        slices = range(0, parameters.num_rows, QUERIES_PER_SLICE)
        for done, start in enumerate(slices):
            db.register("given", parameters.slice(start, QUERIES_PER_SLICE))
            columns = parameter_columns(parameters.schema)
            db.execute(f"CREATE OR REPLACE TABLE p AS SELECT {columns} FROM given")
            _compare(db, answer, logical, places)
            asked.progress(answer.subscription, done + 1, len(slices))


def _load(db: duckdb.DuckDBPyConnection, number: int, each: JoinInput, rows: pa.Table) -> None:
    db.register("rows", rows)
    own = [without_nan(name, type_) for name, type_ in each.columns]
    found = [name for name in ("_batch", "_settled") if name in rows.column_names]
    db.execute(f"CREATE TABLE i{number} AS SELECT {', '.join([*own, *found])} FROM rows")
    db.unregister("rows")


def _compare(
    db: duckdb.DuckDBPyConnection,
    answer: SubscriptionOutcome,
    logical: LookupJoin,
    places: list[Place],
) -> None:
    """Note how the log differs from what a table of now says.

    In which batch a row is answered depends on when the database did, so batches are not compared.
    A row that waits, or waited until a query was gone, may have no answer.
    """
    came = f"i{1 - logical.looked_up}"
    made = made_columns(logical.inputs)
    columns = made_sql(name for name, _ in made)
    names = ", ".join(["_query", *(theirs(name) for name, _ in made)])
    db.execute(
        f"CREATE OR REPLACE TABLE expected AS SELECT p._query, {came}._batch AS _batch, {columns}, "
        f"1 AS _sign, {came}._settled >= p._last AS _may FROM i0, i1, p "
        f"WHERE ({logical.where_sql}) AND {came}._batch >= p._first AND {came}._batch < p._last"
    )
    load_found(db, places, made)
    db.execute(
        f"CREATE OR REPLACE TABLE must AS SELECT {names} FROM expected WHERE NOT _may; "
        f"CREATE OR REPLACE TABLE may AS SELECT {names} FROM expected WHERE _may; "
        "CREATE OR REPLACE TABLE answered AS "
        f"SELECT {names} FROM (SELECT *, unnest(system.main.range(_sign)) FROM found); "
        "CREATE OR REPLACE TABLE found AS FROM answered; "
        "CREATE OR REPLACE TABLE expected AS FROM must UNION ALL "
        "((FROM answered EXCEPT ALL FROM must) INTERSECT ALL FROM may)"
    )
    for table in ("expected", "found"):
        rows = count(db, f"SELECT count(*) FROM {table}")
        setattr(answer, table, getattr(answer, table) + rows)
    compare(db, answer, "FROM {kind}")
