"""The plan cycle of multi-way joins: they are measured, verdicts are renewed, plans follow.

Every few micro-batches the planner is asked again, with the figures of the run. If its verdict
becomes another one, a notice says so. A join with ADAPT gets the new plan through the registry, as
a version of its own: it begins at a batch boundary, and the operator carries its windows over.

Rows are dropped only where several looks in a row have seen an overload, and only as long as it
lasts, with ADAPT or without. A run over what is there has all the time it needs: it drops none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.algebra.multi_joins import KIND, MultiJoin, MultiJoinStep
from penstock.algebra.trees import shown
from penstock.kinds.multi_join.measurements import measure_joins, plan_run, shedding_of
from penstock.kinds.multi_join.plans import Measure, Planner, Proposal, StandingPlan
from penstock.kinds.overload import EASED, LOOK_EVERY_BATCHES, Load, Pressure
from penstock.kinds.plan_cycle import Outlook, PlanCycle, Revision, WatchedBatch
from penstock.kinds.statistics import FACTOR_RANGE, MICRO, NANO, Figures, Sums
from penstock.kinds.watch import House, Shedding
from penstock.operators.shared.inputs import key_of_all
from penstock.planning.constants import load_constants
from penstock.planning.costs import Measured
from penstock.planning.figures import percent
from penstock.planning.model import JoinModel
from penstock.planning.plan_costs import Costing, cost, thinned
from penstock.planning.plan_run import SeenPlan
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.forgetting import keep_named
from penstock.vocabulary.shared_figures import ACTUAL_COST, MADE, SPAN, of_inputs

CONFIRMATIONS = 2
"""A verdict must come so often in a row to be believed."""
REPLAN_AFTER_BATCHES = 12
"""No group gets a plan sooner after its last one."""
CHEAPER = 0.1
"""Another tree must save this share of the cost to be worth rebuilding the windows."""
PASS_STEP = 0.05
"""Drop boxes are not moved by less."""


@dataclass(slots=True)
class _Watched:
    """One group: its sums, and what was thought of it at the last looks."""

    step: MultiJoinStep
    sums: Sums
    looked: int = 0
    verdict: str | None = None
    another: tuple[str, int] = ("", 0)
    replanned: int = -REPLAN_AFTER_BATCHES
    load: Load = field(default_factory=Load)
    pressure: Pressure = field(default_factory=Pressure)
    rows: Tally = field(default_factory=Tally)
    """All that was counted in this run."""


class MultiJoinCycle(PlanCycle[StandingPlan]):
    """Plans the multi-way joins of a home, and follows the reports of its runs."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.planner = Planner(house.registry, house.statistics)
        self.book = self.planner.book
        self._registry = house.registry
        self._may_shed = True
        self._shards = 1
        self._groups: dict[str, _Watched] = {}
        self._lock = threading.Lock()

    def watches(self, described: Mapping[str, Any]) -> bool:
        """Watch multi-way joins."""
        return bool(described["kind"] == KIND)

    def propose(
        self, logical: MultiJoin, group: str, arriving: int, plan: StandingPlan | None
    ) -> Outlook[StandingPlan]:
        """Plan for the whole group.

        The newest subscription that gives options decides its order; options that decide what is
        dropped are the same in all of a group.
        """
        if plan is not None and logical.options in (logical.dropping, plan.options):
            return Outlook(verdict=plan.verdict)
        proposal = self.planner.propose(logical, group, self._queries(group) + arriving)
        verdict = proposal.planned.verdict
        return Outlook(verdict=verdict, notes=proposal.notes, make=proposal.standing)

    def begin(self, once: bool, shards: int) -> None:
        """Begin a run."""
        self._may_shed, self._shards = not once, shards
        self._groups.clear()

    def renew(self, group: str, plan: StandingPlan) -> Callable[[int], StandingPlan] | None:
        """Open drop boxes that an earlier run left closed.

        What it measured is no reason to drop rows in this one.
        """
        logical = self.house.logical_of(group) if plan.sheds else None
        if logical is None:
            return None
        logical = replace(logical, options=plan.options)
        proposal = self.planner.propose(logical, group, self._queries(group))
        return None if proposal.closes else proposal.standing

    def watch(self, batch: WatchedBatch[StandingPlan]) -> bool:
        """Take what a batch told; look at a join now and then."""
        plan = batch.plan
        if plan is None:
            return False
        told = batch.report.figures[batch.group]
        with self._lock:
            watched = self._watched(batch.group, batch.described)
            watched.sums.add(watched.step, plan.plan, told)
            watched.load.add(
                spent_s=told[ACTUAL_COST] * NANO,
                span_s=told[SPAN] * MICRO,
                busy_s=batch.report.seconds,
                now_s=batch.now_s,
            )
            watched.rows.add(told.of_kind("counter"))
            due = watched.sums.batches - watched.looked >= LOOK_EVERY_BATCHES
        if due:
            watched.looked = watched.sums.batches
        return due

    def forget_others(self, groups: Collection[str]) -> None:
        """Forget what was seen of groups that are not named."""
        keep_named(self._groups, groups)

    def finish(self, group: str, plan: StandingPlan | None) -> None:
        """Measure once more when a run ends, for the next one."""
        watched, logical = self._groups.get(group), self.house.logical_of(group)
        if (
            watched is not None
            and watched.sums.batches
            and plan is not None
            and logical is not None
        ):
            self._measure(group, watched, logical, plan)

    def review(self, batch: WatchedBatch[StandingPlan]) -> Revision[StandingPlan] | None:
        """Measure a group, ask the planner again, and act on a verdict that has changed."""
        group, number, plan = batch.group, batch.report.batch, batch.plan
        watched, logical = self._groups[group], self.house.logical_of(group)
        if logical is None or plan is None:
            return None
        logical = replace(logical, options=plan.options)
        self._measure(group, watched, logical, plan)
        load = replace(watched.load)
        watched.load.forget()
        if not batch.settled:
            return None
        proposal = self.planner.propose(logical, group, self._queries(group))
        changed = not plan.sheds and self._judge(group, watched, plan, proposal, number)
        is_soon = number - watched.replanned < REPLAN_AFTER_BATCHES
        if self._may_shed:
            moved = self._follow(group, watched, plan, logical, load, number, is_soon)
            if moved is not None:
                return moved
        if plan.sheds or not plan.options.get("adapt") or is_soon or watched.another[1]:
            return None
        if (changed and proposal.plan != plan.plan) or self._is_worth_it(plan, proposal):
            return _revision(watched, plan, proposal, number)
        return None

    def _follow(
        self,
        group: str,
        watched: _Watched,
        plan: StandingPlan,
        logical: MultiJoin,
        load: Load,
        batch: int,
        is_soon: bool,
    ) -> Revision[StandingPlan] | None:
        """Close, move or open drop boxes by what the group takes."""
        queries = self._queries(group)
        model, costing = self._predicted(group, logical, plan)
        if load.needed is None or not costing.cpu:
            return None
        needed = load.needed / (self._shards if key_of_all(watched.step) is not None else 1)
        full = cost(model, plan.plan, Measured(load_constants())).cpu
        measured = Measure(factor=needed / costing.cpu, sheds=True, share=EASED)
        proposal = self.planner.propose(logical, group, queries, measured=measured)
        bound = proposal.planned.bound / EASED
        all_of_it = full * measured.factor
        move = watched.pressure.judge(needed, all_of_it, bound, load.is_busy, plan.sheds)
        if is_soon or move == "stay":
            return None
        if move == "open":
            opened = replace(measured, sheds=False, share=1.0)
            proposal = self.planner.propose(logical, group, queries, measured=opened)
            told = f"the overload is over: all of it needs {_needs(all_of_it, bound)}"
            return _revision(watched, plan, proposal, batch, f"{told}. Nothing is dropped now.")
        if not plan.sheds and not proposal.closes:
            if not watched.pressure.told:
                watched.pressure.told = True
                self.house.tell(group, batch, f"it cannot keep up. {proposal.planned.sentence}")
            return None
        if not proposal.closes or proposal.moves(plan) <= PASS_STEP:
            return None
        told = (
            f"it cannot keep up: it was measured to need {_needs(needed, bound)}. Rows are dropped"
        )
        if plan.sheds:
            told = f"what it needs has changed: now {_needs(all_of_it, bound)}. Drop boxes follow"
        return _revision(watched, plan, proposal, batch, f"{told}.")

    def plan_run(self, group: str, plan: StandingPlan | None) -> SeenPlan | None:
        """Say what a group was seen to do in this run, beside what is predicted."""
        watched = self._groups.get(group)
        logical = self.house.logical_of(group)
        if watched is None or plan is None or logical is None or not watched.sums.span_s:
            return None
        with self._lock:
            model, costing = self._predicted(group, logical, plan)
            measured = self.planner.statistics.group(group).kept
            return plan_run(model, costing, plan, watched.sums, measured)

    def shedding(self, group: str, plan: StandingPlan | None) -> Shedding | None:
        """Say what is let through, what was dropped, and what remains."""
        logical = self.house.logical_of(group) if plan is not None else None
        if plan is None or logical is None:
            return None
        watched = self._groups.get(group)
        sums, rows = (watched.sums, watched.rows) if watched is not None else (Sums(), Tally())
        measured = self.planner.statistics.group(group).kept
        return shedding_of(logical, plan, sums, rows, measured)

    # Inside

    def _queries(self, group: str) -> int:
        return len(self._registry.queries_of_group(group))

    def _watched(self, group: str, described: Mapping[str, Any]) -> _Watched:
        if group not in self._groups:
            self._groups[group] = _Watched(MultiJoinStep.from_json(dict(described)), Sums())
        return self._groups[group]

    def _measure(
        self, group: str, watched: _Watched, logical: MultiJoin, plan: StandingPlan
    ) -> None:
        """Turn sums into measured figures, where they prove something."""
        statistics, sums = self.planner.statistics, watched.sums
        figures = statistics.groups.setdefault(group, Figures())
        with self._lock:
            for number, each in enumerate(logical.inputs):
                for part in ("terms", "residual"):
                    share = sums.share(number, part)
                    if share is not None:
                        figures.selections[f"{number} {part}"] = share
                rate = sums.rate(number) if each.window is not None else None
                if rate is not None:
                    statistics.rates[each.relation] = rate
                is_selected = any(key.startswith(f"{number} ") for key in figures.selections)
                if each.window is None and not is_selected and sums.rows.get(number):
                    statistics.rows[each.relation] = sums.rows[number]
            model = self.planner.modelled(logical, group, self._queries(group)).model
            measure_joins(figures, model, plan, sums)
            model, costing = self._predicted(group, logical, plan)
            made = sums.per_second((MADE, of_inputs(model.everything)))
            full = cost(model, plan.plan, Measured(load_constants())).joins
            if made is not None and full and full[-1].made:
                figures.kept = min(made / full[-1].made, 1.0) if plan.sheds else 1.0
            used = sums.utilisation
            if used is not None and costing.cpu:
                low, high = FACTOR_RANGE
                figures.cost_factor = min(max(used / costing.cpu, low), high)
        statistics.save()

    def _predicted(
        self, group: str, logical: MultiJoin, plan: StandingPlan
    ) -> tuple[JoinModel, Costing]:
        """Cost a plan behind its drop boxes, by the figures of now and uncorrected constants."""
        model = self.planner.modelled(logical, group, self._queries(group)).model
        behind = model
        if plan.plan.passes:
            behind = thinned(model, plan.plan.passes, plan.plan.boxes)
        return model, cost(behind, plan.plan, Measured(load_constants()))

    def _judge(
        self, group: str, watched: _Watched, plan: StandingPlan, proposal: Proposal, batch: int
    ) -> bool:
        """Say whether the verdict has changed, and tell; once is no change."""
        known = watched.verdict or plan.verdict
        now = proposal.planned.verdict
        if now == known:
            watched.another = ("", 0)
            return False
        before, times = watched.another
        watched.another = (now, times + 1 if before == now else 1)
        if watched.another[1] < CONFIRMATIONS:
            return False
        watched.verdict, watched.another = now, ("", 0)
        advice = (
            "" if plan.options.get("adapt") else " Subscribe with ADAPT to let its plan follow."
        )
        if now == "INSUFFICIENT":
            advice = f" {' '.join(proposal.notes[1:])}" if not plan.sheds else ""
        text = f"the verdict was {known} and is now {now}: {proposal.planned.sentence}{advice}"
        self.house.tell(group, batch, text)
        return True

    def _is_worth_it(self, plan: StandingPlan, proposal: Proposal) -> bool:
        """Say whether another tree is cheap enough to rebuild the windows for."""
        proposed = proposal.plan
        if proposed.tree == plan.plan.tree and proposed.pulled == plan.plan.pulled:
            return False
        now = cost(proposal.model, plan.plan, proposal.library).cpu
        return cost(proposal.model, proposed, proposal.library).cpu < now * (1.0 - CHEAPER)


def _revision(
    watched: _Watched, plan: StandingPlan, proposal: Proposal, batch: int, why: str = ""
) -> Revision[StandingPlan]:
    """Put a proposal in the place of a plan, and say so."""
    watched.replanned = batch
    watched.verdict = None
    watched.pressure = Pressure()
    names = proposal.model.names
    old, new = shown(plan.plan.tree, names), shown(proposal.plan.tree, names)
    order = f"{new} takes the place of {old}" if new != old else f"{new} stays the order"
    told = f"a new plan comes into force: {order}. {proposal.planned.sentence}"
    return Revision(proposal.standing, f"{why} {told[0].upper()}{told[1:]}" if why else told)


def _needs(needed: float, bound: float) -> str:
    return f"{percent(needed)} of a processor, and {percent(bound)} may be used"
