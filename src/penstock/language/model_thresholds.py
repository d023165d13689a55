"""What differs from query to query of one shape: numbers that outputs are compared with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
from sqlglot import exp

from penstock.algebra.models import Comparator, ModelComparison, Threshold
from penstock.language.comparisons import FLIPPED as FLIPPED_NODES
from penstock.language.constants import constant_of, fit, is_constant
from penstock.language.duckdb_checks import DuckError
from penstock.language.model_conditions import (
    COMPARATORS,
    FLIPPED,
    ConditionReader,
    SymbolicCondition,
    oriented,
)
from penstock.language.model_polynomials import PolynomialSizeError, SymbolicPolynomial
from penstock.language.name_resolution import Names
from penstock.language.parameters import QueryParameters
from penstock.language.places import ScriptSource
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import NUMBERS, ColumnKind, kind_of

INSIDE = (
    "Compare an output with the parameter alone, at the outermost level and beside AND only, as "
    "in WHERE price > :low; or write a number."
)


@dataclass(frozen=True, slots=True)
class AskedComparison:
    """`polynomial comparator number`: a number of the text, or the name of a parameter."""

    polynomial: SymbolicPolynomial
    comparator: Comparator
    number: Fraction | str
    squared: bool = False


@dataclass(slots=True)
class AskedThresholds:
    """The keys and numbers that one query asks for, while it is read."""

    source: ScriptSource
    each: pa.Schema | None
    parameters: QueryParameters = field(default_factory=QueryParameters)
    keys: dict[int, str] = field(default_factory=dict)
    """The parameter that a key column equals, by its position."""
    comparisons: list[AskedComparison] = field(default_factory=list)

    def add_key(self, position: int, type_: pa.DataType, operand: exp.Expr) -> bool:
        """Ask for a key; False where the value is none that compares exactly with the column."""
        if position in self.keys:
            return False
        if isinstance(operand, exp.Placeholder):
            self.keys[position] = self._parameter(operand, type_)
            return True
        try:
            constant = constant_of(operand, lambda each: each.sql("duckdb"))
            fitted = None if constant is None or constant.kind is None else fit(constant, type_)
        except DuckError:
            return False
        if fitted is None:
            return False
        self.keys[position] = self.parameters.lift(fitted.value, type_)
        return True

    def add(self, node: exp.Expr, reader: ConditionReader) -> list[SymbolicCondition] | None:
        """Ask for a comparison with a number; None where it is not one.

        Gives the conditions that must hold beside it: a root is one of what is not below zero.
        """
        sides = node.this.unnest(), node.expression.unnest()
        comparator = COMPARATORS[type(node)]
        if not any(_is_number(side) for side in sides):
            return None
        try:
            difference = reader.difference(*sides)
            return self._lifted(difference, comparator, reader)
        except PolynomialSizeError:
            raise reader.expressions.too_large(node) from None

    def _lifted(
        self, difference: SymbolicPolynomial, comparator: Comparator, reader: ConditionReader
    ) -> list[SymbolicCondition] | None:
        atoms = reader.expressions.atoms
        functions = [n for n in difference.variables if n < 0 and atoms[n].function != "parameter"]
        if not functions:
            found = self._against_number(difference, comparator, reader)
            self.comparisons += [] if found is None else [found]
            return None if found is None else []
        factor = difference.factor_of(functions[0])
        atom = atoms[functions[0]]
        inside = [n for n in atom.argument.variables if n < 0]
        if len(functions) > 1 or factor is None or inside or atom.function == "ratio":
            return None
        other = difference.without(functions[0]).scaled(-1 / factor)
        turned = comparator if factor > 0 else FLIPPED[comparator]
        number = self._number(other, reader)
        if number is None:
            return None
        if atom.function == "sqrt":
            self.comparisons.append(AskedComparison(atom.argument, turned, number, squared=True))
            return (
                [] if atom.is_never_negative else [reader.compare(atom.argument, ">=", atom.node)]
            )
        if turned in {"<", "<="}:
            for own in (atom.argument, -atom.argument):
                shifted = own - SymbolicPolynomial.constant(own.rest)
                if isinstance(number, str):
                    self.comparisons.append(AskedComparison(own, turned, number))
                else:
                    self.comparisons.append(AskedComparison(shifted, turned, number - own.rest))
            return []
        square = atom.argument * atom.argument
        self.comparisons.append(AskedComparison(square, turned, number, squared=True))
        return []

    def _against_number(
        self, difference: SymbolicPolynomial, comparator: Comparator, reader: ConditionReader
    ) -> AskedComparison | None:
        """Read `polynomial comparator number` out of a difference that is compared with zero."""
        met = [n for n in difference.variables if n < 0]
        if not met:
            return AskedComparison(difference.without_rest(), comparator, -difference.rest)
        factor = difference.factor_of(met[0]) if len(met) == 1 else None
        if factor is None:
            return None
        own = difference.without(met[0]).scaled(-1 / factor)
        turned = comparator if factor < 0 else FLIPPED[comparator]
        return AskedComparison(own, turned, self._named(met[0], reader))

    def _number(self, other: SymbolicPolynomial, reader: ConditionReader) -> Fraction | str | None:
        if other.is_constant:
            return other.rest
        number = other.bare
        return self._named(number, reader) if number is not None and number < 0 else None

    def _named(self, number: int, reader: ConditionReader) -> str:
        node = reader.expressions.atoms[number].node
        assert isinstance(node, exp.Placeholder)
        return self._parameter(node, pa.float64())

    def _parameter(self, node: exp.Placeholder, type_: pa.DataType) -> str:
        """Type a parameter by what it is compared with, or refuse it."""
        names = Names(self.source, (), self.each)
        holder = exp.Paren(this=node.copy())
        names.resolve(holder)
        name: str = holder.this.name
        own, known = names.own_type(name), self.parameters.types.get(name, type_)
        written = names.is_written(name) or pa.types.is_null(own)
        if not (written or _family(own) == _family(type_)) or known != type_:
            raise self.source.error(
                "SQL-042",
                f"Parameter :{name} is {own}, and is compared with {type_}.",
                f"Give the rows of FOR EACH a column {name!r} of type {type_}.",
                at=node,
            )
        self.parameters.types[name] = type_
        return name

    def finish(self, attributes: int, places: dict[int, int]) -> tuple[Threshold, tuple[str, ...]]:
        """Give what all queries of the shape ask for, and the parameters of this one's numbers.

        `places` are positions of key columns in the plan's output, by those in its input.
        """
        found: list[tuple[ModelComparison, Fraction | str]] = []
        for asked in self.comparisons:
            polynomial, comparator, number = asked.polynomial, asked.comparator, asked.number
            if isinstance(number, Fraction) and not asked.squared:
                turned, comparator = oriented(polynomial, comparator, attributes)
                number = number if turned is polynomial else -number
                polynomial = turned
            node = ModelComparison(
                polynomial=polynomial.node(attributes),
                comparator=comparator,
                squared=asked.squared,
            )
            found.append((node, number))
        found.sort(key=lambda each: repr(each[0]))
        names = tuple(self._name(number) for _, number in found)
        comparisons = tuple(
            replace(node, parameter=f"n{place}") for place, (node, _) in enumerate(found)
        )
        key = tuple(sorted(places[position] for position in self.keys))
        return Threshold(key=key, comparisons=comparisons), names

    def key_parameters(self, places: dict[int, int]) -> tuple[str, ...]:
        """Give the parameters of the key columns, in the order of their positions."""
        ordered = sorted(self.keys, key=lambda position: places[position])
        return tuple(self.keys[position] for position in ordered)

    def _name(self, number: Fraction | str) -> str:
        return (
            number if isinstance(number, str) else self.parameters.lift(float(number), pa.float64())
        )


def split_comparisons(node: exp.Expr) -> list[exp.Expr]:
    """Give the comparisons that a conjunct is made of: BETWEEN is two of them."""
    bare = node.unnest()
    if isinstance(bare, exp.Between):
        low = exp.GTE(this=bare.this.copy(), expression=bare.args["low"].copy())
        high = exp.LTE(this=bare.this.copy(), expression=bare.args["high"].copy())
        return [low, high]
    return [bare]


def key_operand(node: exp.Expr) -> tuple[exp.Column, exp.Expr] | None:
    """Read `column = constant or parameter`, if a condition is that."""
    bare = node.unnest()
    if not isinstance(bare, exp.EQ):
        return None
    left, right = bare.this.unnest(), bare.expression.unnest()
    for column, other in ((left, right), (right, left)):
        if isinstance(column, exp.Column) and _is_number(other):
            return column, other
    return None


def refuse_parameters(tree: exp.Expr, source: ScriptSource) -> None:
    """Refuse parameters where all queries of a group say the same."""
    found = tree.find(exp.Placeholder)
    if found is not None:
        raise parameter_inside(found, source)


def parameter_inside(node: exp.Expr, source: ScriptSource) -> PenstockError:
    """Refuse a parameter where all queries of a group say the same."""
    fact = f"The parameter :{node.name} stands in a part of the plan that queries share."
    return source.error("MDL-014", fact, INSIDE, at=node)


def is_compared(node: exp.Expr) -> bool:
    """Say whether a node compares two sides."""
    return type(node) in FLIPPED_NODES


def _is_number(node: exp.Expr) -> bool:
    """Say whether a side names no column: a constant, or made of parameters."""
    return is_constant(node) or (
        node.find(exp.Placeholder) is not None and node.find(exp.Column) is None
    )


def _family(type_: pa.DataType) -> Any:
    kind = kind_of(type_)
    if kind in {ColumnKind.TIMESTAMP, ColumnKind.DATE}:
        return "time"
    return "number" if kind in NUMBERS else kind
