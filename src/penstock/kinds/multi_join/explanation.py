"""EXPLAIN of multi-way joins: the plan that is in force, or would be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.algebra.multi_joins import MultiJoin
from penstock.kinds.multi_join.plans import Planner, Proposal
from penstock.kinds.watch import Explained
from penstock.kinds.what_if import words_of
from penstock.language.statements import Assumption
from penstock.planning.explanation import Explanation
from penstock.planning.plan_explanation import (
    PlanExplanation,
    named,
    ordered,
    predicate_texts,
)

PASS_STEP = 0.005
"""Pass fractions that differ by less are shown as one."""


def explained(planner: Planner, asked: Explained) -> Explanation:
    """Add the plan to an explanation."""
    explanation, logical, what_if = asked.explanation, asked.logical, asked.what_if
    group, queries = explanation.group, explanation.queries
    if asked.arriving is not None:
        proposal = planner.propose(logical, group, queries + asked.arriving, what_if)
        return _told(explanation, proposal, logical, what_if)
    standing = planner.book.standing(group)
    if standing is not None:
        logical = replace(logical, options=standing.options)
    best = planner.propose(logical, group, queries, what_if)
    if standing is None:
        return _told(explanation, best, logical, what_if)
    notes: list[str] = []
    told = best
    in_force, chosen = ordered(standing.plan.tree), ordered(best.planned.plan.tree)
    if in_force != chosen and not what_if:
        told = planner.propose(logical, group, queries, plan=standing.plan)
    if in_force != chosen:
        notes.append(
            f"In force is {named(in_force, best.model)}; by these figures "
            f"{named(chosen, best.model)} would be chosen."
        )
    shares = [
        (standing.plan.share(number), told.planned.plan.share(number))
        for number in range(len(best.model.names))
    ]
    if standing.sheds and not what_if and any(abs(n - then) > PASS_STEP for n, then in shares):
        passes = ", ".join(
            f"{name} {100 * now:.1f} %"
            for name, (now, _) in zip(best.model.names, shares, strict=True)
        )
        notes.append(f"The drop boxes in force let pass: {passes}.")
    closed = standing.sheds and not what_if
    return _told(explanation, told, logical, what_if, notes, closed)


def _told(
    explanation: Explanation,
    proposal: Proposal,
    logical: MultiJoin,
    what_if: Sequence[Assumption],
    notes: Sequence[str] = (),
    in_force: bool | None = None,
) -> Explanation:
    told = PlanExplanation.of(
        proposal.planned,
        proposal.model,
        sql=explanation.sql,
        tags=proposal.tags,
        what_if=tuple(words_of(each) for each in what_if),
        predicates=predicate_texts(logical.crossing, [each.name for each in logical.inputs]),
        constant_s=proposal.constant_s,
        group=explanation.group,
        queries=explanation.queries,
        is_new=explanation.is_new,
        notes=(*(proposal.notes[1:] if not in_force else ()), *notes),
        in_force=proposal.closes if in_force is None else in_force,
    )
    return replace(explanation, plan=told)
