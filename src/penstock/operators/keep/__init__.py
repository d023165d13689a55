"""Keeping tables: the rows that a table holds, for joins that are registered later.

Takes: a KeepStep, batches of a table's changes.
Gives: the rows that the table holds now.
Never: results, standing queries, work that grows with the table while nobody asks.
"""

from __future__ import annotations

from typing import Any

from penstock.algebra.physical import KeepStep
from penstock.operators.keep.operator import KeepOperator
from penstock.operators.protocol import OperatorKind
from penstock.vocabulary.batches import Registration

__all__ = ["KEEP", "KeepOperator"]


def _register(*_: Any) -> Registration:
    raise AssertionError("nobody subscribes to a kept table")


def _explain(step: KeepStep, _entries: Any) -> dict[str, Any]:
    return {"relation": step.relation, "branches": []}


def _warm_up(_step: KeepStep) -> None:
    """Nothing to compile."""


KEEP = OperatorKind(
    step_from_json=KeepStep.from_json,
    register=_register,
    build=KeepOperator,
    explain=_explain,
    warm_up=_warm_up,
)
