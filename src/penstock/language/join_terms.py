"""Terms of joins: the predicate, taken apart at its ANDs, and which inputs each term speaks of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.algebra.inputs import JoinInput, WindowLength
from penstock.algebra.predicates import Branch
from penstock.expressions.quotation import theirs
from penstock.language.comparisons import Types
from penstock.language.conditions import never_matches
from penstock.language.name_resolution import Names, Scope
from penstock.language.normal_forms import conjuncts_of
from penstock.language.parameters import QueryParameters
from penstock.language.splices import SplicedPieces, splice
from penstock.language.terms import make_branch, without_constants


@dataclass(slots=True)
class JoinTerms:
    """The terms of a join's AND: those of one input by its side, and those of several."""

    own: dict[str, list[exp.Expr]] = field(default_factory=dict)
    cross: list[exp.Expr] = field(default_factory=list)

    def branch(self, scope: Scope, types: Types, parameters: QueryParameters) -> Branch:
        """Give what is asked of one input alone, its columns named as its relation does."""
        terms = tuple(self.own.get(scope.side, ()))
        branch, names = make_branch(terms, types, parameters), types.names
        rest = branch.residual
        return Branch(
            equalities=tuple(replace(t, column=names.bare(t.column)) for t in branch.equalities),
            ranges=tuple(replace(t, column=names.bare(t.column)) for t in branch.ranges),
            residual=replace(rest, columns=tuple(map(names.bare, rest.columns))) if rest else None,
        )


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


def whole_predicate(query: exp.Select, merged: Sequence[exp.Expr]) -> exp.Expr:
    """Give everything that ON, USING and WHERE ask as one condition."""
    where = query.args.get("where")
    ons = [join.args.get("on") for join in query.args["joins"]]
    parts = [on for on in ons if on is not None]
    parts += [*merged, *([where.this] if where is not None else ())]
    return exp.and_(*parts, copy=False) if parts else exp.true()


def atoms_of(predicate: exp.Expr, types: Types) -> JoinTerms:
    """Take the predicate apart at its ANDs, and see of which inputs each term speaks."""
    kept = without_constants(conjuncts_of(predicate, types.uniform), types)
    if kept is None:
        raise never_matches(types.names, predicate)
    atoms = JoinTerms()
    for atom in kept:
        sides = sides_of(atom, types.names)
        if len(sides) < 2:
            # A term without columns holds or fails for all rows: the first input may carry it.
            side = sides.pop() if sides else min(scope.side for scope in types.names.scopes)
            atoms.own.setdefault(side, []).append(atom)
        else:
            atoms.cross.append(atom)
    return atoms


def sides_of(atom: exp.Expr, names: Names) -> set[str]:
    """Give the inputs that a term speaks of."""
    return {names.side(column.name) for column in atom.find_all(exp.Column)}


def predicate_sql(
    pieces: SplicedPieces, merged: Sequence[exp.Expr], names: Names, *more: str | None
) -> tuple[str, list[str]]:
    """Say the whole predicate to DuckDB, in the user's own words where there are any.

    `more` are further conditions. Gives also the columns that are named by USING alone.
    """
    using = [(one.this.name, one.expression.name) for one in merged]
    texts = [
        *(_text_of(on, names) for on in pieces.ons),
        *(" = ".join(_qualified(name, names) for name in pair) for pair in using),
        _text_of(pieces.where, names),
        *more,
    ]
    where_sql = " AND ".join(text for text in texts if text) or "TRUE"
    return where_sql, [name for pair in using for name in pair]


def _qualified(name: str, names: Names) -> str:
    return f"{names.side(name)}.{theirs(names.bare(name))}"


def _text_of(tokens: Sequence[Token], names: Names) -> str | None:
    """Print a condition in the user's own words, in brackets."""
    return f"({splice(tokens, names.source.text, names.qualified())})" if tokens else None


def input_of(
    scope: Scope, branch: Branch, *, timed: bool, window: WindowLength | None = None
) -> JoinInput:
    """Give an input; one that is `timed` is read in the order of its event time."""
    relation = scope.relation
    return JoinInput(
        name=scope.qualifier,
        relation=relation.name,
        columns=tuple((name, relation.schema.field(name).type) for name in scope.columns),
        window=window,
        branch=branch,
        change_column=relation.change_column,
        event_time=relation.event_time if timed else None,
        lateness_us=relation.lateness_us if timed else 0,
    )
