"""Joins of two: their predicate, sorted into keys, a band, a window and the rest."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.algebra.joins import Band, JoinKind, StandingJoin
from penstock.algebra.open_conditions import OpenCondition
from penstock.language.bands import band_of
from penstock.language.comparisons import Types
from penstock.language.conditions import check_condition
from penstock.language.differences import cast_for_duckdb, crossing, parameters_met
from penstock.language.join_keys import have_like_keys, key_remedy
from penstock.language.join_options import choose
from penstock.language.join_terms import (
    atoms_of,
    input_of,
    merge_using,
    predicate_sql,
    whole_predicate,
)
from penstock.language.name_resolution import Names
from penstock.language.open_selections import (
    asks_messages,
    check_told,
    opened,
    take_open,
    with_open,
)
from penstock.language.outputs import outputs_of
from penstock.language.parameters import QueryParameters
from penstock.language.queries import Query
from penstock.language.residuals import residual
from penstock.language.splices import cut
from penstock.language.within_clauses import check_streams, length_of, met_in, window_of


def bind_join(asked: Query) -> StandingJoin:
    """Say what a join asks."""
    are_messages, options = asks_messages(asked.options)
    asked = opened(asked) if are_messages else asked
    query, names = asked.select, asked.names
    (join,) = asked.joins
    within = join.args.get("within")
    merged = merge_using(query, names)
    pieces = cut(asked.tokens, within.meta["start"] if within is not None else None)
    names.resolve(query)
    outputs = outputs_of(query.expressions, pieces.items, names)
    check_streams(names, within, join)
    predicate = whole_predicate(query, merged)
    cast_for_duckdb(predicate, names)
    types = Types(names)
    types.check(predicate, [*parameters_met(predicate, names), *met_in(within)])
    conditions: tuple[OpenCondition, ...] = ()
    if are_messages:
        conditions = take_open(predicate, names)
        outputs = with_open(outputs, conditions, names)
        types.parameters.clear()
    parameters = QueryParameters(types=types.parameters)
    atoms = atoms_of(predicate, types)
    keys = _keys([atom for atom in atoms.cross if _is_key(atom)], names)
    cross = [atom for atom in atoms.cross if not _is_key(atom)]
    band, guard = None, None
    if not keys:
        band, cross, guard = band_of(cross, types, parameters)
    _check_bound(keys, band, within, cross, names, join)
    kind: JoinKind = "band_join" if band else "window_join" if within else "select_join"
    choices = choose(options, kind)
    if are_messages:
        check_told(kind, choices.mode)
    window, window_sql = None, None
    if within is not None:
        length = length_of(within, types, parameters)
        window, window_sql = window_of(length, names, inclusive=choices.inclusive)
    where_sql, further = predicate_sql(pieces, merged, names, window_sql, guard)
    if window is not None:
        further += [f"i0.{window.left}", f"i1.{window.right}"]
    check_condition(where_sql, predicate, types, parameters, further)
    inputs = tuple(
        input_of(scope, atoms.branch(scope, types, parameters), timed=within is not None)
        for scope in sorted(names.scopes, key=lambda scope: scope.side)
    )
    return StandingJoin(
        inputs=inputs,
        keys=keys,
        outputs=outputs,
        band=band,
        window=window,
        residual=residual(cross, types, parameters) if cross else None,
        parameters=parameters.types,
        constants=parameters.constants,
        where_sql=where_sql,
        mode=choices.mode,
        strategy=choices.strategy,
        tuning=choices.tuning,
        opened=conditions,
    )


def _is_key(atom: exp.Expr) -> bool:
    """Say whether a term of both inputs is an equality of two columns."""
    return isinstance(atom, exp.EQ) and all(isinstance(side, exp.Column) for side in _sides(atom))


def _sides(equality: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    return equality.this.unnest(), equality.expression.unnest()


def _keys(equalities: Sequence[exp.Expr], names: Names) -> tuple[tuple[str, str], ...]:
    """Give the pairs of key columns, left first, each once and in the order of names."""
    keys: set[tuple[str, str]] = set()
    for equality in equalities:
        left, right = sorted(_sides(equality), key=lambda column: names.side(column.name))
        types = names.column_type(left.name), names.column_type(right.name)
        if not have_like_keys(*types):
            shown = [
                f"{names.shown(column.name)!r} ({type_})"
                for column, type_ in zip((left, right), types, strict=True)
            ]
            raise names.source.error(
                "SQL-061",
                f"A join cannot look up {shown[0]} by {shown[1]}.",
                key_remedy(types),
                at=equality,
            )
        keys.add((names.bare(left.name), names.bare(right.name)))
    return tuple(sorted(keys))


def _check_bound(
    keys: Sequence[tuple[str, str]],
    band: Band | None,
    within: exp.Expr | None,
    cross: Sequence[exp.Expr],
    names: Names,
    join: exp.Join,
) -> None:
    """Refuse a join whose rows could all meet each other."""
    first, second = (scope.qualifier for scope in names.scopes)
    equality = f"{first}.column = {second}.column"
    if within is not None and not keys:
        fact = "WITHIN needs an equality between the two streams."
        raise names.source.error("SQL-064", fact, f"Add ON {equality}.", at=within)
    if keys or band is not None:
        return
    remedy = f"Add {equality}, or a band: abs({first}.column - {second}.column) <= 5."
    if any(pair for atom in cross for pair in crossing(atom, names)):
        remedy = (
            "A band bounds the difference of two columns by a value of its type; the columns are "
            "whole numbers, dates, decimals of one scale, or floats of one type."
        )
    fact = "The join has neither an equality nor a band between its sides: a cross product."
    raise names.source.error("SQL-060", fact, remedy, at=join.this)
