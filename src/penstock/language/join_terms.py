"""Terms of joins: the predicate, taken apart at its ANDs, and which inputs each term speaks of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.algebra.inputs import JoinInput, WindowLength
from penstock.algebra.predicates import Branch
from penstock.language.comparisons import Types
from penstock.language.conditions import never_matches
from penstock.language.name_resolution import Names, Scope
from penstock.language.normal_forms import conjuncts_of
from penstock.language.parameters import QueryParameters
from penstock.language.splices import splice
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


def text_of(tokens: Sequence[Token], names: Names) -> str | None:
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
