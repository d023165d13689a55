"""Gains: how far the outputs of a plan can be off when attributes of its sources are.

An output is off by at most `offset + gain · amounts`, with a gain for every *leaf*, an attribute of
a source: 1 for what is passed on, |a| for `a · x`, the greatest |y| for `x · y`, 1 for averages,
least and greatest values, the window's seconds for sums, 1 per coordinate for distances.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.algebra.models import (
    MappedAttribute,
    ModelComparison,
    ModelCondition,
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelNegation,
    ModelSource,
    ModelStage,
    ModelWindow,
    Polynomial,
    stages,
)
from penstock.models.ranges import (
    EVERYTHING,
    ValueRange,
    polynomial_range,
    restricted,
    slope,
    used,
)
from penstock.vocabulary.batches import Floats

SECOND_US = 1_000_000
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PlanLeaf:
    """An attribute of a source of a plan, both by position."""

    source: int
    attribute: int
    name: str


@dataclass(frozen=True, slots=True)
class Reach:
    """What an attribute of a stage depends on."""

    gain: Floats
    """By leaf; infinite where nothing bounds it."""
    offset: float
    """By how much approximation puts it off."""
    leaves: frozenset[int]
    """The leaves that its value is made of."""
    values: ValueRange
    why: str = ""
    """What makes a gain infinite."""


@dataclass(frozen=True, slots=True)
class StageReach:
    """What the attributes of a stage depend on, and what its conditions speak of.

    `classes` says which key columns are equal. `whole` says whether a key has one segment at an
    instant.
    """

    attributes: tuple[Reach, ...]
    asked: frozenset[int]
    classes: tuple[int, ...]
    whole: bool = True


def leaves_of(plan: ModelStage) -> tuple[PlanLeaf, ...]:
    """Give the attributes of all sources of a plan, from left to right."""
    sources = [each for each in stages(plan) if isinstance(each, ModelSource)]
    return tuple(
        PlanLeaf(number, place, attribute.name)
        for number, source in enumerate(sources)
        for place, attribute in enumerate(source.attributes)
    )


def width_of(stage: ModelStage) -> int:
    """Count the attributes of a stage."""
    if isinstance(stage, ModelSource | ModelMap):
        return len(stage.attributes)
    if isinstance(stage, ModelJoin):
        return width_of(stage.left) + width_of(stage.right)
    return width_of(stage.input) if isinstance(stage, ModelFilter) else 1


def reach(plan: ModelStage, amounts: Floats) -> StageReach:
    """Say what the outputs of a plan depend on, if leaves are off by at most so much.

    Where a plan is linear the amounts do not matter; a product is the steeper, the farther its
    factors may be off.
    """
    return _ReachWalk(amounts).visit(plan)


def compared(condition: ModelCondition) -> Iterator[ModelComparison]:
    """Give all comparisons of a condition."""
    if isinstance(condition, ModelComparison):
        yield condition
    elif isinstance(condition, ModelNegation):
        yield from compared(condition.term)
    else:
        for term in condition.terms:
            yield from compared(term)


class _ReachWalk:
    """Goes through a plan, inputs first."""

    def __init__(self, amounts: Floats) -> None:
        self._amounts = amounts
        self._next = 0

    def visit(self, stage: ModelStage) -> StageReach:
        """Say what a stage depends on."""
        if isinstance(stage, ModelSource):
            return self._source(stage)
        if isinstance(stage, ModelJoin):
            return self._join(stage)
        below = self.visit(stage.input)
        if isinstance(stage, ModelFilter):
            return self._restrict(below, stage.condition)
        if isinstance(stage, ModelMap):
            made = tuple(self._mapped(below, each) for each in stage.attributes)
            classes = tuple(below.classes[place] for place in stage.key)
            return StageReach(
                made, below.asked, classes, below.whole and {*classes} == {*below.classes}
            )
        made = (_aggregated(below, stage),)
        return StageReach(made, below.asked, tuple(range(len(stage.group))))

    def _source(self, source: ModelSource) -> StageReach:
        made = []
        for _ in source.attributes:
            gain = np.zeros(len(self._amounts))
            gain[self._next] = 1.0
            made.append(Reach(gain, 0.0, frozenset({self._next}), EVERYTHING))
            self._next += 1
        return StageReach(tuple(made), frozenset(), tuple(range(len(source.made_key))))

    def _join(self, join: ModelJoin) -> StageReach:
        left, right = self.visit(join.left), self.visit(join.right)
        shift = max(left.classes, default=-1) + 1
        classes = [*left.classes, *(shift + each for each in right.classes)]
        for one, other in join.equal:
            kept, gone = classes[one], classes[len(left.classes) + other]
            classes = [kept if each == gone else each for each in classes]
        both = StageReach(
            (*left.attributes, *right.attributes), left.asked | right.asked, tuple(classes),
            left.whole and right.whole,
        )  # fmt: skip
        return self._restrict(both, join.condition)

    def _restrict(self, below: StageReach, condition: ModelCondition) -> StageReach:
        asked = set(below.asked)
        for comparison in compared(condition):
            for attribute in used(comparison.polynomial):
                asked |= below.attributes[attribute].leaves
        box = restricted([each.values for each in below.attributes], condition)
        made = tuple(
            Reach(each.gain, each.offset, each.leaves, values, each.why)
            for each, values in zip(below.attributes, box, strict=True)
        )
        return StageReach(made, frozenset(asked), below.classes, below.whole)

    def _mapped(self, below: StageReach, attribute: MappedAttribute) -> Reach:
        names = set(used(attribute.polynomial))
        if attribute.divisor is not None:
            names |= used(attribute.divisor)
        inputs = {place: below.attributes[place] for place in sorted(names)}
        box = [self._seen(each) for each in below.attributes]
        gains, values = function_gains(attribute, sorted(names), box)
        gain, offset, why = np.zeros(len(self._amounts)), attribute.tolerance, ""
        for place, steepness in gains.items():
            one = inputs[place]
            why = why or one.why
            if math.isinf(steepness):
                why = why or f"{attribute.name} is steep without limit where no range bounds it"
            with np.errstate(invalid="ignore"):
                gain += np.where(one.gain == 0.0, 0.0, one.gain * steepness)
            offset += 0.0 if one.offset == 0.0 else one.offset * steepness
        leaves = frozenset().union(*(one.leaves for one in inputs.values()))
        return Reach(gain, offset, leaves, values, why)

    def _seen(self, one: Reach) -> ValueRange:
        """Give the values that an attribute has, and those that it could have had."""
        with np.errstate(invalid="ignore"):
            off = np.where(self._amounts == 0.0, 0.0, one.gain * self._amounts)
        total = float(off.sum()) + one.offset
        return EVERYTHING if math.isnan(total) else one.values.wider(total)


def _aggregated(below: StageReach, stage: ModelEnvelope | ModelWindow) -> Reach:
    """Give what an aggregate depends on."""
    one = below.attributes[stage.attribute]
    values = one.values
    if isinstance(stage, ModelEnvelope):
        return one
    if stage.gap == "zero":
        values = values.around(0.0)
    if stage.function != "sum":
        return Reach(one.gain, one.offset, one.leaves, values, one.why)
    seconds = stage.size_us / SECOND_US
    values = values.times(ValueRange(seconds, seconds))
    alone = below.whole and {below.classes[place] for place in stage.group} == {*below.classes}
    if alone:
        gain = one.gain * seconds
        return Reach(gain, one.offset * seconds, one.leaves, values, one.why)
    endless = np.where(one.gain > 0.0, np.inf, 0.0)
    why = f"{stage.name} adds up as many keys as come"
    return Reach(endless, one.offset and math.inf, one.leaves, EVERYTHING, one.why or why)


def function_gains(
    attribute: MappedAttribute, names: Sequence[int], box: Sequence[ValueRange]
) -> tuple[dict[int, float], ValueRange]:
    """Give the gain of each attribute that a function is of, and the function's values."""
    inner = attribute.polynomial
    values = polynomial_range(inner, box)
    slopes = {place: polynomial_range(slope(inner, place), box).magnitude for place in names}
    if attribute.function == "abs":
        return slopes, ValueRange(values.distance, values.magnitude)
    if attribute.function == "sqrt":
        low, high = max(values.low, 0.0), max(values.high, 0.0)
        roots = ValueRange(math.sqrt(low), math.sqrt(high))
        sides = _norm_gains(inner, names)
        if sides is not None:
            return sides, roots
        half = math.inf if low == 0.0 else 0.5 / math.sqrt(low)
        return {place: _finite_product(each, half) for place, each in slopes.items()}, roots
    if attribute.function == "ratio":
        assert attribute.divisor is not None
        below = polynomial_range(attribute.divisor, box)
        if below.distance == 0.0:
            return dict.fromkeys(names, math.inf), EVERYTHING
        share = 1.0 / below.distance
        gains = {}
        for place in names:
            own = polynomial_range(slope(attribute.divisor, place), box).magnitude
            through = _finite_product(_finite_product(values.magnitude, own), share * share)
            gains[place] = _finite_product(slopes[place], share) + through
        inverse = ValueRange(*sorted((_inverse(below.low), _inverse(below.high))))
        return gains, values.times(inverse)
    return slopes, values


def _inverse(value: float) -> float:
    return 1.0 / value if math.isfinite(value) else 0.0


def _finite_product(a: float, b: float) -> float:
    """Multiply; nothing times infinity is nothing."""
    return 0.0 if a == 0.0 or b == 0.0 else a * b


def _norm_gains(inner: Polynomial, names: Sequence[int]) -> dict[int, float] | None:
    """Give the gains of a root of a sum of squares of lines, or None if it is none.

    Such a root is the length of a vector that hangs linearly on the attributes: it moves no more
    than the vector does.
    """
    if any(sum(term.powers) > 2 for term in inner.terms):
        return None
    place_of = {name: place + 1 for place, name in enumerate(names)}
    form = np.zeros((len(names) + 1, len(names) + 1))
    for term in inner.terms:
        factors = [place_of[i] for i, power in enumerate(term.powers) for _ in range(power)]
        one, other = [0] * (2 - len(factors)) + factors
        form[one, other] += term.factor / 2.0
        form[other, one] += term.factor / 2.0
    scale = float(np.abs(form).max(initial=0.0))
    if np.linalg.eigvalsh(form)[0] < -ROUNDING * scale:
        return None
    return {name: math.sqrt(max(form[place, place], 0.0)) for name, place in place_of.items()}
