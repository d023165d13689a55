"""Watching multi-way joins: what they tell is measured, verdicts are renewed, plans follow.

Every few micro-batches the planner is asked again, with the figures of the run. If its verdict
becomes another one, a notice says so. A join with ADAPT gets the new plan through the registry, as
a version of its own: it begins at a batch boundary, and the operator carries its windows over.

Rows are dropped only where several looks in a row have seen an overload, and only as long as it
lasts, with ADAPT or without. A run over what is there has all the time it needs: it drops none.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.algebra.multi_joins import KIND, MultiJoin, MultiJoinStep
from penstock.algebra.trees import shown
from penstock.kinds.multi_join.explanation import explained
from penstock.kinds.multi_join.measuring import measure_joins, run_facts, shedding_facts
from penstock.kinds.multi_join.plans import Measure, Planner, Proposal, StandingPlan
from penstock.kinds.overload import EASED, LOOK_EVERY_BATCHES, Load, Pressure
from penstock.kinds.statistics import FACTOR_RANGE, MICRO, NANO, Figures, Sums
from penstock.kinds.watch import Explained, House, Promise, Watch
from penstock.operators.shared.inputs import key_of_all
from penstock.planning.constants import load_constants
from penstock.planning.costing import Costing, cost, thinned
from penstock.planning.costs import Measured
from penstock.planning.explanation import Explanation
from penstock.planning.figures import percent
from penstock.planning.model import JoinModel
from penstock.registry.records import Draft
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figures import Tally
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


class MultiJoinWatch(Watch):
    """Plans the multi-way joins of a home, and follows the reports of its runs."""

    def __init__(self, house: House) -> None:
        super().__init__(house)
        self.planner = Planner(house.registry, house.statistics)
        self._registry = house.registry
        self._may_shed = True
        self._shards = 1
        self._groups: dict[str, _Watched] = {}
        self._lock = threading.Lock()
        self._refusal = ""

    def plan(self, logical: MultiJoin, group: str, arriving: int, draft: Draft) -> Promise:
        """Add a plan to the draft that begins a group.

        A plan is for the whole group. The newest subscription that gives options decides its
        order; options that decide what is dropped are the same in all of a group.
        """
        standing = self.planner.standing(group)
        if standing is not None and logical.options in (logical.dropping, standing.options):
            return Promise(verdict=standing.verdict)
        queries = len(self._registry.queries_of_group(group)) + arriving
        proposal = self.planner.propose(logical, group, queries)
        plan = self.planner.draft(draft, group, proposal)
        return Promise(
            verdict=plan.verdict,
            notes=proposal.notes,
            took=lambda version: self.planner.took(group, plan, version),
        )

    def verdict(self, group: str) -> str | None:
        """Give the verdict on a join, as of its plan."""
        plan = self.planner.standing(group)
        return None if plan is None else plan.verdict

    def explain(self, asked: Explained) -> Explanation:
        """Tell the plan that is in force, or would be."""
        return explained(self.planner, asked)

    def begin(self, once: bool, shards: int) -> None:
        """Begin a run.

        What an earlier run measured is no reason to drop rows in this one: drop boxes that it left
        closed are opened.
        """
        self._may_shed, self._shards = not once, shards
        self._groups.clear()
        for group in [name for name, each in self._registry.steps.items() if each["kind"] == KIND]:
            plan, logical = self.planner.standing(group), self.house.logical_of(group)
            if plan is None or not plan.sheds or logical is None:
                continue
            logical = replace(logical, options=plan.options)
            queries = len(self._registry.queries_of_group(group))
            proposal = self.planner.propose(logical, group, queries)
            if not proposal.closes:
                self._publish(group, proposal)

    def take(self, report: BatchReport, now_s: float) -> None:
        """Take a batch's report; look at its joins now and then."""
        for group, described in list(self._registry.steps.items()):
            if described["kind"] != KIND:
                continue
            told = report.figures[group]
            plan = self.planner.in_force(group, report.version)
            if plan is None or not told.of_kind("counter"):
                continue
            with self._lock:
                watched = self._watched(group, described)
                watched.sums.add(watched.step, plan.plan, told)
                watched.load.add(
                    spent_s=told[ACTUAL_COST] * NANO,
                    span_s=told[SPAN] * MICRO,
                    busy_s=report.seconds,
                    now_s=now_s,
                )
                watched.rows.add(told.of_kind("counter"))
                due = watched.sums.batches - watched.looked >= LOOK_EVERY_BATCHES
            if due:
                watched.looked = watched.sums.batches
                self._try(group, report)

    def _try(self, group: str, report: BatchReport) -> None:
        """Look at a group; a planner that refuses must not end the run."""
        try:
            self.look(group, report.batch, report.version)
            self._refusal = ""
        except PenstockError as error:
            if str(error) != self._refusal:
                self._refusal = str(error)
                self.house.tell(group, report.batch, f"the plan stays as it is. {error}")

    def finish(self) -> None:
        """Measure once more when a run ends, for the next one."""
        for group, watched in self._groups.items():
            logical = self.house.logical_of(group)
            plan = self.planner.standing(group)
            if logical is not None and plan is not None and watched.sums.batches:
                self._measure(group, watched, logical, plan)

    def look(self, group: str, batch: int, version: int) -> None:
        """Measure a group, ask the planner again, and act on a verdict that has changed."""
        watched = self._groups[group]
        logical = self.house.logical_of(group)
        plan = self.planner.in_force(group, version)
        if logical is None or plan is None:
            return
        logical = replace(logical, options=plan.options)
        self._measure(group, watched, logical, plan)
        load = replace(watched.load)
        watched.load.forget()
        if plan is not self.planner.standing(group):
            return  # another plan is on its way
        queries = len(self._registry.queries_of_group(group))
        proposal = self.planner.propose(logical, group, queries)
        changed = not plan.sheds and self._judge(group, watched, plan, proposal, batch)
        is_soon = batch - watched.replanned < REPLAN_AFTER_BATCHES
        if self._may_shed and self._follow(group, watched, plan, logical, load, batch, is_soon):
            return
        if plan.sheds or not plan.options.get("adapt") or is_soon or watched.another[1]:
            return
        if (changed and proposal.plan != plan.plan) or self._is_worth_it(plan, proposal):
            self._replan(group, watched, plan, proposal, batch)

    def _follow(
        self,
        group: str,
        watched: _Watched,
        plan: StandingPlan,
        logical: MultiJoin,
        load: Load,
        batch: int,
        is_soon: bool,
    ) -> bool:
        """Close, move or open drop boxes by what the group takes; say whether that was done."""
        queries = len(self._registry.queries_of_group(group))
        model, costing = self._predicted(group, logical, plan)
        if load.needed is None or not costing.cpu:
            return False
        needed = load.needed / (self._shards if key_of_all(watched.step) is not None else 1)
        full = cost(model, plan.plan, Measured(load_constants())).cpu
        measured = Measure(factor=needed / costing.cpu, sheds=True, share=EASED)
        proposal = self.planner.propose(logical, group, queries, measured=measured)
        bound = proposal.planned.bound / EASED
        all_of_it = full * measured.factor
        move = watched.pressure.judge(needed, all_of_it, bound, load.is_busy, plan.sheds)
        if is_soon or move == "stay":
            return False
        if move == "open":
            opened = replace(measured, sheds=False, share=1.0)
            proposal = self.planner.propose(logical, group, queries, measured=opened)
            told = f"the overload is over: all of it needs {_needs(all_of_it, bound)}"
            self._replan(group, watched, plan, proposal, batch, f"{told}. Nothing is dropped now.")
            return True
        if not plan.sheds and not proposal.closes:
            if not watched.pressure.told:
                watched.pressure.told = True
                self.house.tell(group, batch, f"it cannot keep up. {proposal.planned.sentence}")
            return False
        if not proposal.closes or proposal.moves(plan) <= PASS_STEP:
            return False
        told = (
            f"it cannot keep up: it was measured to need {_needs(needed, bound)}. Rows are dropped"
        )
        if plan.sheds:
            told = f"what it needs has changed: now {_needs(all_of_it, bound)}. Drop boxes follow"
        self._replan(group, watched, plan, proposal, batch, f"{told}.")
        return True

    def run_facts(self, group: str) -> dict[str, Any]:
        """Say what a group was seen to do in this run, beside what is predicted."""
        watched, plan = self._groups.get(group), self.planner.standing(group)
        logical = self.house.logical_of(group)
        if watched is None or plan is None or logical is None or not watched.sums.span_s:
            return {}
        with self._lock:
            model, costing = self._predicted(group, logical, plan)
            return run_facts(model, costing, plan, watched.sums, self.planner, group)

    def shedding(self, group: str) -> dict[str, Any] | None:
        """Say what is let through, what was dropped, and what remains."""
        plan = self.planner.standing(group)
        logical = self.house.logical_of(group) if plan is not None else None
        if plan is None or logical is None:
            return None
        watched = self._groups.get(group)
        sums, rows = (watched.sums, watched.rows) if watched is not None else (Sums(), Tally())
        measured = self.planner.statistics.group(group).kept
        return shedding_facts(logical, plan, sums, rows, measured)

    # Inside

    def _watched(self, group: str, described: dict[str, Any]) -> _Watched:
        if group not in self._groups:
            self._groups[group] = _Watched(MultiJoinStep.from_json(described), Sums())
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
            queries = len(self._registry.queries_of_group(group))
            model = self.planner.modelled(logical, group, queries).model
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
        queries = len(self._registry.queries_of_group(group))
        model = self.planner.modelled(logical, group, queries).model
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

    def _replan(
        self,
        group: str,
        watched: _Watched,
        plan: StandingPlan,
        proposal: Proposal,
        batch: int,
        why: str = "",
    ) -> None:
        standing = self._publish(group, proposal)
        watched.replanned = batch
        watched.verdict = None
        watched.pressure = Pressure()
        names = proposal.model.names
        old, new = shown(plan.plan.tree, names), shown(standing.plan.tree, names)
        order = f"{new} takes the place of {old}" if new != old else f"{new} stays the order"
        told = f"a new plan comes into force: {order}. {proposal.planned.sentence}"
        self.house.tell(group, batch, f"{why} {told[0].upper()}{told[1:]}" if why else told)

    def _publish(self, group: str, proposal: Proposal) -> StandingPlan:
        """Put a plan in the place of the one that stands, as a version of its own."""
        with self._registry.reserve():
            draft = Draft()
            standing = self.planner.draft(draft, group, proposal)
            self.planner.took(group, standing, self._registry.publish(draft))
        return standing


def _needs(needed: float, bound: float) -> str:
    return f"{percent(needed)} of a processor, and {percent(bound)} may be used"
