"""Chains: estimates for all stages of a plan, from the statistics of its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.algebra.models import (
    ModelCondition,
    ModelConjunction,
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelSource,
    ModelStage,
    ModelWindow,
)
from penstock.planning.selectivity.conditions import Filtered, filtered, selectivity_of
from penstock.planning.selectivity.extremes import enveloped, windowed
from penstock.planning.selectivity.joins import joined
from penstock.planning.selectivity.maps import mapped
from penstock.planning.selectivity.statistics import (
    Estimation,
    SegmentStatistics,
    Selectivity,
    StageEstimate,
)
from penstock.planning.selectivity.sums import summed
from penstock.planning.selectivity.terms import bound


@dataclass(frozen=True, slots=True)
class _Flow:
    """What comes out of a stage, and what it was before the filters that led here."""

    made: SegmentStatistics
    base: SegmentStatistics
    conditions: tuple[ModelCondition, ...] = ()
    passed: Selectivity = field(default_factory=lambda: Selectivity.exactly(1.0))
    """That of all conditions together, over the base."""


def condition_estimate(
    condition: ModelCondition,
    given: SegmentStatistics,
    numbers: Mapping[str, float] | None = None,
    how: Estimation | None = None,
) -> Selectivity:
    """Estimate what a condition lets through; `numbers` are what a query compares with, by name.

    >>> from penstock.algebra.models import ModelComparison, Monomial, Polynomial
    >>> from penstock.models.coefficient_bins import CoefficientBins
    >>> bins = CoefficientBins.of([[100.0, -1.0]], [[110.0, 1.0]], [20], 10.0)
    >>> price = Polynomial(terms=(Monomial(factor=1.0, powers=(1,)),))
    >>> below = ModelComparison(polynomial=price, comparator="<", parameter="limit")
    >>> condition_estimate(below, SegmentStatistics.of(bins), {"limit": 105.0}).estimate
    0.6875
    """
    return selectivity_of(bound(condition, numbers or {}), given, how or Estimation())


def stage_estimates(
    plan: ModelStage,
    sources: Sequence[SegmentStatistics],
    numbers: Mapping[str, float] | None = None,
    how: Estimation | None = None,
) -> tuple[StageEstimate, ...]:
    """Estimate every stage of a plan, in the order in which `stages` gives them.

    `sources` are the statistics of the plan's sources from left to right; `numbers` are what a
    query compares with, by parameter.
    """
    walk = _PlanWalk(list(sources), numbers or {}, how or Estimation())
    walk.flow(plan)
    return tuple(walk.found)


class _PlanWalk:
    """A way through a plan, from its sources to its end."""

    def __init__(
        self, sources: list[SegmentStatistics], numbers: Mapping[str, float], how: Estimation
    ) -> None:
        self._sources = sources
        self._numbers = numbers
        self._how = how
        self.found: list[StageEstimate] = []

    def flow(self, stage: ModelStage) -> _Flow:
        """Estimate a stage behind its inputs."""
        if isinstance(stage, ModelSource):
            own = self._sources.pop(0)
            given, selectivity, flow = own.count, Selectivity.exactly(1.0), _Flow(own, own)
        elif isinstance(stage, ModelJoin):
            left, right = self.flow(stage.left).made, self.flow(stage.right).made
            given = left.count + right.count
            condition = bound(stage.condition, self._numbers)
            selectivity, made = joined(stage, condition, left, right, self._how)
            flow = _Flow(made, made)
        else:
            before = self.flow(stage.input)
            given = before.made.count
            if isinstance(stage, ModelFilter):
                selectivity, flow = self._filter(bound(stage.condition, self._numbers), before)
            else:
                selectivity, made = _one_input(stage, before.made, self._how)
                flow = _Flow(made, made)
        self.found.append(
            StageEstimate(stage=stage, selectivity=selectivity, given=given, made=flow.made)
        )
        return flow

    def _filter(self, condition: ModelCondition, before: _Flow) -> tuple[Selectivity, _Flow]:
        """Estimate a filter behind others.

        A filter behind a filter is their conjunction, and its share what it leaves of what passed
        before: bins cannot tell which of their models did. Literal, bins that were derived go on.
        """
        if self._how.fidelity == "literal":
            found, made = filtered(condition, before.made, self._how)
            return found, _Flow(made, made)
        conditions = (*before.conditions, condition)
        together, made = filtered(ModelConjunction(terms=conditions), before.base, self._how)
        return _left(together, before.passed), _Flow(made, before.base, conditions, together)


def _left(together: Selectivity, before: Selectivity) -> Selectivity:
    """Give the selectivity behind another one that makes both together."""

    def share(part: float, whole: float) -> float:
        return part / whole if whole > 0.0 else 0.0

    found = Selectivity.within(
        share(together.estimate, before.estimate), share(together.low, before.low),
        share(together.high, before.high),
    )  # fmt: skip
    return Selectivity(
        estimate=found.estimate, low=found.low, high=found.high, known=together.known
    )


def _one_input(
    stage: ModelMap | ModelEnvelope | ModelWindow, given: SegmentStatistics, how: Estimation
) -> Filtered:
    if isinstance(stage, ModelMap):
        return mapped(stage, given, how)
    if isinstance(stage, ModelEnvelope):
        return enveloped(stage, given, how)
    if stage.function in ("sum", "avg"):
        return summed(stage, given, how)
    return windowed(stage, given, how)
