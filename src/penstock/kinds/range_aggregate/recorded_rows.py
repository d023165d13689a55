"""Recorded rows of a range aggregate: what stood after every batch, in DuckDB's words."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from penstock.algebra.range_aggregates import RangeMeasure, StandingRangeAggregate
from penstock.expressions.quotation import theirs
from penstock.kinds.protocol import AnswerComparison
from penstock.kinds.recorded import sections_of
from penstock.kinds.table_verification import changes_sql, load_changes
from penstock.vocabulary.types import ColumnKind, kind_of


def load_rows(db: duckdb.DuckDBPyConnection, asked: AnswerComparison) -> None:
    """Make the table `changes_of_rows`: rows with _batch and _sign, how often they come or go."""
    logical: StandingRangeAggregate = asked.logical
    relation = asked.registry.catalog[logical.shape.relation.lower()]
    places = sections_of(asked.batches, relation.name)
    load_changes(db, relation, places)
    db.execute(f"CREATE OR REPLACE TABLE changes_of_rows AS {changes_sql(relation)}")


def changing(db: duckdb.DuckDBPyConnection) -> set[int]:
    """Name the batches in which rows came or went."""
    rows = db.execute("SELECT DISTINCT _batch FROM changes_of_rows").fetchall()
    return {int(batch) for (batch,) in rows}


def stand(db: duckdb.DuckDBPyConnection, asked: AnswerComparison, batch: int) -> None:
    """Make the table `standing`: the rows that there are after a batch, each as often as it is."""
    relation = asked.registry.catalog[asked.logical.shape.relation.lower()]
    upto = f"FROM changes_of_rows WHERE _batch <= {batch}"
    word = theirs(str(relation.change_column))
    netted = (
        f"SELECT * EXCLUDE (_batch, {word}, _sign), sum(_sign)::BIGINT AS _sign {upto} GROUP BY ALL"
    )
    db.execute(
        "CREATE OR REPLACE TABLE standing AS SELECT 0 AS _batch, *, "
        f"unnest(system.main.range(_sign)) AS _copy FROM ({netted}) WHERE _sign > 0"
    )


def measure_sql(measure: RangeMeasure, row: str = "e") -> str:
    """Say a measure over rows, in the type that it is told in; floats are added up with care."""
    if measure.column is None:
        return f"count({row}._batch)"
    column = f"{row}.{theirs(measure.column)}"
    if measure.function == "count":
        return f"count({column})"
    if measure.is_set:
        return f"count(DISTINCT {column})"
    assert measure.column_type is not None
    is_float = kind_of(measure.column_type) is ColumnKind.FLOAT
    if measure.function == "sum":
        if is_float:
            return _number("sum", column)
        type_ = "BIGINT" if measure.type == pa.int64() else f"DECIMAL(38, {measure.type.scale})"
        return f"TRY_CAST(sum({column}) AS {type_})"
    if measure.function == "avg":
        return _number("avg", f"{column}::DOUBLE")
    many = "" if measure.most is None else f", {measure.most}"
    return f"{measure.function}({column}{many})"


def _number(function: str, column: str) -> str:
    """Add floats up with care, which infinities do not bear; infinities of both signs are NULL."""
    plain = f"{function}({column})"
    careful = f"CASE WHEN isfinite({plain}) THEN f{plain} ELSE {plain} END"
    return f"CASE WHEN isnan({plain}) THEN NULL ELSE {careful} END"


def shown_sql(measure: RangeMeasure, sql: str) -> str:
    """Say a value as it is compared: sums of floats to ten digits, as they are added up anew."""
    added = measure.function in {"sum", "avg"} and kind_of(measure.type) is ColumnKind.FLOAT
    if not added:
        return sql
    digits = f"10 - ceil(log10(abs({sql})))::INTEGER"
    plain = f"{sql} = 0 OR NOT isfinite({sql})"
    return f"CASE WHEN {plain} THEN {sql} ELSE round({sql}, {digits}) END"


def values_sql(logical: StandingRangeAggregate, where: str, queries: str) -> str:
    """Say the values of queries over the rows that stand: a row for each, also of empty ranges."""
    told = ", ".join(
        f"{shown_sql(each, theirs(each.name))} AS {theirs(each.name)}"
        for each in logical.shape.measures
    )
    made = ", ".join(
        f"{measure_sql(each)} AS {theirs(each.name)}" for each in logical.shape.measures
    )
    return (
        f"SELECT _query, _first, {told} FROM (SELECT p._query, p._first, {made} FROM "
        f"({queries}) AS p LEFT JOIN standing AS e ON ({where}) "
        "GROUP BY p._query, p._first)"
    )
