"""EXPLAIN: facts gathered from the registry, the planner and the operators' kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from penstock.algebra.physical import Step, signature
from penstock.engine.adaptation import Watcher
from penstock.engine.parameter_rows import Refused
from penstock.engine.registration import REFUSALS_SHOWN, Options, prepare, registration_of
from penstock.engine.subscription_blocks import bind_blocks, by_text
from penstock.kinds.table import kind_of
from penstock.kinds.watch import Explained
from penstock.language.statements import Assumption
from penstock.operators.catalogue import OPERATORS
from penstock.planning.explanation import Explanation
from penstock.registry.store import Registry
from penstock.vocabulary.batches import NO_QUERIES
from penstock.vocabulary.counts import counted
from penstock.vocabulary.errors import PenstockError

NOBODY = ""
"""No subscription has this name."""


def explain_query(
    registry: Registry,
    watcher: Watcher,
    sql: str,
    each: Any,  # whatever load_parameters takes
    key: str | None,
    options: Options,
    what_if: Sequence[Assumption] = (),
) -> Explanation:
    """Explain a text that is not registered: the group that it would join, and who would not."""
    request = prepare(registry, NOBODY, sql, each, key, options)
    made, _ = registration_of(registry, request, NO_QUERIES)
    group = request.record.group
    is_new = group not in registry.steps
    entries = dict(made.adds) if is_new else registry.entries(group)
    explanation = _facts(registry, sql, request.step, entries, is_new)
    asked = Explained(
        explanation=replace(explanation, notes=tuple(_refusals(request.parameters.refused))),
        logical=request.logical,
        what_if=what_if,
        arriving=request.parameters.table.num_rows,
    )
    return watcher.over(request.step).explain(asked)


def _refusals(refused: Refused) -> Iterator[str]:
    """Say which rows would be refused."""
    rows = refused.table().slice(0, REFUSALS_SHOWN).to_pylist()
    for row in rows:
        yield f"Row {row['row']:,} would be refused: [{row['code']}] {row['reason']}"
    if (others := len(refused.row) - len(rows)) > 0:
        yield f"{counted(others, 'more row')} would be refused."


def explain_subscription(
    registry: Registry, watcher: Watcher, name: str, what_if: Sequence[Assumption] = ()
) -> Explanation:
    """Explain a subscription as it stands; of one with a plan, the plan in force."""
    record = registry.subscriptions[name]
    described = registry.steps.get(record.group)
    if described is None:
        raise PenstockError(
            "REG-027",
            f"No query of {name!r} stands: all of them were dropped, and their group with them.",
            "Add queries to it, or explain its text.",
        )
    step = OPERATORS[described["kind"]].step_from_json(described)
    entries = registry.entries(record.group)
    explanation = _facts(registry, record.sql, step, entries, is_new=False)
    blocks = registry.blocks[name]
    logical = bind_blocks(registry.catalog, by_text(blocks)[-1]) if blocks else None
    asked = Explained(explanation=explanation, logical=logical, what_if=what_if)
    return watcher.over(step).explain(asked)


def drawing_of(explanation: Explanation) -> str | None:
    """Draw a query as SVG, if its kind has something to draw."""
    return kind_of({"kind": explanation.operator}).drawing(explanation)


def _facts(
    registry: Registry, sql: str, step: Step, entries: dict[str, pa.Table], is_new: bool
) -> Explanation:
    facts = kind_of(step).facts(step, entries, registry.catalog)
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
