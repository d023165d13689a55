"""Explaining: what a group of multi-way joins looks like, as facts for EXPLAIN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.algebra.multi_joins import MultiJoinStep
from penstock.algebra.physical import PLAN_PORT
from penstock.algebra.trees import shown
from penstock.operators.multi_join.plans import Plans, pulled_masks
from penstock.operators.shared.input_facts import input_facts, input_names


def explain(step: MultiJoinStep, entries: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Describe the inputs of a step, what is asked of them, and the plan in force."""
    names = input_names(step)
    plans = Plans(step)
    given = entries.get(PLAN_PORT)
    if given is not None:
        plans.add(given)
    plan = plans.plan
    facts: dict[str, Any] = {
        "plan": shown(plan.tree, names),
        "pulled": [
            f"{part} of {names[number]} above {shown_set(mask, names)}"
            for (number, part), mask in pulled_masks(plan).items()
        ],
        "passes": {
            name: plan.share(number) for number, name in enumerate(names) if plan.share(number) < 1
        },
        "boxes": plan.boxes if any(share < 1 for share in plan.passes) else None,
    }
    told = {name: fact for name, fact in facts.items() if fact}
    return {
        **input_facts(step, entries, "multi-way join"), "waiting_max": step.waiting, **told
    }  # fmt: skip


def shown_set(mask: int, names: list[str]) -> str:
    """Name the inputs of a set.

    >>> shown_set(0b101, ["a", "b", "c"])
    '{a, c}'
    """
    return f"{{{', '.join(name for number, name in enumerate(names) if mask >> number & 1)}}}"
