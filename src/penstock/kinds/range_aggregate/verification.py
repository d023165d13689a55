"""Verification of range aggregates: the value of every query after every batch, asked of DuckDB.

A query whose value differs after a batch from that before it is told both, once. One that was told
what it found, WITH SNAPSHOT, was told so in its first batch.
"""

from __future__ import annotations

import duckdb

from penstock.algebra.range_aggregates import StandingRangeAggregate
from penstock.expressions.connections import connect
from penstock.expressions.quotation import theirs
from penstock.kinds.outcomes import compare_changes, parameter_columns, settle, summed
from penstock.kinds.protocol import AnswerComparison
from penstock.kinds.range_aggregate.recorded_rows import (
    changing,
    load_rows,
    shown_sql,
    stand,
    values_sql,
)
from penstock.kinds.recorded import load_found, sections_of


def verify_values(asked: AnswerComparison) -> None:
    """Compare the changes that queries were told with those of DuckDB's values."""
    logical: StandingRangeAggregate = asked.logical
    asked.answer.net = True
    with connect() as db:
        settle(db, logical.where_sql)
        load_rows(db, asked)
        db.register("given", asked.parameters)
        columns = parameter_columns(asked.parameters.schema)
        db.execute(f"CREATE TABLE p AS SELECT {columns} FROM given")
        _make_expected(db, asked)
        load_found(db, sections_of(asked.batches, asked.group), logical.shape.made)
        names = [
            f"{shown_sql(each, theirs(each.name))} AS {theirs(each.name)}"
            for each in logical.shape.measures
        ]
        rounded = summed(f"SELECT _query, _batch, {', '.join(names)}, _sign FROM found")
        db.execute(f"CREATE OR REPLACE TABLE found AS {rounded}")
        compare_changes(db, asked.answer)


def _make_expected(db: duckdb.DuckDBPyConnection, asked: AnswerComparison) -> None:
    """Follow the values of queries from batch to batch; make the table `expected`."""
    logical: StandingRangeAggregate = asked.logical
    where = logical.where_sql
    names = [theirs(each.name) for each in logical.shape.measures]
    listed = ", ".join(names)
    stand(db, asked, -1)
    nobody = values_sql(logical, where, "FROM p LIMIT 0")
    db.execute(f"CREATE TABLE now AS {nobody}")
    db.execute(f"CREATE TABLE told AS SELECT _query, 0 AS _batch, {listed}, 0 AS _sign FROM now")
    differs = " OR ".join(f"n.{name} IS DISTINCT FROM o.{name}" for name in names)
    changes = changing(db)
    firsts = set(asked.parameters["_first"].to_pylist())
    for done, batch in enumerate(asked.batches):
        at = batch.batch
        if at in firsts:
            begun = f"SELECT * FROM p WHERE _first = {at} AND _last > {at}"
            stand(db, asked, at - 1)
            db.execute(f"CREATE OR REPLACE TABLE met AS {values_sql(logical, where, begun)}")
            db.execute("INSERT INTO now FROM met")
            if logical.snapshot:
                db.execute(f"INSERT INTO told SELECT _query, {at}, {listed}, 1 FROM met")
        if at in changes:
            stand(db, asked, at)
            stands = f"_first <= {at} AND _last > {at}"
            noticed = (
                f"SELECT DISTINCT p.* FROM p JOIN changes_of_rows AS e ON e._batch = {at} "
                f"AND ({where}) WHERE {stands}"
            )
            db.execute(f"CREATE OR REPLACE TABLE new AS {values_sql(logical, where, noticed)}")
            db.execute(
                "CREATE OR REPLACE TABLE changed AS SELECT n._query, n._first FROM new AS n "
                f"JOIN now AS o USING (_query, _first) WHERE {differs}"
            )
            for table, sign in (("now", -1), ("new", 1)):
                db.execute(
                    f"INSERT INTO told SELECT _query, {at}, {listed}, {sign} FROM {table} "
                    "SEMI JOIN changed USING (_query, _first)"
                )
            db.execute("DELETE FROM now USING changed WHERE now._query = changed._query "
                       "AND now._first = changed._first")  # fmt: skip
            db.execute("INSERT INTO now FROM new SEMI JOIN changed USING (_query, _first)")
        asked.progress(asked.answer.subscription, done + 1, len(asked.batches))
    db.execute(f"CREATE OR REPLACE TABLE expected AS {summed('FROM told')}")
