"""From conjunctions of atoms to branches: what an index serves, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from penstock.algebra.predicates import Bound, Branch, Equality, Range
from penstock.language.comparisons import Types, can_index, comparison
from penstock.language.normal_forms import BRANCHES_MAX, Conjuncts
from penstock.language.parameters import QueryParameters
from penstock.language.residuals import residual
from penstock.vocabulary.types import ColumnKind, is_ordered, kind_of

LOWS: dict[type[exp.Expr], bool] = {exp.GT: False, exp.GTE: True}
HIGHS: dict[type[exp.Expr], bool] = {exp.LT: False, exp.LTE: True}


@dataclass(slots=True)
class TermDraft:
    """A branch in the making. `hopeless` means: a constant NULL, so no row can match.

    `lists` says whether a column may equal one of several values.
    """

    lists: bool = True

    equalities: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lows: dict[str, list[Bound]] = field(default_factory=dict)
    highs: dict[str, list[Bound]] = field(default_factory=dict)
    rest: list[exp.Expr] = field(default_factory=list)
    hopeless: bool = False

    def ranges(self) -> tuple[Range, ...]:
        """Merge the bounds of each column, in the order of columns."""
        return tuple(
            Range(
                column=column,
                lows=tuple(self.lows.get(column, ())),
                highs=tuple(self.highs.get(column, ())),
            )
            for column in sorted(self.lows.keys() | self.highs.keys())
        )


def make_branches(
    conjunctions: Sequence[Conjuncts], types: Types, parameters: QueryParameters
) -> tuple[Branch, ...]:
    """Turn each conjunction into a branch; none is left if no row can ever match.

    The branches come in an order that constants do not move, so that equal shapes look equal.
    """
    kept = [without_constants(atoms, types) for atoms in conjunctions]
    alive = [atoms for atoms in kept if atoms is not None]
    if any(not atoms for atoms in alive):
        return (Branch(),)
    drafts = [_draft(atoms, types, parameters) for atoms in _split_unequals(alive, types)]
    # Beside another branch a hopeless one only costs; alone it is what the user asked for.
    hopeful = [draft for draft in drafts if not draft.hopeless] or drafts[:1]
    branches = [_branch(draft, types, parameters) for draft in hopeful]
    parameters.keep({name for branch in branches for name in named_in(branch)})
    return tuple(sorted(branches, key=_shape))


def make_branch(atoms: Conjuncts, types: Types, parameters: QueryParameters) -> Branch:
    """Turn one conjunction into a branch whose equalities have one value each."""
    return _branch(_draft(atoms, types, parameters, lists=False), types, parameters)


def without_constants(atoms: Conjuncts, types: Types) -> Conjuncts | None:
    """Drop what is always TRUE; give None if something is always FALSE or NULL."""
    kept: list[exp.Expr] = []
    for atom in atoms:
        constant = types.constant(atom)
        if constant is None:
            kept.append(atom)
        elif constant.value is None or constant.value is False:
            return None
        elif constant.kind is not ColumnKind.BOOLEAN:
            raise _not_boolean(atom, constant.sql, types)
    return tuple(kept)


def _not_boolean(atom: exp.Expr, what: str, types: Types) -> Exception:
    fact = f"{what} is a condition here, and is not BOOLEAN."
    return types.names.source.error("SQL-034", fact, "Compare it with something.", at=atom)


def _split_unequals(branches: list[Conjuncts], types: Types) -> list[Conjuncts]:
    """Make `x <> c`, alone in its branch, two ranges: an index serves them, and no residual."""
    split: list[Conjuncts] = []
    room = BRANCHES_MAX - len(branches)
    for atoms in branches:
        found = comparison(atoms[0]) if len(atoms) == 1 else None
        ordered = found is not None and is_ordered(types.names.column_type(found.column))
        if found is None or found.operator is not exp.NEQ or not ordered or room <= 0:
            split.append(atoms)
            continue
        room -= 1
        left, right = atoms[0].this, atoms[0].expression
        split.extend(
            (operator(this=left.copy(), expression=right.copy()),) for operator in (exp.LT, exp.GT)
        )
    return split


def _draft(
    atoms: Conjuncts, types: Types, parameters: QueryParameters, *, lists: bool = True
) -> TermDraft:
    draft = TermDraft(lists=lists)
    for atom in atoms:
        if not (
            _add_flag(draft, atom, types, parameters)
            or _add_list(draft, atom, types, parameters)
            or _add_comparison(draft, atom, types, parameters)
        ):
            draft.rest.append(atom)
    return draft


def _add_flag(draft: TermDraft, atom: exp.Expr, types: Types, parameters: QueryParameters) -> bool:
    """Take `active` for `active = TRUE`, and `NOT active` for `active = FALSE`."""
    negated = isinstance(atom, exp.Not)
    column = atom.this.unnest() if negated else atom
    if not isinstance(column, exp.Column):
        return False
    type_ = types.names.column_type(column.name)
    if kind_of(type_) is not ColumnKind.BOOLEAN:
        raise _not_boolean(atom, f"Column {types.names.shown(column.name)!r} ({type_})", types)
    if column.name in draft.equalities:
        return False
    draft.equalities[column.name] = (parameters.lift(not negated, type_),)
    return True


def _add_list(draft: TermDraft, atom: exp.Expr, types: Types, parameters: QueryParameters) -> bool:
    if not isinstance(atom, exp.In) or not isinstance(atom.this.unnest(), exp.Column):
        return False
    items = atom.expressions
    if not items or not types.uniform([atom.this, *items]):
        return False
    return _add_equality(draft, atom.this.unnest().name, items, types, parameters)


def _add_comparison(
    draft: TermDraft, atom: exp.Expr, types: Types, parameters: QueryParameters
) -> bool:
    found = comparison(atom)
    if found is None:
        return False
    column, operator = found.column, found.operator
    if operator is exp.EQ:
        return _add_equality(draft, column, [found.operand], types, parameters)
    if operator is exp.NEQ or not can_index(types.names.column_type(column), range_=True):
        return False
    names = _operands([found.operand], types.names.column_type(column), types, parameters)
    if names is None:
        return False
    ends, closed = (draft.lows, LOWS) if operator in LOWS else (draft.highs, HIGHS)
    ends.setdefault(column, []).append(Bound(parameter=names[0], closed=closed[operator]))
    draft.hopeless |= _is_null(names[0], parameters)
    return True


def _add_equality(
    draft: TermDraft,
    column: str,
    items: Sequence[exp.Expr],
    types: Types,
    parameters: QueryParameters,
) -> bool:
    type_ = types.names.column_type(column)
    if column in draft.equalities or not can_index(type_, range_=False):
        return False
    if len(items) > 1 and not draft.lists:
        return False
    names = _operands(items, type_, types, parameters)
    if names is None:
        return False
    # NULL in a list equals nothing; a list of NULLs alone keeps one, and never matches.
    known = [name for name in names if not _is_null(name, parameters)]
    draft.equalities[column] = tuple(dict.fromkeys(known or names[:1]))
    draft.hopeless |= not known
    return True


def _is_null(name: str, parameters: QueryParameters) -> bool:
    return name in parameters.constants and parameters.constants[name] is None


def _operands(
    nodes: Sequence[exp.Expr], type_: pa.DataType, types: Types, parameters: QueryParameters
) -> list[str] | None:
    """Name the parameters that stand for operands; None if one cannot be of the column's type."""
    values: list[str | tuple[object]] = []
    for node in nodes:
        bare = node.unnest()
        if isinstance(bare, exp.Placeholder):
            if parameters.types[bare.name] != type_:
                return None
            values.append(bare.name)
            continue
        fitted = types.fit(bare, type_)
        if fitted is None:
            return None
        values.append((fitted.value,))
    return [v if isinstance(v, str) else parameters.lift(v[0], type_) for v in values]


def _branch(draft: TermDraft, types: Types, parameters: QueryParameters) -> Branch:
    equalities = tuple(
        Equality(column=column, parameters=names)
        for column, names in sorted(draft.equalities.items())
    )
    rest = residual(draft.rest, types, parameters) if draft.rest else None
    return Branch(equalities=equalities, ranges=draft.ranges(), residual=rest)


def named_in(branch: Branch) -> set[str]:
    """Collect the parameters that a branch names."""
    names = {name for term in branch.equalities for name in term.parameters}
    names.update(bound.parameter for term in branch.ranges for bound in term.lows + term.highs)
    return names.union(branch.residual.parameters if branch.residual else ())


def _shape(branch: Branch) -> tuple[tuple[str, ...], tuple[str, ...], str, tuple[str, ...]]:
    return (
        tuple(term.column for term in branch.equalities),
        tuple(term.column for term in branch.ranges),
        branch.residual.sql if branch.residual else "",
        branch.residual.columns if branch.residual else (),
    )
