"""Predicates as an OR of ANDs, by rewrites that hold in three-valued logic.

TRUE, FALSE and NULL form a lattice in which AND and OR distribute over each other and NOT obeys De
Morgan. A row matches when the predicate is TRUE; so below the top, where no NOT is left, FALSE and
NULL may be confused.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from sqlglot import exp

from penstock.language.comparing import comparison, is_operand

BRANCHES_MAX = 16
"""Branches of one predicate; alternatives beyond it are evaluated, not indexed."""

NEGATED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GT,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}

Conjuncts = tuple[exp.Expr, ...]


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


def branches_of(predicate: exp.Expr) -> list[Conjuncts]:
    """Distribute a predicate to branches, each an AND of atoms.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("a = 1 AND NOT (b BETWEEN 2 AND 3)")
    >>> [" AND ".join(atom.sql() for atom in branch) for branch in branches_of(tree)]
    ['a = 1 AND b < 2', 'a = 1 AND b > 3']
    """
    return _distribute(_push(predicate, negate=False))


def _push(node: exp.Expr, *, negate: bool) -> Formula:
    bare = node.unnest()
    if isinstance(bare, exp.Not):
        return _push(bare.this, negate=not negate)
    if isinstance(bare, exp.And | exp.Or):
        operands = [_push(operand, negate=negate) for operand in bare.flatten()]
        return _combine(operands, conjunction=isinstance(bare, exp.And) != negate)
    if isinstance(bare, exp.Between) and _splits(bare):
        # NOT (x BETWEEN a AND b) is x < a OR x > b, also where one of the three is NULL.
        low = exp.GTE(this=bare.this.copy(), expression=bare.args["low"].copy())
        high = exp.LTE(this=bare.this.copy(), expression=bare.args["high"].copy())
        ends = [_push(end, negate=negate) for end in (low, high)]
        return _combine(ends, conjunction=not negate)
    return Formula(_atom(bare, negate=negate))


def _splits(between: exp.Between) -> bool:
    this = between.this.unnest()
    simple = isinstance(this, exp.Column) or is_operand(this)
    return simple and not between.args.get("symmetric")


def _atom(node: exp.Expr, *, negate: bool) -> exp.Expr:
    if not negate:
        return node
    opposite = NEGATED.get(type(node))
    if opposite is not None:
        return opposite(this=node.this.copy(), expression=node.expression.copy())
    return exp.Not(this=node.copy())


def _combine(operands: list[Formula], *, conjunction: bool) -> Formula:
    flat: list[Formula] = []
    for operand in operands:
        same = operand.operands and operand.conjunction == conjunction
        flat.extend(operand.operands if same else (operand,))
    if not conjunction:
        flat = _merge_equalities(flat)
    if len(flat) == 1:
        return flat[0]
    return Formula(None, tuple(flat), conjunction)


def _merge_equalities(alternatives: list[Formula]) -> list[Formula]:
    """Make `a = 1 OR a = 2` one IN list: one entry of an index instead of two branches."""
    items: dict[str, list[exp.Expr]] = {}
    columns: dict[str, exp.Expr] = {}
    merged: list[Formula] = []
    for formula in alternatives:
        atom = formula.atom
        found = comparison(atom) if atom is not None else None
        if atom is not None and found is not None and found.operator is exp.EQ:
            column, values = found.column, [found.operand]
        elif atom is not None and _is_column_list(atom):
            column, values = atom.this.unnest().name, atom.expressions
        else:
            merged.append(formula)
            continue
        if column not in items:
            columns[column] = atom
            merged.append(formula)
        items.setdefault(column, []).extend(values)
    for column, values in items.items():
        first = columns[column]
        if len(values) == max(1, len(first.expressions)):
            continue
        name = exp.Column(this=exp.Identifier(this=column, quoted=True))
        name.this.update_positions(next(first.find_all(exp.Column)).this)
        list_ = exp.In(this=name, expressions=[value.copy() for value in values])
        at = next(i for i, formula in enumerate(merged) if formula.atom is first)
        merged[at] = Formula(list_)
    return merged


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
    while prod(len(part) for part in parts) > BRANCHES_MAX:
        # The operand with the most alternatives is evaluated instead; the rest stays indexed.
        widest = max(range(len(parts)), key=lambda i: len(parts[i]))
        parts[widest] = [(formula.operands[widest].whole(),)]
    return [tuple(atom for part in choice for atom in part) for choice in product(*parts)]
