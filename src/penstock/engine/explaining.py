"""EXPLAIN: facts gathered from the registry, the planner and the operators' kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from penstock.algebra.bounded_joins import KIND as BOUNDED
from penstock.algebra.bounded_joins import BoundedJoinStep
from penstock.algebra.joins import JoinStep
from penstock.algebra.logical import Logical, StandingFilter
from penstock.algebra.multi_joins import MultiJoin
from penstock.algebra.physical import Step, signature
from penstock.engine.filter_loads import passing
from penstock.engine.filter_plans import planned_filter
from penstock.engine.members import bind_blocks, by_text
from penstock.engine.parameters import Parameters
from penstock.engine.plans import Planner, Proposal
from penstock.engine.registration import Options
from penstock.engine.what_if import words_of
from penstock.kinds.binding import bind
from penstock.language.assumptions import check_assumptions
from penstock.language.statements import Assumption
from penstock.operators.bounded.forecast_drawing import curve_lines, curve_svg
from penstock.operators.bounded_join.explaining import forecast
from penstock.operators.catalogue import OPERATORS
from penstock.planning.explanation import CHART, Explanation
from penstock.planning.plan_explanation import (
    PlanExplanation,
    named,
    ordered,
    predicate_texts,
)
from penstock.registry.store import Registry
from penstock.vocabulary.errors import PenstockError

PASS_STEP = 0.005
"""Pass fractions that differ by less are shown as one."""


def explain_query(
    planner: Planner,
    sql: str,
    each: Parameters | None,
    options: Options,
    what_if: Sequence[Assumption] = (),
) -> Explanation:
    """Explain a text that is not registered: the group that it would join."""
    registry = planner.registry
    logical = bind(sql, registry.catalog, None if each is None else each.table.schema, options)
    step = logical.step()
    group = signature(step)
    is_new = group not in {record.group for record in registry.subscriptions.values()}
    table = pa.table({"id": ["explained"]}) if each is None else each.table
    explanation = _explanation(registry, sql, logical, step, is_new, table)
    if isinstance(logical, StandingFilter):
        return _with_verdict(explanation, planner, logical, what_if)
    if not isinstance(logical, MultiJoin):
        _refuse_what_if(what_if)
        return explanation
    proposal = planner.propose(logical, group, explanation.queries + table.num_rows, what_if)
    return _with_plan(explanation, proposal, logical, what_if)


def explain_subscription(
    planner: Planner, name: str, what_if: Sequence[Assumption] = ()
) -> Explanation:
    """Explain a subscription as it stands; of a multi-way join the plan in force."""
    registry = planner.registry
    record = registry.subscriptions[name]
    kind = OPERATORS[registry.steps[record.group]["kind"]]
    step = kind.step_from_json(registry.steps[record.group])
    entries = registry.entries(record.group)
    explanation = _facts(registry, record.sql, step, entries, is_new=False)
    blocks = registry.blocks[name]
    logical = bind_blocks(registry.catalog, by_text(blocks)[-1]) if blocks else None
    if isinstance(logical, StandingFilter):
        return _with_verdict(explanation, planner, logical, what_if)
    if not isinstance(logical, MultiJoin):
        _refuse_what_if(what_if)
        return explanation
    standing = planner.standing(record.group)
    if standing is not None:
        logical = replace(logical, options=standing.options)
    best = planner.propose(logical, record.group, explanation.queries, what_if)
    if standing is None:
        return _with_plan(explanation, best, logical, what_if)
    notes: list[str] = []
    told = best
    in_force, chosen = ordered(standing.plan.tree), ordered(best.planned.plan.tree)
    if in_force != chosen and not what_if:
        told = planner.propose(logical, record.group, explanation.queries, plan=standing.plan)
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
    return _with_plan(explanation, told, logical, what_if, notes, closed)


def with_curve(facts: dict[str, Any]) -> dict[str, Any]:
    """Add a drawing in letters of what memory brings, if that is among the facts."""
    curve = facts.get("curve")
    return {**facts, CHART: curve_lines(curve)} if curve else facts


def drawing_of(explanation: Explanation) -> str | None:
    """Draw a query as SVG: the plan of a multi-way join, or what a budget of rows brings."""
    if explanation.plan is not None:
        return explanation.plan.svg()
    curve = explanation.facts.get("curve")
    if not curve or not curve.get("points"):
        return None
    what = "Recall" if explanation.operator == BOUNDED else "Hit rate"
    return curve_svg(curve, f"{what} against memory: {explanation.relation}")


def _with_plan(
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


def _with_verdict(
    explanation: Explanation,
    planner: Planner,
    logical: StandingFilter,
    what_if: Sequence[Assumption],
) -> Explanation:
    """Say of a filter whether its group keeps up, and what its drop box lets pass."""
    check_assumptions(what_if, logical)
    relation = planner.registry.catalog[logical.relation.lower()]
    group, options = explanation.group, logical.options
    _, facts = planned_filter(relation, group, planner.statistics, options, what_if)
    if not explanation.is_new and logical.dropping:
        facts["share passing"] = passing(planner.registry, group)[1]
    assumed = [words_of(each) for each in what_if]
    return replace(explanation, facts={**explanation.facts, "what if": assumed, **facts})


def _refuse_what_if(what_if: Sequence[Assumption]) -> None:
    if what_if:
        raise PenstockError(
            "ENG-036",
            "WHAT IF is about filters and plans of multi-way window joins, and this is neither.",
            "Leave WHAT IF out.",
            what_if[0].place,
        )


def _explanation(
    registry: Registry,
    sql: str,
    logical: Logical,
    step: Step,
    is_new: bool,
    parameters: pa.Table,
) -> Explanation:
    entries: dict[str, pa.Table] = {} if is_new else registry.entries(signature(step))
    if is_new:
        added = OPERATORS[step.kind].register(logical, step, parameters, registry.next_query)
        entries = dict(added.adds)
    return _facts(registry, sql, step, entries, is_new)


def _facts(
    registry: Registry, sql: str, step: Step, entries: dict[str, pa.Table], is_new: bool
) -> Explanation:
    facts: dict[str, Any] = OPERATORS[step.kind].explain(step, entries)
    if isinstance(step, BoundedJoinStep):
        declared = [registry.catalog[each.relation.lower()].rate for each in step.join.inputs]
        if None not in declared:
            facts = {**facts, "curve": forecast(step, declared)}
    if isinstance(step, JoinStep):
        facts = {"sides": f"l {step.left.relation}, r {step.right.relation}", **facts}
    facts = with_curve(facts)
    group = signature(step)
    return Explanation(
        sql=sql,
        group=group,
        relation=", ".join(step.relations),
        operator=step.kind,
        queries=0 if is_new else len(registry.queries_of_group(group)),
        is_new=is_new,
        branches=tuple(facts["branches"]),
        facts={name: fact for name, fact in facts.items() if name != "branches"},
    )
