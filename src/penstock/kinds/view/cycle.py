"""Plans of views: the cost curves that a store was measured by, and when they are drawn anew.

An operator rehearses flushes on its own store now and then, and tells how long they took; so curves
are those of the real view over its real rows. What flushes then really take corrects them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.algebra.views import StandingView, ViewStep
from penstock.kinds.plan_cycle import (
    Outlook,
    PlanBook,
    PlanCycle,
    PlanWatch,
    Revision,
    WatchedBatch,
)
from penstock.kinds.view.explanation import plan_facts
from penstock.kinds.view.hindsight import Hindsight
from penstock.kinds.watch import Explained, House
from penstock.operators.view.figures import (
    FLUSH_COST,
    FLUSHED,
    FLUSHES,
    MISSES,
    REFRESH_TIME,
    REFRESHES,
    REHEARSAL,
)
from penstock.planning.explanation import Explanation
from penstock.planning.figures import seconds
from penstock.views.maintenance.curves import CostCurve
from penstock.views.maintenance.decisions import HEADROOM, FlushPlan
from penstock.views.rehearsals import least_seconds, refuse_short_bound
from penstock.vocabulary.figures import Tally

FLUSHES_JUDGED = 32
"""So many flushes of an input are compared with its curve before that is corrected."""
DRIFT = 1.3
"""By this factor flushes may be slower or faster than their curve before it is corrected."""
HEADROOM_LEAST = 0.3
HEADROOM_STEP = 0.8
"""By this factor headroom shrinks behind a miss, and grows back when the bound was kept long."""
KEPT_LONG = 1_000
"""Refreshes that keep the bound until then."""
CAUSES = {
    "burst": "more came at once than the bound allows",
    "curve": "flushes take longer than their curves say",
    "store": "the store was slow",
}
"""Why a refresh took longer than the bound, in words."""


@dataclass(slots=True)
class FlushesSeen:
    """What was seen of one input since its curve was drawn."""

    flushes: int = 0
    seen_s: float = 0.0
    expected_s: float = 0.0

    @property
    def drift(self) -> float:
        """How much longer flushes take than their curve says."""
        return self.seen_s / self.expected_s if self.expected_s > 0.0 else 1.0


@dataclass(slots=True)
class ViewSeen:
    """What was seen of one view in this run."""

    rehearsed: dict[int, dict[int, float]] = field(default_factory=dict)
    inputs: dict[int, FlushesSeen] = field(default_factory=dict)
    misses: dict[str, int] = field(default_factory=dict)
    kept: int = 0
    """Refreshes that kept the bound, one behind the other."""
    hindsight: Hindsight | None = None
    told: Tally = field(default_factory=Tally)
    """Figures of the run: what was counted in all, and what stands."""


class ViewCycle(PlanCycle[FlushPlan]):
    """Draws curves of views from rehearsals, and corrects them by what flushes take."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._seen: dict[str, ViewSeen] = {}
        self.book = PlanBook(house.registry, lambda number, data: FlushPlan.from_json(data, number))

    def propose(
        self, logical: StandingView, group: str, arriving: int, plan: FlushPlan | None
    ) -> Outlook[FlushPlan]:
        """Refuse a bound that not even an empty view keeps; else wait for rows to measure."""
        del group, arriving, plan
        step = logical.step()
        least_s = least_seconds(step)
        if least_s is not None:
            refuse_short_bound(step, least_s)
        return Outlook()

    def watches(self, described: Mapping[str, Any]) -> bool:
        """Watch every view."""
        return bool(described["kind"] == "view")

    def watch(self, batch: WatchedBatch[FlushPlan]) -> bool:
        """Take rehearsals and flushes; look when there are new curves, or old ones are wrong."""
        told, seen = batch.report.figures[batch.group], self._of(batch.group)
        rehearsed = _rehearsed(told)
        if rehearsed:
            seen.rehearsed = rehearsed
        if batch.plan is not None:
            self._note(seen, told, batch.plan)
        seen.misses = {cause: count for cause, count in told.by(MISSES).items() if count}
        if seen.hindsight is None:
            seen.hindsight = Hindsight(len(batch.described["definition"]["inputs"]))
        seen.hindsight.note(told, batch.now_s)
        seen.told = _added(seen.told, told)
        seen.kept = 0 if seen.misses else seen.kept + told[REFRESHES]
        drifted = any(_is_wrong(own) for own in seen.inputs.values())
        looks = bool(rehearsed or drifted or seen.misses) or _is_long_kept(seen, batch.plan)
        return looks and batch.settled

    def _note(self, seen: ViewSeen, told: Tally, plan: FlushPlan) -> None:
        for number, curve in enumerate(plan.curves):
            if told[FLUSHES, number] == 1:
                own = seen.inputs.setdefault(number, FlushesSeen())
                own.flushes += 1
                own.seen_s += told[FLUSH_COST, number] / 1e9
                own.expected_s += curve(told[FLUSHED, number])

    def review(self, batch: WatchedBatch[FlushPlan]) -> Revision[FlushPlan] | None:
        """Draw curves anew from a rehearsal, or correct those in force."""
        seen = self._of(batch.group)
        step = ViewStep.from_json(dict(batch.described))
        headroom = HEADROOM if batch.plan is None else batch.plan.headroom
        if seen.rehearsed:
            rehearsed, seen.rehearsed = seen.rehearsed, {}
            curves = curves_of(rehearsed, len(step.definition.inputs))
            if curves is None:
                return None
            seen.inputs.clear()
            return self._revision(batch, curves, headroom, _bound_words(step, curves, batch.plan))
        if batch.plan is None:
            return None
        if seen.misses:
            return self._missed(batch, seen, batch.plan)
        if _is_long_kept(seen, batch.plan):
            seen.kept, headroom = 0, min(headroom / HEADROOM_STEP, HEADROOM)
            text = f"the bound was kept long. {_waiting_words(headroom)}"
            return self._revision(batch, batch.plan.curves, headroom, text)
        factors = {n: own.drift for n, own in seen.inputs.items() if _is_wrong(own)}
        curves = tuple(
            curve.scaled(factors.get(number, 1.0)) for number, curve in enumerate(batch.plan.curves)
        )
        seen.inputs.clear()
        shown = ", ".join(
            f"{step.definition.inputs[number].relation} {factor:.2f}"
            for number, factor in sorted(factors.items())
        )
        return self._revision(
            batch, curves, headroom, f"flushes take other times than measured ({shown})"
        )

    def _revision(
        self,
        batch: WatchedBatch[FlushPlan],
        curves: tuple[CostCurve, ...],
        headroom: float,
        text: str,
    ) -> Revision[FlushPlan]:
        """Plan with curves: whether inputs are flushed apart, and what the plan before cost."""
        bound_s = ViewStep.from_json(dict(batch.described)).bound_us / 1e6
        plan, hindsight = batch.plan, self._of(batch.group).hindsight
        assert hindsight is not None, "a batch is watched before it is reviewed"
        regret = 0.0
        if plan is not None:
            found = hindsight.regret(plan.curves, bound_s * plan.headroom)
            regret = plan.regret if found is None else found
        replayed, period = hindsight.replayed(curves, bound_s * headroom)
        come, every_s = hindsight.expected()
        made = FlushPlan(
            number=0,
            curves=curves,
            come=come,
            every_s=every_s,
            headroom=headroom,
            together=not replayed and hindsight.is_together(curves, bound_s * headroom),
            replayed=replayed,
            period=period,
            regret=regret,
        )
        return Revision(made.numbered, text)

    def _missed(
        self, batch: WatchedBatch[FlushPlan], seen: ViewSeen, plan: FlushPlan
    ) -> Revision[FlushPlan]:
        """Answer a refresh that took too long: say why, and leave less waiting from now on."""
        told = batch.report.figures[batch.group]
        cause = ", ".join(f"{CAUSES[own]} ({count})" for own, count in seen.misses.items())
        headroom = max(plan.headroom * HEADROOM_STEP, HEADROOM_LEAST)
        took = seconds(told[REFRESH_TIME] / 1e9)
        count = sum(seen.misses.values())
        text = (
            f"{count} refresh(es) took longer than the bound ({took} in all): {cause}. "
            f"{_waiting_words(headroom)}"
        )
        return self._revision(batch, plan.curves, headroom, text)

    def told(self, group: str) -> Tally:
        """Give the figures of a view in this run; none before its first batch."""
        return self._of(group).told

    def informed(self, group: str, plan: FlushPlan | None) -> FlushPlan | None:
        """Give a plan with what is expected to come now."""
        hindsight = self._of(group).hindsight
        come, every_s = ((), 0.0) if hindsight is None else hindsight.expected()
        return plan if plan is None or not come else replace(plan, come=come, every_s=every_s)

    def _of(self, group: str) -> ViewSeen:
        return self._seen.setdefault(group, ViewSeen())


