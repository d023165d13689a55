"""Measuring: what the counts of a run say of a join's predicates, and of its plan."""

from __future__ import annotations

from penstock.algebra.multi_joins import MultiJoin
from penstock.algebra.trees import inputs_of, joins_of
from penstock.kinds.multi_join.plans import StandingPlan
from penstock.kinds.statistics import EXPECTED_MIN, Figures, Sums, sides_of
from penstock.kinds.watch import Shedding
from penstock.planning.model import JoinModel
from penstock.planning.plan_costs import Costing
from penstock.planning.plan_run import Foreseen, SeenPlan
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
        figures.ways = {str(mask): ways for mask, ways in sums.ways(plan.plan).items()}


def plan_run(
    model: JoinModel, costing: Costing, plan: StandingPlan, sums: Sums, measured: float | None
) -> SeenPlan:
    """Say what a plan was seen to do, beside what was predicted."""
    rates = {
        each.name: round(rate, 3)
        for number, each in enumerate(model.inputs)
        if not each.is_table and (rate := sums.per_second((ARRIVED, number))) is not None
    }
    made, drifting = {}, []
    for join in costing.joins:
        name = ", ".join(model.names[number] for number in inputs_of(join.mask))
        seen = sums.per_second((MADE, of_inputs(join.mask))) or 0.0
        made[name] = Foreseen(predicted=round(join.made, 3), observed=round(seen, 3))
        off = abs(seen - join.made)
        if off > DRIFT * join.made and off * sums.span_s > EXPECTED_MIN:
            drifting.append(name)
    drift = f"DRIFT: the joins of {'; '.join(drifting)} are not as predicted"
    processors = None
    if sums.utilisation is not None:
        processors = Foreseen(predicted=round(costing.cpu, 6), observed=round(sums.utilisation, 6))
    seen_share = None if measured is None else round(measured, 4)
    return SeenPlan(
        rate=rates,
        made=made,
        drift=drift if drifting else None,
        processors=processors,
        expected_share_emitted=plan.kept if plan.sheds else None,
        expected_share_found=plan.found if plan.sheds else None,
        measured_share_emitted=seen_share if plan.sheds else None,
    )


def shedding_of(
    logical: MultiJoin, plan: StandingPlan, sums: Sums, rows: Tally, measured: float | None
) -> Shedding:
    """Say what drop boxes let through, how many rows they dropped in this run, and what remains."""
    streams = [(number, each.name) for number, each in enumerate(logical.inputs) if each.window]
    passed = {name: sums.passed(number) for number, name in streams}
    return Shedding(
        verdict=plan.verdict,
        passes={name: plan.plan.share(number) for number, name in streams},
        passed={name: share for name, share in passed.items() if share is not None},
        arrived_rows={name: rows[ARRIVED, number] for number, name in streams},
        dropped_rows={name: rows[DROPPED, number] for number, name in streams},
        expected_share=plan.kept,
        expected_found=plan.found,
        measured_share=measured,
    )
