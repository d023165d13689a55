"""Watching multi-way joins: what they tell is measured, verdicts are renewed, plans follow.

Every few micro-batches the planner is asked again, with the figures of the run. If its verdict
becomes another one, a notice says so. A join with ADAPT gets the new plan through the registry, as
a version of its own: it begins at a batch boundary, and the operator carries its windows over.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from penstock.algebra.multi_joins import KIND, MultiJoin, MultiJoinStep
from penstock.algebra.trees import inputs_of, joins_of, shown
from penstock.engine.figures import own_figures
from penstock.engine.hurrying import Hurrying
from penstock.engine.members import bind_blocks, by_text
from penstock.engine.plans import Planner, Proposal, StandingPlan
from penstock.engine.statistics import EXPECTED_MIN, FACTOR_RANGE, Figures, Sums, sides_of
from penstock.operators.catalogue import OPERATORS
from penstock.planning.constants import load_constants
from penstock.planning.costing import Costing, cost, thinned
from penstock.planning.costs import Measured
from penstock.planning.model import JoinModel
from penstock.registry.records import Block, Draft
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.errors import PenstockError

LOOK_EVERY_BATCHES = 4
CONFIRMATIONS = 2
"""A verdict must come so often in a row to be believed."""
REPLAN_AFTER_BATCHES = 12
"""No group gets a plan sooner after its last one."""
CHEAPER = 0.1
"""Another tree must save this share of the cost to be worth rebuilding the windows."""
PASS_STEP = 0.05
"""Drop boxes are not moved by less."""
DRIFT = 0.25
"""What is seen may differ by this share from what is predicted before anybody is told."""
NOTICES_KEPT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that a user of a subscription should know."""

    batch: int
    group: str
    subscriptions: tuple[str, ...]
    text: str


@dataclass(slots=True)
class _Watched:
    """One group: its sums, and what was thought of it at the last looks."""

    step: MultiJoinStep
    sums: Sums
    looked: int = 0
    verdict: str | None = None
    another: tuple[str, int] = ("", 0)
    replanned: int = -REPLAN_AFTER_BATCHES


