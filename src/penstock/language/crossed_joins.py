"""Joins whose inputs meet by crossings: what multi-way joins, bounded ones and lookups share."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.algebra.crossings import CrossedQuery
from penstock.algebra.inputs import JoinInput, WindowLength
from penstock.algebra.predicates import Branch
from penstock.language.comparisons import Types
from penstock.language.conditions import check_condition
from penstock.language.crossings import crossing_of
from penstock.language.differences import cast_for_duckdb
from penstock.language.join_keys import have_like_keys, key_remedy
from penstock.language.join_terms import (
    atoms_of,
    input_of,
    merge_using,
    predicate_sql,
    whole_predicate,
)
from penstock.language.name_resolution import Names, Scope
from penstock.language.outputs import outputs_of
from penstock.language.parameters import QueryParameters
from penstock.language.residuals import residual
from penstock.language.splices import cut
from penstock.language.window_clauses import is_ordered_by


def bind_crossed(
    query: exp.Select,
    tokens: Sequence[Token],
    names: Names,
    windows: Sequence[WindowLength | None],
    within: exp.Expr | None = None,
) -> tuple[CrossedQuery, list[exp.Expr]]:
    """Say what such a join asks, and give the terms that speak of several inputs.

    Its names are not resolved yet. `within` is a clause that is read already, and left out.
    """
    merged = merge_using(query, names)
    pieces = cut(tokens, within.meta["start"] if within is not None else None)
    names.resolve(query)
    outputs = outputs_of(query.expressions, pieces.items, names)
    predicate = whole_predicate(query, merged)
    cast_for_duckdb(predicate, names)
    types = Types(names)
    types.check(predicate)
    parameters = QueryParameters(types=types.parameters)
    where_sql, further = predicate_sql(pieces, merged, names)
    check_condition(where_sql, predicate, types, parameters, further)
    atoms = atoms_of(predicate, types)
    crossing, rest = crossing_of(atoms.cross, types)
    inputs = tuple(
        join_input(scope, window, atoms.branch(scope, types, parameters))
        for scope, window in zip(names.scopes, windows, strict=True)
    )
    asked = CrossedQuery(
        inputs=inputs,
        outputs=outputs,
        crossing=crossing,
        residual=residual(rest, types, parameters) if rest else None,
        parameters=parameters.types,
        constants=parameters.constants,
        where_sql=where_sql,
    )
    return asked, atoms.cross


def join_input(scope: Scope, window: WindowLength | None, branch: Branch) -> JoinInput:
    """Give a relation of FROM as an input of a join."""
    relation = scope.relation
    column = relation.event_time
    timed = relation.passes and column is not None and is_ordered_by(relation, column)
    return input_of(scope, branch, timed=timed, window=window)


def check_like(query: exp.Select, names: Names, key: str | None = None) -> None:
    """Refuse an equality of columns that have no keys alike; `key` is one of them, if given."""
    for node in (*query.find_all(exp.EQ), *merge_using(query, names)):
        columns = node.this.unnest(), node.expression.unnest()
        if not all(isinstance(column, exp.Column) for column in columns):
            continue
        pair = [column.name for column in columns]
        alike = have_like_keys(*(names.column_type(name) for name in pair))
        across = names.side(pair[0]) != names.side(pair[1])
        if across and not alike and (key is None or key in pair):
            shown = [f"{names.shown(name)!r} ({names.column_type(name)})" for name in pair]
            fact = f"A join cannot look up {shown[0]} by {shown[1]}."
            remedy = key_remedy(names.column_type(name) for name in pair)
            raise names.source.error("SQL-061", fact, remedy, at=node)
