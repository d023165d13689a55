"""Measuring: what the counts of a run say of a join's predicates, and of its plan."""

from __future__ import annotations

from typing import Any

from penstock.algebra.multi_joins import MultiJoin
from penstock.algebra.trees import inputs_of, joins_of
from penstock.kinds.multi_join.plans import Planner, StandingPlan
from penstock.kinds.statistics import EXPECTED_MIN, Figures, Sums, sides_of
from penstock.planning.model import JoinModel
from penstock.planning.plan_costs import Costing
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import ARRIVED, DROPPED, MADE, of_inputs

DRIFT = 0.25
"""What is seen may differ by this share from what is predicted before anybody is told."""


def measure_joins(figures: Figures, model: JoinModel, plan: StandingPlan, sums: Sums) -> None:
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


def run_facts(
    model: JoinModel,
    costing: Costing,
    plan: StandingPlan,
    sums: Sums,
    planner: Planner,
    group: str,
) -> dict[str, Any]:
    """Say what a plan was seen to do, beside what was predicted."""
    figures = planner.statistics.group(group)
    facts: dict[str, Any] = {}
    for number, each in enumerate(model.inputs):
        if not each.is_table and (rate := sums.per_second((ARRIVED, number))) is not None:
            facts[f"rate({each.name})"] = round(rate, 3)
    drifting = []
    for join in costing.joins:
        name = ", ".join(model.names[number] for number in inputs_of(join.mask))
        seen = sums.per_second((MADE, of_inputs(join.mask))) or 0.0
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
    if plan.sheds:
        facts["expected_share_emitted"] = plan.kept
        facts["expected_share_found"] = plan.found
        if figures.kept is not None:
            facts["measured_share_emitted"] = round(figures.kept, 4)
    return facts


def shedding_facts(
    logical: MultiJoin,
    plan: StandingPlan,
    sums: Sums,
    rows: Tally,
    measured: float | None,
) -> dict[str, Any]:
    """Say what drop boxes let through, how many rows they dropped in this run, and what remains.

    `expected_share` is how many results are emitted by how many there would be without dropping,
    `measured_share` the same as seen; `expected_found` is the share of the full answer that is
    among them.
    """
    streams = [(number, each.name) for number, each in enumerate(logical.inputs) if each.window]
    passed = {name: sums.passed(number) for number, name in streams}
    return {
        "verdict": plan.verdict,
        "passes": {name: plan.plan.share(number) for number, name in streams},
        "passed": {name: share for name, share in passed.items() if share is not None},
        "arrived_rows": {name: rows[ARRIVED, number] for number, name in streams},
        "dropped_rows": {name: rows[DROPPED, number] for number, name in streams},
        "expected_share": plan.kept,
        "expected_found": plan.found,
        "measured_share": measured,
    }
