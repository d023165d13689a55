"""Multi-way window joins: their predicate, sorted into inputs, crossings and the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from penstock.algebra.logical import Output
from penstock.algebra.multi_joins import WAITING_ROWS, JoinInput, MultiJoin, WindowLength
from penstock.algebra.predicates import Branch
from penstock.expressions.quoting import theirs
from penstock.language.comparing import Types
from penstock.language.conditions import check_condition, never_matches
from penstock.language.crossings import crossing_of
from penstock.language.differences import cast_for_duckdb
from penstock.language.joining import bare, text_of
from penstock.language.naming import Names, Scope, tables_of
from penstock.language.normalising import conjuncts_of
from penstock.language.outputs import outputs_of
from penstock.language.parameters import QueryParameters
from penstock.language.planner_options import planner_options
from penstock.language.queries import Query
from penstock.language.residuals import residual
from penstock.language.splicing import SplicedPieces, cut
from penstock.language.terms import make_branch, without_constants
from penstock.language.window_clauses import is_ordered_by, take_windows


@dataclass(slots=True)
class InputAtoms:
    """The terms of a join's AND: those of one input by its side, and those of several."""

    own: dict[str, list[exp.Expr]] = field(default_factory=dict)
    cross: list[exp.Expr] = field(default_factory=list)


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
    predicate = _predicate(query, merged)
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
    atoms = _sort(predicate, types)
    crossing, rest = crossing_of(atoms.cross, types)
    chosen: dict[str, Any] = {}
    if options is not None:
        called = [scope.qualifier for scope in names.scopes]
        chosen = planner_options(options, called, crossing)
        if not chosen.get("products"):
            _check_connected(atoms.cross, query, names)
    inputs = tuple(
        join_input(scope, window, bare(make_branch(tuple(own), types, parameters), names))
        for scope, window in zip(names.scopes, windows, strict=True)
        for own in (atoms.own.get(scope.side, ()),)
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


def _predicate(query: exp.Select, merged: Sequence[exp.Expr]) -> exp.Expr:
    where = query.args.get("where")
    ons = [join.args.get("on") for join in query.args["joins"]]
    parts = [on for on in ons if on is not None]
    parts += [*merged, *([where.this] if where is not None else ())]
    return exp.and_(*parts, copy=False) if parts else exp.true()


def _qualified(name: str, names: Names) -> str:
    return f"{names.side(name)}.{theirs(names.bare(name))}"


def _sort(predicate: exp.Expr, types: Types) -> InputAtoms:
    """Take the predicate apart at its ANDs, and see of which inputs each term speaks."""
    kept = without_constants(conjuncts_of(predicate, types.uniform), types)
    if kept is None:
        raise never_matches(types.names, predicate)
    atoms = InputAtoms()
    for atom in kept:
        sides = _sides(atom, types.names)
        if len(sides) < 2:
            # A term without columns holds or fails for all rows: the first input may carry it.
            side = sides.pop() if sides else types.names.scopes[0].side
            atoms.own.setdefault(side, []).append(atom)
        else:
            atoms.cross.append(atom)
    return atoms


def _sides(atom: exp.Expr, names: Names) -> set[str]:
    return {names.side(column.name) for column in atom.find_all(exp.Column)}


def _check_connected(atoms: Sequence[exp.Expr], query: exp.Select, names: Names) -> None:
    """Refuse a product: parts of the join that no term speaks of together."""
    parts = [{scope.side} for scope in names.scopes]
    for atom in atoms:
        met = [part for part in parts if part & _sides(atom, names)]
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
    return JoinInput(
        name=scope.qualifier,
        relation=relation.name,
        columns=tuple((name, relation.schema.field(name).type) for name in scope.columns),
        window=window,
        branch=branch,
        change_column=relation.change_column,
        event_time=column if timed else None,
        lateness_us=relation.lateness_us if timed else 0,
    )
