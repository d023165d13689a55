"""Joins AS MESSAGES: the selections that parameters bound are taken out, and left to edges.

What is left is an ordinary join. Its answer is told to all; beside what the query selects, rows
have the columns that the parameters bound, so that each subscriber's selection is a filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from penstock.algebra.joins import JoinKind, Mode
from penstock.algebra.logical import Output
from penstock.algebra.open_conditions import RANGES_MAX, OpenCondition
from penstock.expressions.quotation import quoted
from penstock.language.comparisons import can_index, comparison
from penstock.language.dialect import EXTENT
from penstock.language.duckdb_checks import types_of
from penstock.language.name_resolution import Names
from penstock.language.open_terms import MESSAGES, terms_of, unaskable
from penstock.language.queries import Query
from penstock.language.terms import HIGHS, LOWS
from penstock.vocabulary.errors import PenstockError

TAKEN_NAMES = frozenset({"ordinal", "weight"})
"""Columns that messages have themselves."""
UNTOLD = ("STRUCT", "MAP", "UNION", "BLOB", "BIT", "INTERVAL")
"""Types, as DuckDB names them, that edges cannot hold beside lists."""


def asks_messages(options: Mapping[str, Any]) -> tuple[bool, Mapping[str, Any]]:
    """Say whether messages are asked for, and give the other options.

    >>> asks_messages({"messages": True, "alpha": 1})
    (True, {'alpha': 1})
    """
    rest = {name: value for name, value in options.items() if name != MESSAGES}
    asked = options.get(MESSAGES, False)
    if not isinstance(asked, bool):
        fact = f"Option {MESSAGES!r} cannot be {asked!r}."
        raise PenstockError("SQL-071", fact, "Write TRUE or FALSE.", option=MESSAGES)
    return asked, rest


def opened(asked: Query) -> Query:
    """Give a query whose parameters nobody brings."""
    if asked.each is not None:
        raise _untold("they are for all subscribers, and it brings rows of its own", "FOR EACH")
    named = dict.fromkeys(node.name for node in asked.tree.find_all(exp.Placeholder))
    return replace(asked, each=pa.schema([(name, pa.null()) for name in named]))


def check_told(kind: JoinKind, mode: Mode) -> None:
    """Refuse joins whose answer has no state that messages could be of."""
    if kind == "window_join":
        raise _untold("it reads streams, so that its rows only come", MESSAGES)
    if mode != "full":
        raise _untold("in mode 'identify' it has no joined rows", "mode")


def _untold(reason: str, option: str) -> PenstockError:
    return PenstockError(
        "SQL-067",
        f"The join cannot be told AS MESSAGES: {reason}.",
        "Leave AS MESSAGES out, or ask for the joined rows of two tables: SELECT … FROM a JOIN b "
        "ON a.k = b.k WHERE a.x BETWEEN :lo AND :hi AS MESSAGES.",
        option=option,
    )


def take_open(predicate: exp.Expr, names: Names) -> tuple[OpenCondition, ...]:
    """Take the conditions that have parameters out of a predicate whose names are resolved."""
    found: dict[tuple[str, str | None], OpenCondition] = {}
    for term in list(terms_of(predicate)):
        if term.find(exp.Placeholder) is None:
            continue
        for atom in _atoms(term):
            own = _open(atom, names)
            key = own.made, own.equals
            found[key] = own if key not in found else _both(found[key], own, term, names)
        names.opened.add(term.meta[EXTENT])
        term.replace(exp.true())
    ranges = [each for each in found.values() if each.is_range]
    if not 0 < len(ranges) <= RANGES_MAX:
        shown = " and ".join(each.column for each in ranges) or "no column"
        raise names.source.error(
            "SQL-067",
            f"Messages of a join are for subscribers with ranges of one column or two, and "
            f"parameters bound {shown}.",
            "Write WHERE a.x BETWEEN :lo AND :hi; write further ranges with constants.",
            at=predicate,
        )
    return tuple(sorted(found.values(), key=lambda own: (own.is_range, own.made, own.name)))


def _atoms(term: exp.Expr) -> list[exp.Expr]:
    if isinstance(term, exp.Between):
        ends = (exp.GTE, term.args["low"]), (exp.LTE, term.args["high"])
        return [made(this=term.this.copy(), expression=end.copy()) for made, end in ends]
    return [term]


def _open(atom: exp.Expr, names: Names) -> OpenCondition:
    """Read a condition that a parameter decides; refuse what is none that an edge can ask."""
    own = comparison(atom)
    if own is not None and isinstance(own.operand, exp.Placeholder):
        type_, value = names.column_type(own.column), own.operand.name
        shown = names.shown(own.column)
        if own.operator is exp.EQ and can_index(type_, range_=False):
            return OpenCondition(column=shown, made=own.column, equals=value)
        if own.operator in LOWS and can_index(type_, range_=True):
            closed = LOWS[own.operator]
            return OpenCondition(column=shown, made=own.column, low=value, low_closed=closed)
        if own.operator in HIGHS and can_index(type_, range_=True):
            closed = HIGHS[own.operator]
            return OpenCondition(column=shown, made=own.column, high=value, high_closed=closed)
    place = next(iter(atom.find_all(exp.Placeholder)), atom)
    raise unaskable(names.source, place)


def _both(one: OpenCondition, other: OpenCondition, at: exp.Expr, names: Names) -> OpenCondition:
    """Put two conditions on one column together: the ends of a range."""
    if one == other:
        return one
    if one.is_range and one.low is None and other.high is None:
        return replace(one, low=other.low, low_closed=other.low_closed)
    if one.is_range and one.high is None and other.low is None:
        return replace(one, high=other.high, high_closed=other.high_closed)
    raise names.source.error(
        "SQL-068",
        f"Two parameters are one end of the range of {one.column}.",
        "Keep one for each end.",
        at=at,
    )


def with_open(
    outputs: Sequence[Output], conditions: Sequence[OpenCondition], names: Names
) -> tuple[Output, ...]:
    """Give the outputs, and behind them the columns of open conditions."""
    for each in outputs:
        if each.name in TAKEN_NAMES or OpenCondition.of_name(each.name) is not None:
            raise PenstockError(
                "SQL-069",
                f"Messages have columns named like {each.name!r} of their own, and an output is so "
                "named.",
                "Give the output another name, with AS.",
            )
    columns = {
        scope.named(column): names.column_type(scope.named(column))
        for scope in names.scopes
        for column in scope.columns
    }
    for each, type_ in zip(outputs, types_of([own.sql for own in outputs], columns), strict=True):
        if type_.endswith("]") or type_.startswith(UNTOLD):
            raise PenstockError(
                "SQL-069",
                f"The output {each.name!r} is of type {type_}, which messages cannot have.",
                "Select its parts, or cast it to VARCHAR.",
            )
    return (*outputs, *(Output(name=own.name, sql=quoted(own.made)) for own in conditions))
