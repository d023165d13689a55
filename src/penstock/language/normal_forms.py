"""Predicates as an OR of ANDs, by rewrites that hold in three-valued logic.

TRUE, FALSE and NULL form a lattice in which AND and OR distribute over each other and NOT obeys De
Morgan. A row matches when the predicate is TRUE; so below the top, where no NOT is left, FALSE and
NULL may be confused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from sqlglot import exp

from penstock.language.comparisons import comparison, is_operand
from penstock.language.dialect import EXTENT
from penstock.language.own_words import NEGATION

BRANCHES_MAX = 16
"""Branches of one predicate; alternatives beyond it are evaluated, not indexed."""
ATOMS_MAX = 512
"""Atoms of all branches of a conjunction: each branch repeats those that it shares with others."""

NEGATED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}

Conjuncts = tuple[exp.Expr, ...]
Uniform = Callable[[Sequence[exp.Expr]], bool]


@dataclass(frozen=True, slots=True)
class Formula:
    """A predicate without NOT above its atoms: an atom, or operands under one connector."""

    atom: exp.Expr | None = None
    operands: tuple[Formula, ...] = ()
    conjunction: bool = True

    def whole(self) -> exp.Expr:
        """Give the formula as one expression."""
        if self.atom is not None:
            return self.atom
        connector = exp.and_ if self.conjunction else exp.or_
        return connector(*(operand.whole() for operand in self.operands), copy=True)


def branches_of(predicate: exp.Expr, uniform: Uniform) -> list[Conjuncts]:
    """Distribute a predicate to branches, each an AND of atoms.

    `uniform` tells whether sides may be compared in pairs (see `Types.uniform`): only then is
    a BETWEEN taken apart, or a chain of equalities put together.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("a = 1 AND NOT (b BETWEEN 2 AND 3)")
    >>> [" AND ".join(atom.sql() for atom in branch) for branch in branches_of(tree, any)]
    ['a = 1 AND b < 2', 'a = 1 AND b > 3']
    """
    return _distribute(_push(predicate, uniform, negate=False))


def conjuncts_of(predicate: exp.Expr, uniform: Uniform) -> Conjuncts:
    """Take a predicate apart at its outermost ANDs only; an OR inside stays one expression.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("NOT (a = 1 OR b < 2) AND (c = 3 OR d = 4)")
    >>> [atom.sql() for atom in conjuncts_of(tree, any)]
    ['a <> 1', 'b >= 2', 'c = 3 OR d = 4']
    """
    formula = _push(predicate, uniform, negate=False)
    if formula.operands and formula.conjunction:
        return tuple(operand.whole() for operand in formula.operands)
    return (formula.whole(),)


def _push(node: exp.Expr, uniform: Uniform, *, negate: bool) -> Formula:
    bare = node.unnest()
    if isinstance(bare, exp.Not):
        inner = bare.this.unnest()
        if EXTENT in bare.meta and EXTENT not in inner.meta:
            inner.meta[NEGATION] = bare.meta[EXTENT]
        return _push(bare.this, uniform, negate=not negate)
    if isinstance(bare, exp.And | exp.Or):
        operands = [_push(operand, uniform, negate=negate) for operand in bare.flatten()]
        return _combine(operands, uniform, conjunction=isinstance(bare, exp.And) != negate)
    if isinstance(bare, exp.Between) and _splits(bare, uniform):
        # NOT (x BETWEEN a AND b) is x < a OR x > b, also where one of the three is NULL.
        low = exp.GTE(this=bare.this.copy(), expression=bare.args["low"].copy())
        high = exp.LTE(this=bare.this.copy(), expression=bare.args["high"].copy())
        ends = [_push(end, uniform, negate=negate) for end in (low, high)]
        return _combine(ends, uniform, conjunction=not negate)
    return Formula(_atom(bare, negate=negate))


def _splits(between: exp.Between, uniform: Uniform) -> bool:
    this = between.this.unnest()
    simple = isinstance(this, exp.Column) or is_operand(this)
    return simple and uniform([this, between.args["low"], between.args["high"]])


def _atom(node: exp.Expr, *, negate: bool) -> exp.Expr:
    if not negate:
        return node
    opposite = NEGATED.get(type(node))
    if opposite is not None:
        return opposite(this=node.this.copy(), expression=node.expression.copy())
    return exp.Not(this=node.copy())


def _combine(operands: list[Formula], uniform: Uniform, *, conjunction: bool) -> Formula:
    flat: list[Formula] = []
    for operand in operands:
        same = operand.operands and operand.conjunction == conjunction
        flat.extend(operand.operands if same else (operand,))
    if not conjunction:
        flat = _merge_equalities(flat, uniform)
    if len(flat) == 1:
        return flat[0]
    return Formula(None, tuple(flat), conjunction)


def _merge_equalities(alternatives: list[Formula], uniform: Uniform) -> list[Formula]:
    """Make `a = 1 OR a = 2` one IN list: one entry of an index instead of two branches."""
    members: dict[str, list[exp.Expr]] = {}
    for formula in alternatives:
        column = _equated(formula.atom) if formula.atom is not None else None
        if column is not None and formula.atom is not None:
            members.setdefault(column, []).append(formula.atom)
    merged: dict[int, exp.Expr] = {}
    dropped: set[int] = set()
    for atoms in members.values():
        name, values = _sides(atoms)
        if len(atoms) > 1 and uniform([name, *values]):
            copies = [value.copy() for value in values]
            merged[id(atoms[0])] = exp.In(this=name.copy(), expressions=copies)
            dropped.update(id(atom) for atom in atoms[1:])
    return [
        Formula(merged[id(formula.atom)]) if id(formula.atom) in merged else formula
        for formula in alternatives
        if id(formula.atom) not in dropped
    ]


def _equated(atom: exp.Expr) -> str | None:
    """Name the column that an atom equates with constants or parameters."""
    if _is_column_list(atom):
        return str(atom.this.unnest().name)
    found = comparison(atom)
    return found.column if found is not None and found.operator is exp.EQ else None


def _sides(atoms: Sequence[exp.Expr]) -> tuple[exp.Expr, list[exp.Expr]]:
    """Give the column of equalities and lists, and all that it is equated with."""
    name = next(atoms[0].find_all(exp.Column))
    values: list[exp.Expr] = []
    for atom in atoms:
        found = comparison(atom)
        values.extend([found.operand] if found is not None else atom.expressions)
    return name, values


def _is_column_list(node: exp.Expr) -> bool:
    return (
        isinstance(node, exp.In)
        and isinstance(node.this.unnest(), exp.Column)
        and bool(node.expressions)
        and all(is_operand(item.unnest()) for item in node.expressions)
    )


def _distribute(formula: Formula) -> list[Conjuncts]:
    if formula.atom is not None:
        return [(formula.atom,)]
    parts = [_distribute(operand) for operand in formula.operands]
    if not formula.conjunction:
        branches = [branch for part in parts for branch in part]
        return branches if len(branches) <= BRANCHES_MAX else [(formula.whole(),)]
    most = max(1, min(BRANCHES_MAX, ATOMS_MAX // len(parts)))
    while prod(len(part) for part in parts) > most:
        # The operand with the most alternatives is evaluated instead; the rest stays indexed.
        widest = max(range(len(parts)), key=lambda i: len(parts[i]))
        parts[widest] = [(formula.operands[widest].whole(),)]
    return [tuple(atom for part in choice for atom in part) for choice in product(*parts)]