class ViewWatch(PlanWatch[FlushPlan]):
    """Follows what views cost."""

    cycle: ViewCycle

    def __init__(self, house: House) -> None:
        super().__init__(house, ViewCycle(house))

    def explain(self, asked: Explained) -> Explanation:
        """Say what flushes cost, when which input is flushed, and what another bound would mean."""
        group = asked.explanation.group
        plan = self.cycle.informed(group, self.book.standing(group))
        return plan_facts(asked, plan, self.cycle.told(group))


def _added(before: Tally, told: Tally) -> Tally:
    """Add up what is counted; of the rest, what was told last stands."""
    found = Tally({(figure, *labels): value for figure, labels, value in told})
    for figure, labels, value in before:
        if figure.kind == "counter" and figure is not REHEARSAL:
            found[figure, *labels] += value
    return found


def _is_long_kept(seen: ViewSeen, plan: FlushPlan | None) -> bool:
    return plan is not None and plan.headroom < HEADROOM and seen.kept >= KEPT_LONG


def _waiting_words(headroom: float) -> str:
    return f"From now on changes may wait for {100 * headroom:.0f} % of it"


def _rehearsed(told: Tally) -> dict[int, dict[int, float]]:
    found: dict[int, dict[int, float]] = {}
    for figure, labels, value in told:
        if figure is REHEARSAL and value:
            number, size = map(int, labels)
            found.setdefault(number, {})[size] = value / 1e9
    return found


