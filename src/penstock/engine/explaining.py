"""EXPLAIN: facts gathered from the registry and the operators' kinds."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.algebra.joins import JoinStep
from penstock.algebra.logical import Logical
from penstock.algebra.physical import Step, signature
from penstock.engine.parameters import Parameters
from penstock.engine.registration import Options
from penstock.language.binding import bind
from penstock.operators.catalogue import OPERATORS
from penstock.planning.explanation import Explanation
from penstock.planning.steps import plan
from penstock.registry.store import Registry


def explain_query(
    registry: Registry, sql: str, each: Parameters | None, options: Options
) -> Explanation:
    """Explain a text that is not registered: the group that it would join."""
    logical = bind(sql, registry.catalog, None if each is None else each.table.schema, options)
    step = plan(logical)
    group = signature(step)
    is_new = group not in {record.group for record in registry.subscriptions.values()}
    table = pa.table({"id": ["explained"]}) if each is None else each.table
    return _explanation(registry, sql, logical, step, is_new, table)


def explain_subscription(registry: Registry, name: str) -> Explanation:
    """Explain a subscription as it stands."""
    record = registry.subscriptions[name]
    kind = OPERATORS[registry.steps[record.group]["kind"]]
    step = kind.step_from_json(registry.steps[record.group])
    return _facts(registry, record.sql, step, registry.entries(record.group), is_new=False)


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
    if isinstance(step, JoinStep):
        facts = {"sides": f"l {step.left.relation}, r {step.right.relation}", **facts}
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
