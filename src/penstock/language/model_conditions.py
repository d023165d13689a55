"""Conditions over modelled attributes: comparisons of polynomials with zero, by AND and OR.

NOT is pushed into the comparisons, and roots, absolute values and ratios are rewritten exactly, so
that only polynomials are left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.algebra.models import (
    Comparator,
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    ModelDisjunction,
)
from penstock.language.model_expressions import ExpressionReader, SymbolicAtom
from penstock.language.model_polynomials import PolynomialSizeError, SymbolicPolynomial

COMPARISONS_MAX = 64
"""Comparisons of one condition."""
COMPARATORS: dict[type[exp.Expr], Comparator] = {
    exp.LT: "<",
    exp.LTE: "<=",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GTE: ">=",
    exp.GT: ">",
}
NEGATED: dict[Comparator, Comparator] = {
    "<": ">=",
    "<=": ">",
    "=": "<>",
    "<>": "=",
    ">=": "<",
    ">": "<=",
}
FLIPPED: dict[Comparator, Comparator] = {
    "<": ">",
    "<=": ">=",
    "=": "=",
    "<>": "<>",
    ">=": "<=",
    ">": "<",
}


@dataclass(frozen=True, slots=True)
class ComparedPolynomial:
    """`polynomial comparator 0`."""

    polynomial: SymbolicPolynomial
    comparator: Comparator


@dataclass(frozen=True, slots=True)
class ConnectedConditions:
    """AND, or OR, of conditions."""

    is_all: bool
    terms: tuple[SymbolicCondition, ...]


SymbolicCondition = ComparedPolynomial | ConnectedConditions


def all_of(terms: Sequence[SymbolicCondition]) -> SymbolicCondition:
    """Give AND of conditions."""
    return terms[0] if len(terms) == 1 else ConnectedConditions(True, tuple(terms))


def any_of(terms: Sequence[SymbolicCondition]) -> SymbolicCondition:
    """Give OR of conditions."""
    return terms[0] if len(terms) == 1 else ConnectedConditions(False, tuple(terms))


def comparisons_in(condition: SymbolicCondition) -> list[ComparedPolynomial]:
    """Give all comparisons of a condition."""
    if isinstance(condition, ComparedPolynomial):
        return [condition]
    return [each for term in condition.terms for each in comparisons_in(term)]


def variables_in(condition: SymbolicCondition) -> set[int]:
    """Give the variables that a condition speaks of."""
    return {each for own in comparisons_in(condition) for each in own.polynomial.variables}


def renumbered(
    condition: SymbolicCondition, by: Callable[[SymbolicPolynomial], SymbolicPolynomial]
) -> SymbolicCondition:
    """Give a condition with other polynomials."""
    if isinstance(condition, ComparedPolynomial):
        return ComparedPolynomial(by(condition.polynomial), condition.comparator)
    return ConnectedConditions(condition.is_all, tuple(renumbered(t, by) for t in condition.terms))


def condition_node(condition: SymbolicCondition, attributes: int) -> ModelCondition:
    """Give a condition as a plan has it: nested ANDs are one, and equal terms are one."""
    if isinstance(condition, ComparedPolynomial):
        return _comparison_node(condition, attributes)
    kind = ModelConjunction if condition.is_all else ModelDisjunction
    found: dict[str, ModelCondition] = {}
    for term in condition.terms:
        node = condition_node(term, attributes)
        parts = node.terms if isinstance(node, kind) else (node,)
        found |= {repr(part): part for part in parts}
    terms = tuple(found[each] for each in sorted(found))
    return terms[0] if len(terms) == 1 else kind(terms=terms)


def _comparison_node(compared: ComparedPolynomial, attributes: int) -> ModelComparison:
    """Give a comparison; its first monomial has a factor above zero, so that equals look equal."""
    polynomial, comparator = oriented(compared.polynomial, compared.comparator, attributes)
    return ModelComparison(polynomial=polynomial.node(attributes), comparator=comparator)


def oriented(
    polynomial: SymbolicPolynomial, comparator: Comparator, attributes: int
) -> tuple[SymbolicPolynomial, Comparator]:
    """Turn a comparison with zero so that its last monomial is added, not taken away."""
    terms = polynomial.node(attributes).terms
    if terms and terms[-1].factor < 0:
        return -polynomial, FLIPPED[comparator]
    return polynomial, comparator


@dataclass(slots=True)
class ConditionReader:
    """Reads conditions whose expressions `expressions` reads; `made` counts comparisons."""

    expressions: ExpressionReader
    made: int = 0

    def read(self, node: exp.Expr, *, negated: bool = False) -> SymbolicCondition:
        """Read a condition, or what its negation says; refuse what compares no polynomials."""
        bare = node.unnest()
        if isinstance(bare, exp.Not):
            return self.read(bare.this, negated=not negated)
        if isinstance(bare, exp.And | exp.Or):
            join = all_of if isinstance(bare, exp.And) is not negated else any_of
            return join([self.read(part, negated=negated) for part in bare.flatten()])
        if isinstance(bare, exp.Between):
            low = self._compared(bare.this, bare.args["low"], ">=", negated, bare)
            high = self._compared(bare.this, bare.args["high"], "<=", negated, bare)
            return any_of([low, high]) if negated else all_of([low, high])
        if isinstance(bare, exp.In) and bare.expressions:
            equal = [self._compared(bare.this, x, "=", negated, bare) for x in bare.expressions]
            return all_of(equal) if negated else any_of(equal)
        comparator = COMPARATORS.get(type(bare))
        if comparator is None:
            raise self.expressions.refused(bare)
        return self._compared(bare.this, bare.expression, comparator, negated, bare)

    def difference(self, left: exp.Expr, right: exp.Expr) -> SymbolicPolynomial:
        """Read one side less the other."""
        return self.expressions.read(left) - self.expressions.read(right)

    def _compared(
        self, left: exp.Expr, right: exp.Expr, comparator: Comparator, negated: bool, at: exp.Expr
    ) -> SymbolicCondition:
        try:
            own = NEGATED[comparator] if negated else comparator
            return self.compare(self.difference(left, right), own, at)
        except PolynomialSizeError:
            raise self.expressions.too_large(at) from None

    def compare(
        self, difference: SymbolicPolynomial, comparator: Comparator, at: exp.Expr
    ) -> SymbolicCondition:
        """Compare with zero; what is no polynomial is rewritten, the outermost first."""
        atoms = self.expressions.atoms
        met = [n for n in difference.variables if n < 0 and atoms[n].function != "parameter"]
        if not met:
            self.made += 1
            if self.made > COMPARISONS_MAX:
                fact = f"The query has more than {COMPARISONS_MAX} comparisons."
                remedy = "Ask for some of them by a query of their own."
                raise self.expressions.source.error("MDL-016", fact, remedy, at=at)
            return ComparedPolynomial(difference, comparator)
        number = min(met)
        factor = difference.factor_of(number)
        if factor is None:
            raise self.expressions.refused(atoms[number].node)
        other = difference.without(number).scaled(-1 / factor)
        turned = comparator if factor > 0 else FLIPPED[comparator]
        return self._rewritten(atoms[number], turned, other, at)

    def _rewritten(
        self,
        atom: SymbolicAtom,
        comparator: Comparator,
        other: SymbolicPolynomial,
        at: exp.Expr,
    ) -> SymbolicCondition:
        """Say `atom comparator other` without the atom."""

        def is_(polynomial: SymbolicPolynomial, how: Comparator) -> SymbolicCondition:
            return self.compare(polynomial, how, at)

        own = atom.argument
        if atom.function == "ratio":
            assert atom.divisor is not None
            below = atom.divisor
            if comparator in {"=", "<>"}:
                return all_of([is_(below, "<>"), is_(own - other * below, comparator)])
            above, flipped = own - other * below, FLIPPED[comparator]
            if_above = all_of([is_(below, ">"), is_(above, comparator)])
            return any_of([if_above, all_of([is_(below, "<"), is_(above, flipped)])])
        if atom.function == "abs":
            if comparator in {"<", "<=", "<>"}:
                apart = [is_(own - other, comparator), is_(-own - other, comparator)]
                if comparator != "<>":
                    return all_of(apart)
                return any_of([is_(other, "<"), all_of(apart)])
            near = any_of([is_(own - other, comparator), is_(-own - other, comparator)])
            return all_of([is_(other, ">="), near]) if comparator == "=" else near
        squares = is_(own - other * other, comparator)
        defined = [] if atom.is_never_negative else [is_(own, ">=")]
        if comparator in {"<", "<=", "="}:
            sign: Comparator = ">" if comparator == "<" else ">="
            return all_of([*defined, *_unless_sure(other, sign, is_), squares])
        if other.is_constant and other.rest >= 0:
            return all_of([*defined, squares])
        return all_of([*defined, any_of([is_(other, "<"), squares])])


def _unless_sure(
    other: SymbolicPolynomial,
    sign: Comparator,
    is_: Callable[[SymbolicPolynomial, Comparator], SymbolicCondition],
) -> list[SymbolicCondition]:
    """Compare with zero what is not a number above it."""
    sure = other.is_constant and (other.rest > 0 or (other.rest == 0 and sign == ">="))
    return [] if sure else [is_(other, sign)]