class Watcher:
    """Follows the reports of a run."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._registry = planner.registry
        self._groups: dict[str, _Watched] = {}
        self._lock = threading.Lock()
        self.notices: deque[Notice] = deque(maxlen=NOTICES_KEPT)
        self._hurrying = Hurrying(planner.registry, self.tell)

    def take(self, report: BatchReport) -> None:
        """Take a batch's report; look at its joins now and then."""
        self._hurrying.take(report)
        for group, described in list(self._registry.steps.items()):
            if described["kind"] != KIND:
                continue
            counts = own_figures(report.counts, group)
            plan = self._planner.in_force(group, report.version)
            if plan is None or not counts:
                continue
            with self._lock:
                watched = self._watched(group, described)
                watched.sums.add(watched.step, plan.plan, counts, own_figures(report.sizes, group))
                due = watched.sums.batches - watched.looked >= LOOK_EVERY_BATCHES
            if due:
                watched.looked = watched.sums.batches
                self._try(group, report)

    def _try(self, group: str, report: BatchReport) -> None:
        """Look at a group; a planner that refuses must not end the run."""
        try:
            self.look(group, report.batch, report.version)
        except PenstockError as error:
            if not self.notices or str(error) not in self.notices[-1].text:
                self.tell(group, report.batch, f"the plan stays as it is. {error}")

    def finish(self) -> None:
        """Measure once more when a run ends, for the next one."""
        for group, watched in self._groups.items():
            logical = self._logical(group)
            plan = self._planner.standing(group)
            if logical is not None and plan is not None and watched.sums.batches:
                self._measure(group, watched, logical, plan)

    def look(self, group: str, batch: int, version: int) -> None:
        """Measure a group, ask the planner again, and act on a verdict that has changed."""
        watched = self._groups[group]
        logical = self._logical(group)
        plan = self._planner.in_force(group, version)
        if logical is None or plan is None:
            return
        logical = _with_options(logical, plan)
        self._measure(group, watched, logical, plan)
        if plan is not self._planner.standing(group):
            return  # another plan is on its way
        queries = len(self._registry.queries_of_group(group))
        proposal = self._planner.propose(logical, group, queries)
        changed = self._judge(group, watched, plan, proposal, batch)
        is_soon = batch - watched.replanned < REPLAN_AFTER_BATCHES
        if not plan.options.get("adapt") or is_soon or watched.another[1]:
            return
        if (changed and proposal.planned.plan != plan.plan) or self._is_worth_it(plan, proposal):
            self._replan(group, watched, plan, proposal, batch)

    def run_facts(self, group: str) -> dict[str, Any]:
        """Say what a group was seen to do in this run, beside what is predicted."""
        watched, plan = self._groups.get(group), self._planner.standing(group)
        logical = self._logical(group)
        if watched is None or plan is None or logical is None or not watched.sums.span_s:
            return {}
        with self._lock:
            model, costing = self._predicted(group, logical, plan)
            facts = _run_facts(model, costing, plan, watched.sums, self._planner, group)
        if hurried := self._hurrying.rows.get(group):
            facts["hurried_rows"] = hurried
        return facts

    def shedding(self) -> dict[str, dict[str, Any]]:
        """Say of every subscription what is let through, and what share of its results is kept."""
        found = {}
        for name, record in self._registry.subscriptions.items():
            plan = self._planner.standing(record.group)
            logical = self._logical(record.group) if plan is not None else None
            if plan is None or logical is None:
                continue
            watched = self._groups.get(record.group)
            found[name] = {
                "verdict": plan.verdict,
                "passes": {
                    each.name: plan.plan.share(number) for number, each in enumerate(logical.inputs)
                },
                "passed": {
                    each.name: share
                    for number, each in enumerate(logical.inputs)
                    if watched is not None and (share := watched.sums.passed(number)) is not None
                },
                "expected_share": plan.kept,
                "measured_share": self._planner.statistics.group(record.group).kept,
            }
        return found

    # Inside

    def _watched(self, group: str, described: dict[str, Any]) -> _Watched:
        if group not in self._groups:
            step = OPERATORS[KIND].step_from_json(described)
            assert isinstance(step, MultiJoinStep)
            self._groups[group] = _Watched(step, Sums())
        return self._groups[group]

    def _logical(self, group: str) -> MultiJoin | None:
        """Bind the newest text of a group."""
        blocks = [
            block
            for own in self._registry.blocks.values()
            for block in own
            if block.record.group == group
        ]
        if not blocks:
            return None
        newest: list[Block] = by_text([max(blocks, key=lambda block: block.version)])[0]
        logical = bind_blocks(self._registry.catalog, newest)
        assert isinstance(logical, MultiJoin)
        return logical

    def _measure(
        self, group: str, watched: _Watched, logical: MultiJoin, plan: StandingPlan
    ) -> None:
        """Turn sums into measured figures, where they prove something."""
        statistics, sums = self._planner.statistics, watched.sums
        figures = statistics.groups.setdefault(group, Figures())
        with self._lock:
            for number, each in enumerate(logical.inputs):
                for part in ("terms", "residual"):
                    share = sums.share(f"asked_{number}_{part}", f"passed_{number}_{part}")
                    if share is not None:
                        figures.selections[f"{number} {part}"] = share
                rate = sums.rate(number) if each.window is not None else None
                if rate is not None:
                    statistics.rates[each.relation] = rate
                is_selected = any(key.startswith(f"{number} ") for key in figures.selections)
                if each.window is None and not is_selected and sums.rows.get(number):
                    statistics.rows[each.relation] = sums.rows[number]
            queries = len(self._registry.queries_of_group(group))
            model = self._planner.modelled(logical, group, queries).model
            _measure_joins(figures, model, plan, sums)
            model, costing = self._predicted(group, logical, plan)
            made = sums.per_second(f"made_{model.everything}")
            full = cost(model, plan.plan, Measured(load_constants())).joins
            if made is not None and full and full[-1].made:
                figures.kept = min(made / full[-1].made, 1.0) if plan.kept < 1.0 else 1.0
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
        model = self._planner.modelled(logical, group, queries).model
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
        if now == "INSUFFICIENT" and proposal.planned.shedding is None:
            advice = " Nothing is shed, as the options say."
        text = f"the verdict was {known} and is now {now}: {proposal.planned.sentence}{advice}"
        self.tell(group, batch, text)
        return True

    def _is_worth_it(self, plan: StandingPlan, proposal: Proposal) -> bool:
        """Say whether a proposal differs enough from the plan in force."""
        proposed = proposal.planned.plan
        inputs = range(len(proposal.model.inputs))
        moved = (abs(plan.plan.share(number) - proposed.share(number)) for number in inputs)
        if max(moved) > PASS_STEP:
            return True
        if proposed.tree == plan.plan.tree and proposed.pulled == plan.plan.pulled:
            return False
        now = cost(proposal.model, plan.plan, proposal.library).cpu
        return proposal.planned.costing.cpu < now * (1.0 - CHEAPER)

    def _replan(
        self, group: str, watched: _Watched, plan: StandingPlan, proposal: Proposal, batch: int
    ) -> None:
        with self._registry.reserve():
            draft = Draft()
            standing = self._planner.draft(draft, group, proposal)
            self._planner.took(group, standing, self._registry.publish(draft))
        watched.replanned = batch
        watched.verdict = None
        names = proposal.model.names
        old, new = shown(plan.plan.tree, names), shown(standing.plan.tree, names)
        order = f"{new} takes the place of {old}" if new != old else f"{new} stays the order"
        text = f"a new plan comes into force: {order}. {proposal.planned.sentence}"
        self.tell(group, batch, text)

    def tell(self, group: str, batch: int, text: str) -> None:
        """Leave a notice for those who read a group, or about a relation."""
        if group not in self._registry.steps:
            notice = Notice(batch=batch, group="", subscriptions=(), text=f"{group}: {text}")
            self.notices.append(notice)
            return
        names = tuple(
            name for name, record in self._registry.subscriptions.items() if record.group == group
        )
        listed = f"{'queries' if len(names) > 1 else 'query'} {', '.join(names)}"
        notice = Notice(
            batch=batch, group=group, subscriptions=names, text=f"Standing {listed}: {text}"
        )
        self.notices.append(notice)


