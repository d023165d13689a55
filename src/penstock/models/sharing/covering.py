"""Covering: a condition that holds whenever one of several does.

Of conjunctions, terms that compare the same with a number, or the same pair of attributes, are
covered by the weakest of them. What has no such term in common is covered by an OR, of as few terms
as are found: each one is an equation. Terms of attributes that not all speak of are left out. The
covering condition may hold more often than it must, never less often, however numbers are rounded:
so what stands for another term has its factors, or those times a power of two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import frexp
from typing import Literal

from penstock.algebra.models import (
    Comparator,
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    ModelDisjunction,
)

Number = float | Fraction
Direction = Literal["below", "above"]
Form = tuple[tuple[tuple[int, ...], Number], ...]
"""Powers and factors without the constant, the first factor being 1."""
FLIPPED: dict[Comparator, Comparator] = {
    "<": ">", "<=": ">=", "=": "=", "<>": "<>", ">=": "<=", ">": "<",
}  # fmt: skip
ALWAYS = ModelConjunction(terms=())


@dataclass(frozen=True, slots=True)
class CoverSide:
    """What terms have in common that the weakest of them covers: a form and the side of it.

    With `scaled`, the form is a pair of attributes x, y, and terms are `x < number · y`. What terms
    multiply all of it with is `scale`, but for a power of two: others are rounded otherwise.
    """

    form: Form
    direction: Direction
    scaled: bool
    scale: float
    attributes: frozenset[int] = field(init=False, compare=False)
    """The attributes that it speaks of."""
    code: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        own = frozenset(place for powers, _ in self.form for place, p in enumerate(powers) if p)
        object.__setattr__(self, "attributes", own)
        object.__setattr__(self, "code", hash((self.form, self.direction, self.scaled, self.scale)))

    def __hash__(self) -> int:
        return self.code


@dataclass(frozen=True, slots=True)
class CoverEdge:
    """A term by its number; at equal numbers the one that holds there is the weaker."""

    number: Number
    term: ModelComparison

    @property
    def is_closed(self) -> bool:
        """Whether it holds at its number."""
        return self.term.comparator in ("<=", ">=")


@dataclass(frozen=True, slots=True)
class CoverExtent:
    """The terms of least and of greatest number on a side."""

    least: CoverEdge
    most: CoverEdge


CoverExtents = Mapping[CoverSide, CoverExtent]


def covering(conditions: Sequence[ModelCondition]) -> ModelCondition:
    """Give a condition that holds whenever one of these does.

    >>> from penstock.algebra.models import Monomial, Polynomial
    >>> def below(number):
    ...     return ModelComparison(comparator="<", polynomial=Polynomial(terms=(
    ...         Monomial(factor=-number, powers=(0,)), Monomial(factor=1.0, powers=(1,)))))
    >>> covering([below(5.0), below(20.0), below(7.0)]) == below(20.0)
    True
    """
    return CoverBook(dict(enumerate(conditions))).covering(range(len(conditions)))


class CoverBook:
    """Conditions by number of which very many sets are covered: each is taken apart once."""

    def __init__(self, conditions: Mapping[int, ModelCondition]) -> None:
        self._conditions = conditions
        self._parts = {number: list(parts_of(own)) for number, own in conditions.items()}
        known: dict[CoverSide, CoverSide] = {}  # equal sides are one, so that they compare quickly
        self._extents = {
            number: [
                {known.setdefault(side, side): own for side, own in extents_of(part).items()}
                for part in parts
            ]
            for number, parts in self._parts.items()
        }
        self._listed = {
            number: frozenset([own, *self._parts[number]]) for number, own in conditions.items()
        }

    def covering(self, numbers: Sequence[int]) -> ModelCondition:
        """Give a condition that holds whenever one of these does."""
        first = self._conditions[numbers[0]]
        if all(self._conditions[number] == first for number in numbers):
            return first
        extents = [each for number in numbers for each in self._extents[number]]
        return cover_of(extents) if extents else first

    def listed(self, number: int) -> frozenset[ModelCondition]:
        """Give a condition, and the parts of it."""
        return self._listed[number]


def parts_of(condition: ModelCondition) -> Iterable[ModelCondition]:
    """Give the parts of an OR: what covers each of them covers it."""
    if isinstance(condition, ModelDisjunction):
        for term in condition.terms:
            yield from parts_of(term)
    else:
        yield condition


def cover_of(own: Sequence[CoverExtents]) -> ModelCondition:
    """Give the covering condition of conditions that are known by their extents."""
    shared = set(own[0]).intersection(*own[1:])
    by_attributes = frozenset.intersection(
        *(frozenset(side.attributes for side in extents) for extents in own)
    )
    terms: list[ModelCondition] = []
    for attributes in sorted(by_attributes, key=sorted):
        common = [side for side in shared if side.attributes == attributes]
        if common:
            terms += [_term(side, _merged(side, own)) for side in sorted(common, key=_order)]
        else:
            some = [{s: e for s, e in each.items() if s.attributes == attributes} for each in own]
            terms.append(_any_of(some))
    if not terms and all(own):
        terms.append(_any_of(own))
    return terms[0] if len(terms) == 1 else ModelConjunction(terms=tuple(terms))


def extents_of(condition: ModelCondition) -> dict[CoverSide, CoverExtent]:
    """Give the sides of a conjunction on which its terms lie; others can only be compensated."""
    found: dict[CoverSide, CoverExtent] = {}
    for term in _terms(condition):
        for side, edge in _edges(term):
            own = CoverExtent(edge, edge)
            if side in found and not side.scaled:
                own = _stronger(side, found[side], own)
            elif side in found:
                continue  # One of two scaled pairs of a conjunction is enough.
            found[side] = own
    return found


def position(condition: ModelCondition) -> tuple[float, ...]:
    """Give numbers by which conditions are sorted so that like ones stand side by side."""
    extents = extents_of(condition)
    return tuple(float(extents[side].least.number) for side in sorted(extents, key=_order))


def _terms(condition: ModelCondition) -> Iterable[ModelComparison]:
    if isinstance(condition, ModelConjunction):
        for term in condition.terms:
            yield from _terms(term)
    elif isinstance(condition, ModelComparison) and condition.parameter is None:
        yield condition


def _edges(term: ModelComparison) -> Iterable[tuple[CoverSide, CoverEdge]]:
    """Give the sides of a comparison: one, both of an equality, none of an inequality."""
    constant = sum(each.factor for each in term.polynomial.terms if not any(each.powers))
    rest = [each for each in term.polynomial.terms if any(each.powers)]
    if not rest or term.comparator == "<>":
        return
    rest.sort(key=lambda each: each.powers, reverse=True)
    lead = rest[0].factor
    form: Form = tuple((_short(each.powers), _over(each.factor, lead)) for each in rest)
    scaled = constant == 0.0 and len(form) == 2 and all(sum(powers) == 1 for powers, _ in form)
    number = _over(-constant, lead)
    if scaled:
        number = -form[1][1]
        form = (form[0], (form[1][0], 1.0))
    scale, _ = frexp(abs(lead))
    own: tuple[Comparator, ...] = (term.comparator,)
    if term.comparator == "=":
        own = ("<=", ">=")
    for comparator in own:
        seen = comparator if lead > 0 else FLIPPED[comparator]
        direction: Direction = "below" if seen in ("<", "<=") else "above"
        edge = CoverEdge(number, replace(term, comparator=comparator))
        yield CoverSide(form, direction, scaled, scale), edge


def _over(number: float, lead: float) -> Number:
    """Divide without rounding."""
    if lead in (1.0, -1.0):
        return number / lead + 0.0
    return Fraction(number) / Fraction(lead)


def _short(powers: tuple[int, ...]) -> tuple[int, ...]:
    """Give powers without the zeros behind the last one."""
    last = max(place for place, power in enumerate(powers) if power)
    return powers[: last + 1]


def _better(one: CoverEdge, other: CoverEdge, is_beyond: bool) -> CoverEdge:
    if one.number == other.number:
        return one if one.is_closed else other
    return other if is_beyond else one


def _stronger(side: CoverSide, one: CoverExtent, other: CoverExtent) -> CoverExtent:
    """Of two terms of one conjunction, give the one that says more."""
    first, second = one.most, other.most
    if first.number == second.number:
        return other if first.is_closed else one
    return one if (first.number < second.number) == (side.direction == "below") else other


def _merged(side: CoverSide, own: Iterable[CoverExtents]) -> CoverExtent:
    """Give the extent of all that lies on a side."""
    first, *others = [each[side] for each in own if side in each]
    least, most = first.least, first.most
    for each in others:
        least = _better(least, each.least, each.least.number < least.number)
        most = _better(most, each.most, each.most.number > most.number)
    return CoverExtent(least, most)


def _any_of(own: Sequence[CoverExtents]) -> ModelCondition:
    """Give an OR that holds whenever one of some conditions does; each has a side."""
    left = list(own)
    terms: list[ModelCondition] = []
    while left:
        counts: dict[CoverSide, int] = {}
        for extents in left:
            for side in extents:
                counts[side] = counts.get(side, 0) + 1
        side = max(sorted(counts, key=_order), key=lambda each: counts[each])
        terms.append(_term(side, _merged(side, [each for each in left if side in each])))
        left = [extents for extents in left if side not in extents]
    return terms[0] if len(terms) == 1 else ModelDisjunction(terms=tuple(terms))


def _term(side: CoverSide, extent: CoverExtent) -> ModelCondition:
    """Give the weakest term of a side; of scaled pairs two: which it is the second's sign says.

    Of `x < y` and `x < 3 * y` the first is the weaker where y is below 0, the second elsewhere. The
    other never holds alone, so an OR of both need not ask for the sign.
    """
    if not side.scaled:
        return (extent.most if side.direction == "below" else extent.least).term
    if extent.least.number == extent.most.number:
        return extent.least.term
    # Where both attributes are 0, a term between the two may hold that is closed.
    return ModelDisjunction(terms=(_closed(extent.most.term), _closed(extent.least.term)))


def _closed(term: ModelComparison) -> ModelComparison:
    """Give a comparison that also holds where both sides are equal."""
    return replace(term, comparator="<=" if term.comparator in ("<", "<=") else ">=")


def _order(side: CoverSide) -> tuple[object, ...]:
    return (sorted(side.attributes), side.direction, side.scaled, side.scale, str(side.form))
