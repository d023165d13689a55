"""Verification of tables: what their recorded changes did to their rows, in DuckDB's words.

- Without a key: the weight of a row after a batch is how often it came less how often it went, up
  to then; so many of it stand, none if the weight is below zero.
- With a key: of the changes of a key up to a batch, the one that is highest in the order stands.
  With a sequence, how a row was before an update gives way to whatever has the same sequence, and
  else is a delete; without one it says nothing.

Words are compared by the engine's table of words and by nothing else of the engine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.algebra.logical import StandingFilter
from penstock.delivery.log import LoggedBatch
from penstock.delivery.parts import net_section
from penstock.expressions.connections import connect
from penstock.expressions.quotation import theirs
from penstock.kinds.outcomes import (
    Place,
    SubscriptionOutcome,
    compare_changes,
    parameter_columns,
    settle,
    summed,
    without_nan,
)
from penstock.kinds.recorded import chunks_of, load_events, load_found, sections_of
from penstock.vocabulary.broken import broken_column
from penstock.vocabulary.changes import BLANKS, POSITION, WORDS, Meaning

RESULTS_PER_CHUNK = 500_000


def verify_table(
    answer: SubscriptionOutcome,
    table: Relation,
    group: str,
    logical: StandingFilter,
    parameters: pa.Table,
    batches: list[LoggedBatch],
    progress: Callable[[str, int, int], None],
) -> None:
    """Compare the log of a filter on a table with DuckDB: how matching rows came and went.

    A query WITH SNAPSHOT is told in its first batch what came before, in rows of its group.
    """
    answer.net = True
    with (
        tempfile.TemporaryDirectory(prefix="penstock-verify-") as scratch,
        connect(Path(scratch) / "verify.duckdb") as db,
    ):
        settle(db, logical.where_sql)
        load_changes(db, table, sections_of(batches, table.name))
        db.execute(f"CREATE TABLE e AS {changes_sql(table)}")
        if logical.sees_broken:
            _add_broken(db, table, sections_of(batches, table.name))
        db.register("given", parameters)
        db.execute(f"CREATE TABLE p AS SELECT {parameter_columns(parameters.schema)} FROM given")
        columns = [(field.name, field.type) for field in table.schema]
        sign: str | None = (
            f"CASE WHEN {meaning_sql(str(table.change_column))} < 0 THEN -1 ELSE 1 END"
        )
        batch, section = "e._batch", net_section(table.name)
        if logical.kept:
            batch, section, sign = "greatest(e._batch, p._first)", group, None
            columns = [own for own in columns if own[0] != table.change_column]
        names = ", ".join(f"e.{theirs(name)}" for name, _ in columns)
        chunks = list(chunks_of(batches, section, lambda each: each.matches / RESULTS_PER_CHUNK))
        for done, chunk in enumerate(chunks):
            expected = summed(
                f"SELECT p._query, {batch} AS _batch, {names}, e._sign FROM e JOIN p ON "
                f"{batch} >= {chunk.first} AND {batch} < {chunk.last} AND "
                f"{batch} >= p._first AND {batch} < p._last AND ({logical.where_sql})"
            )
            db.execute(f"CREATE OR REPLACE TABLE expected AS {expected}")
            load_found(db, chunk.places, columns, sign)
            compare_changes(db, answer)
            progress(answer.subscription, done + 1, len(chunks))


def _add_broken(db: duckdb.DuckDBPyConnection, table: Relation, places: list[Place]) -> None:
    """Add the lines that do not parse to the changes `e`: each came once."""
    names = ", ".join(theirs(name) for name in table.schema.names)
    load_events(db, "with_broken", places, table.schema, with_broken=True)
    broken = theirs(str(broken_column(table.schema)))
    db.execute(
        f"INSERT INTO e BY NAME SELECT _batch, 1 AS _sign, {names} FROM with_broken "
        f"WHERE {broken} IS NOT NULL"
    )


def load_changes(db: duckdb.DuckDBPyConnection, relation: Relation, places: list[Place]) -> None:
    """Make the table `changes`: recorded rows with _batch and _at, their order of arrival."""
    names = ", ".join(theirs(name) for name in relation.recorded.names)
    load_events(db, "recorded_changes", places, relation.recorded)
    db.execute(
        "CREATE OR REPLACE TABLE changes AS SELECT _batch, row_number() OVER ("
        f"ORDER BY _batch, _part, _row) AS _at, {names} FROM recorded_changes"
    )


def meaning_sql(column: str, table: str = "") -> str:
    """Give the meaning of the word in a column; 0: it has none."""
    said = f"trim(lower({f'{table}.' if table else ''}{theirs(column)}), '{BLANKS}')"
    cases = " ".join(
        f"WHEN {said} IN ({', '.join(repr(w) for w, own in WORDS.items() if own is meaning)}) "
        f"THEN {int(meaning)}"
        for meaning in sorted(set(WORDS.values()))
    )
    return f"(CASE {cases} ELSE 0 END)"


def position_columns(table: Relation) -> list[str]:
    """Name the recorded columns that a table's order is taken from, beside its own."""
    return [name for name, _ in POSITION] if table.positioned else []


