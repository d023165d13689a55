"""Expressions over modelled attributes, read as polynomials and what is not quite one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from sqlglot import exp

from penstock.algebra.models import ModelFunction
from penstock.language.constants import exact_number, is_constant
from penstock.language.model_polynomials import PolynomialSizeError, SymbolicPolynomial
from penstock.language.places import ScriptSource
from penstock.vocabulary.errors import PenstockError

FORMS = (
    "Polynomials are made of modelled attributes and numbers by +, -, *, whole powers such as "
    "x ^ 2 or pow(x, 2), and division by numbers; there are sqrt(), abs() and ratios beside them."
)
EXPONENT_MAX = 16
NODES_MAX = 2_000
"""Attributes, numbers and operators of one expression."""
Operation = Callable[[SymbolicPolynomial, SymbolicPolynomial], SymbolicPolynomial]
OPERATIONS: dict[type[exp.Expr], Operation] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}


@dataclass(frozen=True, slots=True)
class SymbolicAtom:
    """What stands in a polynomial and is none: a function of one, or a parameter of the query."""

    function: ModelFunction | Literal["parameter"]
    argument: SymbolicPolynomial
    node: exp.Expr
    divisor: SymbolicPolynomial | None = None
    name: str = ""
    is_never_negative: bool = False
    """Whether the argument, as it is written, cannot be below zero."""


@dataclass(slots=True)
class ExpressionReader:
    """Reads expressions; `variable` gives the number of what is one, None of everything else.

    `atoms` are by their numbers, which are below zero; what an atom speaks of is above it.
    """

    source: ScriptSource
    variable: Callable[[exp.Expr], int | None]
    atoms: dict[int, SymbolicAtom] = field(default_factory=dict)

    def read(self, node: exp.Expr) -> SymbolicPolynomial:
        """Read an expression, or refuse what is none of polynomials."""
        for count, _ in enumerate(node.walk(), start=1):
            if count > NODES_MAX:
                raise self.too_large(node)
        try:
            return self._read(node)
        except (PolynomialSizeError, OverflowError):
            raise self.too_large(node) from None

    def too_large(self, node: exp.Expr) -> PenstockError:
        """Refuse a polynomial of too many monomials."""
        fact = "The expression is too large, or has too many monomials once it is multiplied out."
        return self.source.error("MDL-016", fact, "Ask for less in one expression.", at=node)

    def _read(self, node: exp.Expr) -> SymbolicPolynomial:
        number = self.variable(node)
        if number is not None:
            return SymbolicPolynomial.variable(number)
        if isinstance(node, exp.Paren):
            return self._read(node.this)
        if isinstance(node, exp.Placeholder):
            return self._atom(
                SymbolicAtom("parameter", SymbolicPolynomial({}), node, name=node.name)
            )
        if is_constant(node):
            return SymbolicPolynomial.constant(self._number(node))
        operation = OPERATIONS.get(type(node))
        if operation is not None:
            return operation(self._read(node.this), self._read(node.expression))
        return self._function(node)

    def _function(self, node: exp.Expr) -> SymbolicPolynomial:
        if isinstance(node, exp.Neg):
            return -self._read(node.this)
        if isinstance(node, exp.Div):
            return self._quotient(node)
        if isinstance(node, exp.Pow):
            return self._read(node.this).power(self._exponent(node.expression))
        if isinstance(node, exp.Sqrt):
            own = self._read(node.this)
            sure = _is_never_negative(node.this)
            return self._atom(SymbolicAtom("sqrt", own, node, is_never_negative=sure))
        if isinstance(node, exp.Abs):
            return self._atom(SymbolicAtom("abs", self._read(node.this), node))
        raise self.refused(node)

    def refused(self, node: exp.Expr) -> PenstockError:
        """Refuse what is no polynomial."""
        fact = f"{node.sql('duckdb')} is no polynomial of modelled attributes."
        return self.source.error("MDL-012", fact, FORMS, at=node)

    def _atom(self, atom: SymbolicAtom) -> SymbolicPolynomial:
        """Give an atom a number; the same one twice has one."""
        for number, known in self.atoms.items():
            same = (known.function, known.argument, known.divisor, known.name)
            if same == (atom.function, atom.argument, atom.divisor, atom.name):
                return SymbolicPolynomial.variable(number)
        number = -1 - len(self.atoms)
        self.atoms[number] = atom
        return SymbolicPolynomial.variable(number)

    def _number(self, node: exp.Expr) -> Fraction:
        found = exact_number(node)
        if found is None:
            fact = f"{node.sql('duckdb')} is no number."
            remedy = "Compare modelled attributes with numbers."
            raise self.source.error("MDL-012", fact, remedy, at=node)
        return found

    def _quotient(self, node: exp.Div) -> SymbolicPolynomial:
        above, below = self._read(node.this), self._read(node.expression)
        if not below.terms:
            fact = f"{node.sql('duckdb')} divides by zero."
            raise self.source.error("MDL-012", fact, "Divide by another number.", at=node)
        if below.is_constant:
            return above.scaled(1 / below.rest)
        return self._atom(SymbolicAtom("ratio", above, node, divisor=below))

    def _exponent(self, node: exp.Expr) -> int:
        value = exact_number(node) if is_constant(node) else None
        if value is None or value.denominator != 1 or not 0 <= value <= EXPONENT_MAX:
            fact = f"{node.sql('duckdb')} is no power that a polynomial has."
            remedy = f"Write a whole number from 0 to {EXPONENT_MAX}; sqrt(x) for a root."
            raise self.source.error("MDL-012", fact, remedy, at=node)
        return int(value)


def _is_never_negative(node: exp.Expr) -> bool:
    """Say whether an expression is a sum of squares, as it stands."""
    bare = node.unnest()
    if isinstance(bare, exp.Add):
        return _is_never_negative(bare.this) and _is_never_negative(bare.expression)
    if isinstance(bare, exp.Mul):
        return bare.this.unnest() == bare.expression.unnest() or (
            _is_never_negative(bare.this) and _is_never_negative(bare.expression)
        )
    if is_constant(bare):
        value = exact_number(bare)
        return value is not None and value >= 0
    if isinstance(bare, exp.Pow):
        exponent = exact_number(bare.expression) if is_constant(bare.expression) else None
        return exponent is not None and exponent % 2 == 0
    return isinstance(bare, exp.Abs)
