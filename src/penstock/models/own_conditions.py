"""Own conditions: what a plan asks of the attributes of one source alone.

While such a condition has no solution in a segment, the segment is in no answer, whatever stands
beside it. Conditions of single queries are not among them: they stand behind the plan.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.algebra.models import (
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    ModelDisjunction,
    ModelFilter,
    ModelJoin,
    ModelNegation,
    ModelSource,
    ModelStage,
    Monomial,
    Polynomial,
)
from penstock.models.gains import compared, width_of
from penstock.models.ranges import used


def own_conditions(plan: ModelStage) -> dict[int, ModelCondition]:
    """Give, by number of the source, the condition of its own attributes; of some there is none.

    Conditions are linear: then it is known how far they move when attributes do.
    """
    found: dict[int, ModelCondition] = {}
    _collect(plan, (), 0, found)
    return found


def _collect(
    stage: ModelStage,
    above: Sequence[ModelCondition],
    first: int,
    found: dict[int, ModelCondition],
) -> int:
    """Take conditions down to the sources, numbered from `first` on; give the next number."""
    if isinstance(stage, ModelSource):
        if above:
            found[first] = above[0] if len(above) == 1 else ModelConjunction(terms=tuple(above))
        return first + 1
    if isinstance(stage, ModelFilter):
        return _collect(stage.input, [*above, *_parts(stage.condition)], first, found)
    if isinstance(stage, ModelJoin):
        parts = [*above, *_parts(stage.condition)]
        width = width_of(stage.left)
        left = [part for part in parts if _speaks_of(part, range(width))]
        behind = range(width, width + width_of(stage.right))
        right = [_moved(part, width) for part in parts if _speaks_of(part, behind)]
        return _collect(stage.right, right, _collect(stage.left, left, first, found), found)
    return _collect(stage.input, (), first, found)


def _parts(condition: ModelCondition) -> list[ModelCondition]:
    """Give the terms of a conjunction whose movement is known: linear, of no query's own."""
    if isinstance(condition, ModelConjunction):
        return [part for term in condition.terms for part in _parts(term)]
    linear = all(
        comparison.parameter is None
        and all(sum(term.powers) <= 1 for term in comparison.polynomial.terms)
        for comparison in compared(condition)
    )
    return [condition] if linear else []


def _speaks_of(condition: ModelCondition, places: range) -> bool:
    """Say whether a condition speaks of attributes, and of these places alone."""
    names = {name for each in compared(condition) for name in used(each.polynomial)}
    return bool(names) and all(name in places for name in names)


def _moved(condition: ModelCondition, by: int) -> ModelCondition:
    """Give a condition of the right side of a join in the places of that side."""
    if isinstance(condition, ModelComparison):
        terms = tuple(
            Monomial(factor=term.factor, powers=term.powers[by:])
            for term in condition.polynomial.terms
        )
        return ModelComparison(
            polynomial=Polynomial(terms=terms), comparator=condition.comparator,
            parameter=condition.parameter,
        )  # fmt: skip
    if isinstance(condition, ModelNegation):
        return ModelNegation(term=_moved(condition.term, by))
    terms_ = tuple(_moved(term, by) for term in condition.terms)
    if isinstance(condition, ModelConjunction):
        return ModelConjunction(terms=terms_)
    return ModelDisjunction(terms=terms_)
