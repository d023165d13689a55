"""Verification of joins whose inputs meet by crossings: DuckDB joins the recorded rows.

`penstock.kinds.arrivals` finds out in which order the rows were processed. A combination of rows
is expected when its predicate holds and, at its youngest row, every other row of a stream is in
its window and every row of a table stands there; it is the youngest row's batch that brings it.
A query meets rows of streams behind the newest event time that each had when it was registered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Catalog, Relation
from penstock.algebra.crossings import CrossedQuery
from penstock.algebra.inputs import JoinInput, made_columns, place_of
from penstock.algebra.physical import PLAN_PORT, Typed
from penstock.algebra.trees import JoinPlan
from penstock.delivery.log import LoggedBatch
from penstock.expressions.connections import connect
from penstock.expressions.quotation import theirs
from penstock.kinds.arrivals import Arrivals, Plans, rows_of
from penstock.kinds.outcomes import (
    Chunk,
    SubscriptionOutcome,
    compare_changes,
    parameter_columns,
    settle,
    summed,
    without_nan,
)
from penstock.kinds.protocol import AnswerComparison
from penstock.kinds.recorded import chunks_of, load_found, made_sql
from penstock.kinds.table_verification import changes_sql
from penstock.registry.store import Registry
from penstock.vocabulary.batches import Ints

Reader = Callable[[str], tuple[pa.Table, Ints]]
"""Gives the recorded rows of a relation, and the batch of each."""
Inputs = dict[int, JoinInput]
"""The inputs that a text joins, by their numbers."""

RESULTS_PER_CHUNK = 500_000
ROWS_PER_CHUNK = 100_000
QUERIES_PER_SLICE = 10_000


def history_of(registry: Registry, group: str, versions: Ints) -> tuple[int, Plans]:
    """Give the first batch that a group saw, and its plans, each with the first batch under it."""
    begun = len(versions)
    found: list[tuple[int, JoinPlan]] = []
    for change in registry.reader(0, registry.version):
        first = int(np.searchsorted(versions, change.version))
        if group in change.steps:
            begun = min(begun, first)
        own = change.changes.get(group)
        if own is not None and PLAN_PORT in own.adds:
            texts = own.adds[PLAN_PORT]["plan"].to_pylist()
            found += [(first, JoinPlan.from_json(json.loads(text))) for text in texts]
    return begun, found


def reader(batches: list[LoggedBatch], catalog: Catalog) -> Reader:
    """Give what reads the recorded rows of a relation, once."""
    known: dict[str, tuple[pa.Table, Ints]] = {}

    def read(relation: str) -> tuple[pa.Table, Ints]:
        if relation not in known:
            known[relation] = rows_of(batches, relation, catalog[relation.lower()].recorded)
        return known[relation]

    return read


def compare_crossed(
    asked: AnswerComparison,
    logical: CrossedQuery,
    arrivals: dict[int, Arrivals],
    read: Reader,
    note: Callable[[duckdb.DuckDBPyConnection, SubscriptionOutcome], None] = compare_changes,
    joined: Sequence[int] | None = None,
) -> None:
    """Compare the log of one text with what DuckDB makes of its arrivals.

    `note` is called with the tables `expected` and `found`, again and again. `joined` are the
    inputs that the text joins, if not all: the others only have their place in the order of rows.
    """
    inputs = {n: each for n, each in enumerate(logical.inputs) if joined is None or n in joined}
    every = made_columns(logical.inputs)
    made = tuple(own for own in every if place_of(own[0])[0] in inputs)
    answer, parameters = asked.answer, asked.parameters
    born = parameters
    for number, own in arrivals.items():
        births = own.newest[parameters["_first"].to_numpy()]
        born = born.append_column(f"_born{number}", pa.array(births))
    added_columns = [f"_born{number}" for number in arrivals]
    columns = ", ".join([parameter_columns(parameters.schema), *added_columns])
    slices = range(0, parameters.num_rows, QUERIES_PER_SLICE)
    chunks = list(chunks_of(asked.batches, asked.group, _weight))
    done = 0
    with connect() as db:
        settle(db, logical.where_sql)
        for number, each in inputs.items():
            if each.window is not None:
                _load(db, number, each, arrivals[number].table())
            else:
                table = asked.registry.catalog[each.relation.lower()]
                _load(db, number, each, _standing(db, table, *read(each.relation)))
        for start in slices:
            db.register("given", born.slice(start, QUERIES_PER_SLICE))
            db.execute(f"CREATE OR REPLACE TABLE p AS SELECT {columns} FROM given")
            for chunk in chunks:
                _view(db, inputs, arrivals, chunk)
                expected = _expected(inputs, made, logical.where_sql, chunk)
                db.execute(f"CREATE OR REPLACE TABLE expected AS {expected}")
                load_found(db, chunk.places, made)
                note(db, answer)
                done += 1
                asked.progress(answer.subscription, done, len(slices) * len(chunks))


def _weight(batch: LoggedBatch) -> float:
    return batch.matches / RESULTS_PER_CHUNK + batch.rows_in / ROWS_PER_CHUNK


def _load(db: duckdb.DuckDBPyConnection, number: int, each: JoinInput, rows: pa.Table) -> None:
    """Make the table s<number>: the rows of an input, with what was found about them."""
    db.register("rows", rows)
    found = [name for name in rows.column_names if name.startswith("_")]
    columns = [without_nan(name, type_) for name, type_ in each.columns]
    db.execute(f"CREATE TABLE s{number} AS SELECT {', '.join([*columns, *found])} FROM rows")
    db.unregister("rows")


def _standing(
    db: duckdb.DuckDBPyConnection, table: Relation, changes: pa.Table, batch: Ints
) -> pa.Table:
    """Give a table's rows with the batches [_from, _to) in which each stands.

    The n-th delete of a row ends the n-th insert of it: which of equal rows goes makes no
    difference.
    """
    names = ", ".join(theirs(name) for name in table.schema.names if name != table.change_column)
    at = pa.array(np.arange(len(batch)))
    db.register(
        "changes", changes.append_column("_batch", pa.array(batch)).append_column("_at", at)
    )
    found = db.sql(f"""
        WITH single AS (
            SELECT {names}, _batch, sign(_sign) AS _sign, unnest(system.main.range(abs(_sign)))
            FROM ({changes_sql(table)})
        ), numbered AS (
            SELECT *, row_number() OVER (PARTITION BY {names}, _sign ORDER BY _batch) AS _number
            FROM single
        )
        SELECT {names}, min(_batch) FILTER (WHERE _sign = 1) AS _from,
            coalesce(min(_batch) FILTER (WHERE _sign = -1), 9223372036854775807) AS _to
        FROM numbered GROUP BY {names}, _number
    """).to_arrow_table()
    db.unregister("changes")
    return found


def _view(
    db: duckdb.DuckDBPyConnection, inputs: Inputs, arrivals: dict[int, Arrivals], chunk: Chunk
) -> None:
    """Show, as i0, i1, …, the rows that may take part in results of a chunk."""
    youngest = [
        (int(own.position[new].min()), number, new[np.argmin(own.position[new])])
        for number, own in arrivals.items()
        if len(new := np.flatnonzero((own.position >= 0) & (own.release >= chunk.first)))
    ]
    for number, each in inputs.items():
        rows = f"_release < {chunk.last}"
        if each.window is None:
            rows = f"_from < {chunk.last} AND _to > {chunk.first}"
        elif youngest:
            _, of, row = min(youngest)
            first = arrivals[of]
            size = each.window.size
            if each.window.kind == "rows":
                active = f"_seen{number} > {first.seen[number][row] - size}"
            else:
                active = f"_time > {first.time[row] - size}"
            rows += f" AND (_release >= {chunk.first} OR {active})"
        db.execute(f"CREATE OR REPLACE VIEW i{number} AS FROM s{number} WHERE {rows}")


def _expected(inputs: Inputs, made: Typed, where_sql: str, chunk: Chunk) -> str:
    streams = [number for number, each in inputs.items() if each.window is not None]
    batch = f"greatest({', '.join(f'i{number}._release' for number in streams)})"
    holds = [f"({where_sql})"]
    for number in streams:
        window = inputs[number].window
        assert window is not None
        name = f"_seen{number}" if window.kind == "rows" else "_time"
        # At the youngest of the others, so at each of them: both grow along the order.
        holds += [
            f"i{other}.{name} - i{number}.{name} < {window.size}"
            for other in streams
            if other != number
        ]
        holds.append(f"i{number}._time > p._born{number}")
    for number, each in inputs.items():
        if each.window is None:
            holds.append(f"i{number}._from <= {batch} AND {batch} < i{number}._to")
    holds.append(f"{batch} >= {chunk.first} AND {batch} < {chunk.last} AND {batch} < p._last")
    names = ", ".join(f"i{number}" for number in inputs)
    columns = made_sql(name for name, _ in made)
    return summed(
        f"SELECT p._query, {batch} AS _batch, {columns}, 1 AS _sign FROM {names}, p "
        f"WHERE {' AND '.join(holds)}"
    )
