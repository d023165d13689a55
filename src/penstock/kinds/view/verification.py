"""Verification of views: their changes, added up, against the query over the recorded input.

A view may lag: of each input it has seen the changes up to a batch of its own. Which that was
follows from how many changes the run told to be waiting after a batch.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.algebra.views import StandingView, ViewDefinition
from penstock.delivery.log import ResultLog
from penstock.expressions.connections import connect
from penstock.expressions.quotation import quoted, theirs
from penstock.kinds.outcomes import compare, count, without_nan
from penstock.kinds.protocol import AnswerComparison
from penstock.kinds.recorded import load_events, sections_of
from penstock.kinds.table_verification import changes_sql, load_changes
from penstock.language.queries import read_query
from penstock.language.views import STORE, bind_view
from penstock.operators.catalogue import figures_of
from penstock.operators.view.figures import PENDING
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.changes import sign_beside
from penstock.vocabulary.shared_figures import ROWS_WAITING
from penstock.vocabulary.types import ColumnKind, kind_of

MOMENTS_MAX = 12
"""Batches after which a view is computed anew, spread over the log; the last is among them."""


def verify_view(asked: AnswerComparison) -> None:
    """Compare what a view was told to hold, after several batches, with its query.

    One that was suspended has begun anew when it was resumed, if it was: then it was told that what
    it held before went.
    """
    definition = _in_duckdb(asked).definition
    spans = (asked.parameters[name].to_pylist() for name in ("_first", "_last"))
    for first, last in zip(*spans, strict=True):
        _verify_span(asked, definition, first, last)


def _verify_span(
    asked: AnswerComparison, definition: ViewDefinition, first: int, last: int
) -> None:
    """Compare what was told from a batch on, in which the view began, to another."""
    answer = asked.answer
    before = [each for each in asked.batches if each.batch < last]
    batches = [each for each in before if first <= each.batch]
    if not batches:
        return
    with (
        tempfile.TemporaryDirectory(prefix="penstock-verify-") as scratch,
        connect(Path(scratch) / "verify.duckdb") as db,
    ):
        for number, each in enumerate(definition.inputs):
            relation = asked.registry.catalog[each.relation.lower()]
            _load_input(db, number, asked, relation, first)
        columns = [(each.name, each.type) for each in definition.outputs]
        sign = sign_beside(name for name, _ in columns)
        made = pa.schema([*columns, (sign, pa.int8())])
        load_events(db, "told", sections_of(before, asked.group), made)
        moments = list(_moments(asked, [each.batch for each in batches]))
        for done, (batch, pending) in enumerate(moments):
            prefixes = [_prefix(db, number, batch, own) for number, own in enumerate(pending)]
            _make_expected(db, definition, prefixes)
            _make_found(db, definition, batch)
            answer.expected += count(db, "SELECT count(*) FROM expected")
            answer.found += count(db, "SELECT count(*) FROM found")
            compare(db, answer, "FROM {kind}")
            asked.progress(answer.subscription, done + 1, len(moments))


def _in_duckdb(asked: AnswerComparison) -> StandingView:
    """Give the view in DuckDB's words, wherever it lives."""
    record = asked.registry.subscriptions.get(asked.answer.subscription)
    logical: StandingView = asked.logical
    if not logical.store or record is None:
        return replace(logical, store="")
    options = {name: own for name, own in record.options.items() if name != STORE}
    return bind_view(read_query(record.sql, asked.registry.catalog, None, options))


def _load_input(
    db: duckdb.DuckDBPyConnection,
    number: int,
    asked: AnswerComparison,
    relation: Relation,
    first: int,
) -> None:
    """Make the table in<number>: the changes of an input, with _batch and _sign.

    A view begins with what its tables hold, and with the rows of streams that come after it.
    """
    places = sections_of(asked.batches, relation.name)
    if relation.keeps:
        load_changes(db, relation, places)
        rows = changes_sql(relation)
    else:
        load_events(db, "recorded_rows", places, relation.schema)
        read = ", ".join(without_nan(field.name, field.type) for field in relation.schema)
        rows = f"SELECT {read}, _batch, 1 AS _sign FROM recorded_rows WHERE _batch >= {first}"
    fields = [field for field in relation.schema if field.name != relation.change_column]
    # In rows that a view reads a zero has no sign.
    shown = ", ".join(
        f"{theirs(each.name)}{' + 0' * pa.types.is_floating(each.type)} AS {quoted(each.name)}"
        for each in fields
    )
    db.execute(f"CREATE TABLE in{number} AS SELECT _batch, _sign, {shown} FROM ({rows})")


