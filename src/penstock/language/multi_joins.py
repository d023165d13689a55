"""Multi-way window joins: their predicate, sorted into inputs, crossings and the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from penstock.algebra.inputs import JoinInput, WindowLength
from penstock.algebra.logical import Output
from penstock.algebra.multi_joins import WAITING_ROWS, MultiJoin
from penstock.algebra.predicates import Branch
from penstock.expressions.quotation import theirs
from penstock.language.comparisons import Types
from penstock.language.conditions import check_condition
from penstock.language.crossings import crossing_of
from penstock.language.differences import cast_for_duckdb
from penstock.language.join_terms import (
    atoms_of,
    input_of,
    sides_of,
    text_of,
    whole_predicate,
)
from penstock.language.name_resolution import Names, Scope, tables_of
from penstock.language.outputs import outputs_of
from penstock.language.parameters import QueryParameters
from penstock.language.planner_options import planner_options
from penstock.language.queries import Query
from penstock.language.residuals import residual
from penstock.language.splices import SplicedPieces, cut
from penstock.language.window_clauses import is_ordered_by, take_windows


def merge_using(query: exp.Select, names: Names) -> list[exp.Expr]:
    """Make an equality of every column in USING, and merge the columns under one bare name.

    A comma binds less than JOIN: USING finds its column among the relations since the last one.
    """
    equalities: list[exp.Expr] = []
    before = [names.scopes[0]]
    for join, scope in zip(query.args["joins"], names.scopes[1:], strict=True):
        using = join.args.get("using") or ()
        if not using and join.args.get("on") is None:
            before = []
        for column in using:
            homes = names.find(column, before), names.find(column, [scope])
            nodes: list[exp.Expr] = []
            for home, name in homes:
                identifier = exp.Identifier(this=home.named(name), quoted=True)
                nodes.append(exp.Column(this=identifier.update_positions(column)))
            equalities.append(exp.EQ(this=nodes[0], expression=nodes[1]))
            names.merged |= {(scope.side, homes[1][1].lower())}
        before.append(scope)
    return equalities


def bind_multi_way(asked: Query) -> MultiJoin:
    """Say what a join of windows asks."""
    query, names = asked.select, asked.names
    windows = take_windows(query, names)
    merged = merge_using(query, names)
    pieces = cut(asked.tokens)
    names.resolve(query)
    outputs = outputs_of(query.expressions, pieces.items, names)
    return bind_multi_join(query, pieces, names, outputs, windows, merged, asked.options)


def bind_multi_join(
    query: exp.Select,
    pieces: SplicedPieces,
    names: Names,
    outputs: tuple[Output, ...],
    windows: Sequence[WindowLength | None],
    merged: Sequence[exp.Expr],
    options: Mapping[str, Any] | None,
) -> MultiJoin:
    """Say what a multi-way join asks; its names are resolved already.

    Without options it is no join for the planner: products and streams without windows are not
    refused, and streams keep their event time anyhow.
    """
    predicate = whole_predicate(query, merged)
    cast_for_duckdb(predicate, names)
    types = Types(names)
    types.check(predicate)
    parameters = QueryParameters(types=types.parameters)
    pairs = [(one.this.name, one.expression.name) for one in merged]
    using = [" = ".join(_qualified(name, names) for name in pair) for pair in pairs]
    texts = [*(text_of(on, names) for on in pieces.ons), *using, text_of(pieces.where, names)]
    where_sql = " AND ".join(text for text in texts if text) or "TRUE"
    further = [name for pair in pairs for name in pair]
    check_condition(where_sql, predicate, types, parameters, further)
    atoms = atoms_of(predicate, types)
    crossing, rest = crossing_of(atoms.cross, types)
    chosen: dict[str, Any] = {}
    if options is not None:
        called = [scope.qualifier for scope in names.scopes]
        chosen = planner_options(options, called, crossing)
        if not chosen.get("products"):
            _check_connected(atoms.cross, query, names)
    inputs = tuple(
        join_input(scope, window, atoms.branch(scope, types, parameters))
        for scope, window in zip(names.scopes, windows, strict=True)
    )
    return MultiJoin(
        inputs=inputs,
        outputs=outputs,
        crossing=crossing,
        residual=residual(rest, types, parameters) if rest else None,
        parameters=parameters.types,
        constants=parameters.constants,
        where_sql=where_sql,
        waiting=chosen.pop("waiting", WAITING_ROWS),
        options=chosen,
    )


def _qualified(name: str, names: Names) -> str:
    return f"{names.side(name)}.{theirs(names.bare(name))}"


def _check_connected(atoms: Sequence[exp.Expr], query: exp.Select, names: Names) -> None:
    """Refuse a product: parts of the join that no term speaks of together."""
    parts = [{scope.side} for scope in names.scopes]
    for atom in atoms:
        met = [part for part in parts if part & sides_of(atom, names)]
        parts = [part for part in parts if part not in met] + [set[str]().union(*met)]
    if len(parts) == 1:
        return
    sides = [scope.side for scope in names.scopes]
    parts.sort(key=lambda part: min(map(sides.index, part)))
    called = [[s.qualifier for s in names.scopes if s.side in part] for part in parts]
    shown = [" and ".join(part) if len(part) < 3 else ", ".join(part) for part in called]
    fact = f"Nothing joins {' with '.join(f'({part})' for part in shown)}: all their rows meet."
    raise names.source.error(
        "SQL-086",
        fact,
        f"Add an equality, such as {called[0][0]}.column = {called[1][0]}.column; or say "
        "OPTIONS (products = TRUE).",
        at=tables_of(query)[min(map(sides.index, parts[1]))],
    )


def join_input(scope: Scope, window: WindowLength | None, branch: Branch) -> JoinInput:
    """Give a relation of FROM as an input of a join."""
    relation = scope.relation
    column = relation.event_time
    timed = relation.passes and column is not None and is_ordered_by(relation, column)
    return input_of(scope, branch, timed=timed, window=window)