def changes_sql(table: Relation) -> str:
    """Say how the rows of a table change: its columns, _batch, _sign (how often), and the word.

    Reads `changes`: the recorded columns, with _batch and _at, the place in the order of arrival.
    """
    return _keyed(table) if table.key else _netted(table)


def _columns(table: Relation) -> tuple[str, str]:
    """List the table's columns, for a SELECT from the record, and by name."""
    own = [field for field in table.schema if field.name != table.change_column]
    read = ", ".join(without_nan(field.name, field.type) for field in own)
    return read, ", ".join(theirs(field.name) for field in own)


def _netted(table: Relation) -> str:
    read, names = _columns(table)
    word = theirs(str(table.change_column))
    return f"""
        WITH meant AS (
            SELECT {read}, {word} AS _word, _batch, _at,
                {meaning_sql(str(table.change_column))} AS _meaning FROM changes
        ), signed AS (
            SELECT *, CASE WHEN _meaning < 0 THEN -1 ELSE 1 END AS _one
            FROM meant WHERE _meaning IN (-2, -1, 1)
        ), summed AS (
            SELECT {names}, _batch, sum(_one) AS _change,
                arg_max(_word, _at) FILTER (_one > 0) AS _came,
                arg_max(_word, _at) FILTER (_one < 0) AS _went
            FROM signed GROUP BY {names}, _batch
        ), weighed AS (
            SELECT *, sum(_change) OVER (PARTITION BY {names} ORDER BY _batch) AS _weight
            FROM summed
        ), stood AS (
            SELECT *, greatest(_weight, 0) - greatest(_weight - _change, 0) AS _stands FROM weighed
        )
        SELECT {names}, CASE WHEN _stands > 0 THEN _came ELSE _went END AS {word},
            _batch, _stands::BIGINT AS _sign
        FROM stood WHERE _stands <> 0
    """


def _keyed(table: Relation) -> str:
    read, names = _columns(table)
    word = theirs(str(table.change_column))
    key = ", ".join(theirs(name) for name in table.key)
    order = [*table.sequence] or position_columns(table)
    needed = " AND ".join(f"{theirs(name)} IS NOT NULL" for name in (*table.key, *order))
    images = "TRUE" if table.sequence else f"_meaning <> {int(Meaning.BEFORE)}"
    places = ", ".join([*(theirs(name) for name in order), "_firm", "_at"])
    hidden = "".join(f", {theirs(name)}" for name in position_columns(table))
    told = ", ".join(
        f"_one.{theirs(f.name)}" for f in table.schema if f.name != table.change_column
    )
    return f"""
        WITH meant AS (
            SELECT {read}{hidden}, {word} AS _word, _batch, _at,
                {meaning_sql(str(table.change_column))} AS _meaning FROM changes
        ), placed AS (
            SELECT *, row_number() OVER (ORDER BY {places}) AS _place
            FROM (SELECT *, _meaning <> {int(Meaning.BEFORE)} AS _firm FROM meant)
            WHERE _meaning <> 0 AND {images} AND {needed}
        ), standing AS (
            SELECT DISTINCT {key}, _batch,
                max(_place) OVER (PARTITION BY {key} ORDER BY _batch) AS _stands
            FROM placed
        ), moved AS (
            SELECT *, lag(_stands) OVER (PARTITION BY {key} ORDER BY _batch) AS _stood
            FROM standing
        ), turned AS (
            SELECT moved._batch, _new._place AS _comes, _old._place AS _goes, _new._word AS _said,
                _new._meaning > 0 AS _is_row
            FROM moved JOIN placed AS _new ON _new._place = _stands
            LEFT JOIN placed AS _old ON _old._place = _stood AND _old._meaning > 0
            WHERE _stood IS DISTINCT FROM _stands
        ), told AS (
            SELECT {told}, _said AS _word, turned._batch, 1 AS _sign
            FROM turned JOIN placed AS _one ON _one._place = _comes WHERE _is_row
            UNION ALL
            SELECT {told}, CASE WHEN _is_row THEN 'update_before' ELSE _said END, turned._batch, -1
            FROM turned JOIN placed AS _one ON _one._place = _goes
        ), signed AS (
            SELECT {names}, _batch, sum(_sign)::BIGINT AS _sign,
                any_value(_word) FILTER (_sign > 0) AS _came,
                any_value(_word) FILTER (_sign < 0) AS _went
            FROM told GROUP BY {names}, _batch HAVING sum(_sign) <> 0
        )
        SELECT {names}, CASE WHEN _sign > 0 THEN _came ELSE _went END AS {word}, _batch, _sign
        FROM signed
    """