def _moments(asked: AnswerComparison, batches: list[int]) -> Iterator[tuple[int, Ints]]:
    """Give batches, spread over the log, with what waited after each; none without its store."""
    log: ResultLog = asked.log
    inputs = len(asked.logical.definition.inputs)
    chosen = np.unique(np.linspace(0, len(batches) - 1, MOMENTS_MAX).round().astype(int))
    for place in chosen.tolist():
        told = [own[asked.group] for _, own in log.figures(batches[place], figures_of)]
        if not told or any(own[ROWS_WAITING] for own in told):
            continue
        pending = [max(own[PENDING, number] for own in told) for number in range(inputs)]
        yield batches[place], np.array(pending, np.int64)


def _prefix(db: duckdb.DuckDBPyConnection, number: int, batch: int, pending: int) -> int:
    """Give the batch up to which a view has seen an input: what came since is what waits."""
    rows = db.execute(
        f"SELECT _batch, sum(abs(_sign))::BIGINT FROM in{number} WHERE _batch <= {batch} "
        "GROUP BY _batch ORDER BY _batch DESC"
    ).fetchall()
    upto = batch
    for each, came in rows:
        if pending <= 0:
            break
        pending -= came
        upto = each - 1
    return upto


def _make_expected(
    db: duckdb.DuckDBPyConnection, definition: ViewDefinition, prefixes: list[int]
) -> None:
    """Compute the view from its inputs, each up to a batch of its own."""
    inputs = []
    for number, (each, upto) in enumerate(zip(definition.inputs, prefixes, strict=True)):
        stands = (
            f"SELECT * EXCLUDE (_batch, _sign), sum(_sign)::BIGINT AS _sign FROM in{number} "
            f"WHERE _batch <= {upto} GROUP BY ALL"
        )
        copies = f"SELECT * EXCLUDE (_sign), unnest(system.main.range(_sign)) FROM ({stands})"
        inputs.append(f"({copies}) AS {quoted(each.alias)}")
    where = " AND ".join(f"({each})" for each in definition.conditions) or "TRUE"
    joined = f"FROM {', '.join(inputs)} WHERE {where}"
    outputs = ", ".join(_output(each.sql, each.name, each.type) for each in definition.outputs)
    if not definition.is_grouped:
        db.execute(f"CREATE OR REPLACE TABLE expected AS SELECT {outputs} {joined}")
        return
    keys = [f"{each.sql} AS {quoted(each.name)}" for each in definition.keys]
    made = [f"{_call(each.function, each.argument)} AS {quoted(each.name)}"
            for each in definition.aggregates]  # fmt: skip
    grouped = f" GROUP BY {', '.join(each.sql for each in definition.keys)}" if keys else ""
    groups = f"SELECT {', '.join([*keys, *made]) or '1 AS one'} {joined}{grouped}"
    having = f" WHERE {definition.having}" if definition.having else ""
    db.execute(f"CREATE OR REPLACE TABLE expected AS SELECT {outputs} FROM ({groups}){having}")


def _call(function: str, argument: str | None) -> str:
    if function == "count_distinct":
        return f"count(DISTINCT {argument})"
    return f"{function}({argument or '*'})"


def _output(sql: str, name: str, type_: pa.DataType) -> str:
    """Say an output; floats to ten digits, since they are added up in another order."""
    if kind_of(type_) is ColumnKind.FLOAT:
        digits = f"10 - ceil(log10(abs({sql})))::INTEGER"
        plain = f"{sql} = 0 OR NOT isfinite({sql})"
        sql = f"CASE WHEN {plain} THEN {sql} ELSE round({sql}, {digits}) END"
    return f"{sql} AS {quoted(name)}"


def _make_found(db: duckdb.DuckDBPyConnection, definition: ViewDefinition, batch: int) -> None:
    """Add up the changes that were told up to a batch."""
    names = [theirs(each.name) for each in definition.outputs]
    sign = sign_beside(each.name for each in definition.outputs)
    stands = (
        f"SELECT {', '.join(names)}, sum({theirs(sign)})::BIGINT AS _sign FROM told "
        f"WHERE _batch <= {batch} GROUP BY ALL"
    )
    outputs = ", ".join(
        _output(theirs(each.name), each.name, each.type) for each in definition.outputs
    )
    db.execute(
        f"CREATE OR REPLACE TABLE found AS SELECT {outputs} FROM "
        f"(SELECT *, unnest(system.main.range(_sign)) FROM ({stands}))"
    )
