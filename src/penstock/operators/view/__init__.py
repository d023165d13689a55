"""Views: rows that a store keeps, and that are fresh within a bound whenever somebody asks.

Takes: a ViewStep, changes of its base relations, cost curves as plans.
Gives: how the view's rows change, to its readers and as a relation.
Never: SQL, which the store runs; a decision that depends on a clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.views import StandingView, ViewStep
from penstock.operators.protocol import OperatorKind
from penstock.operators.shared.entries import PORT
from penstock.operators.view.figures import FIGURES
from penstock.operators.view.operator import ViewOperator
from penstock.views.addresses import COOLDOWN_S, check_address
from penstock.views.maintenance.curves import CostCurve
from penstock.views.maintenance.decisions import Decisions, FlushPlan
from penstock.views.maintenance.optimum import nearest
from penstock.views.maintenance.problems import Freshness, Problem
from penstock.vocabulary.batches import Refusals, Registration

__all__ = ["VIEW", "ViewOperator"]


def _register(
    _logical: StandingView, _step: ViewStep, parameters: pa.Table, first: int
) -> Registration:
    numbers = np.arange(first, first + parameters.num_rows, dtype=np.int64)
    return Registration(
        adds={PORT: pa.table({"query": pa.array(numbers)})},
        refusals=Refusals(),
        silent=np.zeros(parameters.num_rows, np.bool_),
    )


def _explain(_step: ViewStep, _entries: Mapping[str, pa.Table]) -> dict[str, Any]:
    return {"branches": []}


def _warm_up(step: ViewStep | None) -> None:
    """Draw curves of two inputs, decide once, and seek the cheapest schedule in hindsight."""
    inputs = 2 if step is None else len(step.definition.inputs)
    curve = CostCurve.from_samples([1, 4, 16], [1.0, 2.0, 6.0])
    plan = FlushPlan(number=0, curves=(curve,) * inputs)
    pending = np.full(inputs, 10, np.int64)
    Decisions("online", 5.0, plan).choose(pending, pending, "")
    fresh = Freshness.of(list(plan.curves), 5.0 * inputs)
    nearest(Problem.uniform(fresh, 8), expansions_max=100)


VIEW = OperatorKind(
    figures=FIGURES,
    step_from_json=ViewStep.from_json,
    register=_register,
    build=ViewOperator,
    explain=_explain,
    warm_up=_warm_up,
    check=check_address,
    tells_apart=True,
    cooldown_s=lambda _step: COOLDOWN_S,
)
