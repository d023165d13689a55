"""Windows in brackets: what each input of a multi-way join keeps."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
from sqlglot import exp

from penstock.algebra.catalog import Relation
from penstock.algebra.inputs import WindowLength
from penstock.language.constants import exact_number, is_constant
from penstock.language.name_resolution import Names, Scope, tables_of
from penstock.language.places import ScriptSource
from penstock.language.within_clauses import LONGEST_US, unit_of
from penstock.vocabulary.errors import PenstockError

MOST_ROWS = 1 << 40
"""A window has at most so many rows."""
EXAMPLES = "[ROWS 100] or [RANGE 5 SECONDS]"


def take_windows(query: exp.Select, names: Names) -> tuple[WindowLength | None, ...]:
    """Read the windows of a multi-way join, and take them out of its tree; a table has none.

    Refused are streams without a window or an event time, and tables with a window.
    """
    tables, source = tables_of(query), names.source
    if len(tables) == 1:
        window = tables[0].args["windows"][0]
        fact = "The query reads one relation, and a window says which rows may meet in a join."
        raise source.error("SQL-080", fact, "Leave the window out.", at=window)
    _check_no_within(query, source)
    found: list[WindowLength | None] = []
    for table, scope in zip(tables, names.scopes, strict=True):
        window = one_window(table, scope, source)
        _check_input(scope, window, table, source)
        found.append(None if window is None else length_of(window, source))
    if not any(found):
        raise source.error(
            "SQL-088",
            "The query joins tables only: no row of a stream would ever ask for an answer.",
            f"Add a stream with a window, such as {EXAMPLES}; or join two tables.",
            at=tables[0],
        )
    return tuple(found)


def _check_no_within(query: exp.Select, source: ScriptSource) -> None:
    for join in query.args.get("joins") or ():
        within = join.args.get("within")
        if within is not None:
            raise source.error(
                "SQL-081",
                "WITHIN is for a join of two streams without windows of their own.",
                f"Leave WITHIN out, and give every stream a window: {EXAMPLES}.",
                at=within,
            )


def _check_input(
    scope: Scope, window: exp.Expr | None, table: exp.Table, source: ScriptSource
) -> None:
    """Refuse an input that would be kept for ever, or whose rows stand in no order."""
    relation, name = scope.relation, scope.qualifier
    if relation.keeps:
        if window is not None:
            fact = f"{name!r} is a table, which is kept whole: it has no window."
            raise source.error("SQL-083", fact, "Leave the window out.", at=window)
        return
    if window is None:
        raise source.error(
            "SQL-082",
            f"The stream {name!r} has no window: all its rows would have to be kept.",
            f"Write {name} [ROWS 100] or {name} [RANGE 5 SECONDS]; or make it a table.",
            at=table,
        )
    check_ordered(relation, "Windows follow", "SQL-085", table, source)


def check_ordered(
    relation: Relation, what: str, code: str, table: exp.Table, source: ScriptSource
) -> None:
    """Refuse a stream whose rows stand in no order of time."""
    column = relation.event_time
    if column is None:
        fact = f"{what} event times, and the stream {relation.name!r} has none."
        remedy = "Declare it with OPTIONS (event_time = '<column>')."
        raise source.error(code, fact, remedy, at=table)
    if not is_ordered_by(relation, column):
        type_ = relation.schema.field(column).type
        fact = f"The event time {column!r} of {relation.name!r} is {type_}."
        remedy = "Declare it as TIMESTAMP or TIMESTAMPTZ, in microseconds."
        raise source.error(code, fact, remedy, at=table)


def is_ordered_by(relation: Relation, column: str) -> bool:
    """Say whether a column holds times in microseconds."""
    type_ = relation.schema.field(column).type
    return bool(pa.types.is_timestamp(type_) and type_.unit == "us")


def one_window(table: exp.Table, scope: Scope, source: ScriptSource) -> exp.Expr | None:
    """Take the window of an input out of the tree; refuse two of them."""
    windows = table.args.pop("windows", None) or []
    if len(windows) > 1:
        fact = f"{scope.qualifier!r} has {len(windows)} windows."
        raise source.error("SQL-084", fact, "Keep one of them.", at=windows[1])
    return windows[0] if windows else None


def length_of(window: exp.Expr, source: ScriptSource) -> WindowLength:
    """Read `ROWS n` or `RANGE n unit`, or refuse what is no size above zero."""
    kind, unit = window.args["kind"], window.args.get("unit")
    if kind == "size":
        fact = "SIZE and ADVANCE are of model queries, and the query has no MODEL."
        raise source.error("SQL-084", fact, f"Write {EXAMPLES}.", at=window)
    worth = 1 if unit is None else unit_of(unit, source, "SQL-084")
    size = window.this.unnest()
    if not is_constant(size):
        raise source.error(
            "SQL-084",
            "The size of a window is a constant: all queries of a group share it.",
            f"Write a number, such as {EXAMPLES}.",
            at=size,
        )
    shown = f"{window.this.sql('duckdb')}{'' if unit is None else ' ' + unit.name}"
    exact = (exact_number(size) or Fraction(0)) * worth
    if not 0 < exact < (MOST_ROWS if kind == "rows" else LONGEST_US) or exact.denominator != 1:
        raise _refused(kind, shown, source, window)
    return WindowLength(kind, int(exact))


def _refused(kind: str, shown: str, source: ScriptSource, window: exp.Expr) -> PenstockError:
    if kind == "rows":
        fact = f"No window has {shown} rows."
        remedy = f"Write a whole number from 1 to {MOST_ROWS - 1:,}, such as [ROWS 100]."
    else:
        fact = f"No window is {shown} long."
        remedy = "Write a number above zero, such as [RANGE 5 SECONDS], of whole microseconds."
    return source.error("SQL-084", fact, remedy, at=window.this)