def _is_wrong(own: FlushesSeen) -> bool:
    wrong = own.drift > DRIFT or own.drift < 1.0 / DRIFT
    return own.flushes >= FLUSHES_JUDGED and wrong


def curves_of(
    rehearsed: Mapping[int, Mapping[int, float]], inputs: int
) -> tuple[CostCurve, ...] | None:
    """Draw the curves of all inputs; one that has no rows yet is as dear as the dearest other."""
    found: dict[int, CostCurve] = {}
    for number, samples in rehearsed.items():
        sizes = sorted(samples)
        found[number] = CostCurve.from_samples(sizes, [samples[size] for size in sizes])
    if not found:
        return None
    dearest = max(found.values(), key=lambda curve: curve(1))
    return tuple(found.get(number, dearest) for number in range(inputs))


def _bound_words(step: ViewStep, curves: tuple[CostCurve, ...], before: FlushPlan | None) -> str:
    """Say whether the bound can be kept; nothing, if that was said of the curves before."""
    bound_s, least_s = step.bound_us / 1e6, _least_s(curves)
    kept = least_s <= bound_s
    if before is not None and kept == (_least_s(before.curves) <= bound_s):
        return ""
    words = f"with one change of each input a refresh takes {seconds(least_s)}"
    if kept:
        return f"flushes were rehearsed: {words}, and may take {seconds(bound_s)}"
    return (
        f"flushes were rehearsed, and the bound of {seconds(bound_s)} cannot be kept: {words}. "
        "All is flushed at once"
    )


def _least_s(curves: tuple[CostCurve, ...]) -> float:
    return sum(curve(1) for curve in curves)