def _with_options(logical: MultiJoin, plan: StandingPlan) -> MultiJoin:
    """Let the options of the group's plan hold, whatever this text says."""
    return replace(logical, options=plan.options)


def _measure_joins(figures: Figures, model: JoinModel, plan: StandingPlan, sums: Sums) -> None:
    """Find how likely the two parts of every join match, from what the joins made."""
    tree = plan.plan.tree
    expected = {join.mask: model.selectivity(join.mask) for join in joins_of(tree)}
    made = sums.joined(plan.plan, expected)
    pulled = {
        (each.mask, each.input): figures.selections.get(f"{each.input} {each.part}")
        for each in plan.plan.pulled
        if each.part == "terms"
    }

    def gone_up(mask: int) -> float | None:
        """The share of a part's combinations that its parent meets."""
        share = 1.0 if mask.bit_count() == 1 else made.get(mask)
        for (at, _), selectivity in pulled.items():
            if at == mask and share is not None:
                share = None if selectivity is None else share * selectivity
        return share

    found: dict[str, float] = {}
    for join in joins_of(tree):
        left, right = gone_up(join.left.mask), gone_up(join.right.mask)
        if join.mask in made and left and right:
            found[str(join.mask)] = min(made[join.mask] / (left * right), 1.0)
    if found:
        sides = sides_of(tree)
        figures.joins = found
        figures.sides = {text: sides[int(text)] for text in found}


def _run_facts(
    model: JoinModel,
    costing: Costing,
    plan: StandingPlan,
    sums: Sums,
    planner: Planner,
    group: str,
) -> dict[str, Any]:
    figures = planner.statistics.group(group)
    facts: dict[str, Any] = {}
    for number, each in enumerate(model.inputs):
        if not each.is_table and (rate := sums.per_second(f"arrived_{number}")) is not None:
            facts[f"rate({each.name})"] = round(rate, 3)
    drifting = []
    for join in costing.joins:
        name = ", ".join(model.names[number] for number in inputs_of(join.mask))
        seen = sums.per_second(f"made_{join.mask}") or 0.0
        facts[f"made({name})"] = {"predicted": round(join.made, 3), "observed": round(seen, 3)}
        off = abs(seen - join.made)
        if off > DRIFT * join.made and off * sums.span_s > EXPECTED_MIN:
            drifting.append(name)
    if drifting:
        facts["drift"] = f"DRIFT: the joins of {'; '.join(drifting)} are not as predicted"
    if sums.utilisation is not None:
        facts["processors"] = {
            "predicted": round(costing.cpu, 6), "observed": round(sums.utilisation, 6)
        }  # fmt: skip
    facts["expected_share_kept"] = plan.kept
    if figures.kept is not None:
        facts["measured_share_kept"] = round(figures.kept, 4)
    return facts
