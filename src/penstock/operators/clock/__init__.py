"""Clocks of streams: how far a stream has come, for joins that are registered later.

Takes: a ClockStep, batches of a stream.
Gives: the newest event time of all batches so far.
Never: results, standing queries, rows that are kept.
"""

from __future__ import annotations

from typing import Any

from penstock.algebra.physical import ClockStep
from penstock.operators.clock.operator import ClockOperator
from penstock.operators.protocol import OperatorKind
from penstock.vocabulary.batches import Registration

__all__ = ["CLOCK", "ClockOperator"]


def _register(*_: Any) -> Registration:
    raise AssertionError("nobody subscribes to a clock")


def _explain(step: ClockStep, _entries: Any) -> dict[str, Any]:
    return {"relation": step.relation, "branches": []}


def _warm_up(_step: ClockStep | None) -> None:
    """Nothing to compile."""


CLOCK = OperatorKind(
    step_from_json=ClockStep.from_json,
    register=_register,
    build=ClockOperator,
    explain=_explain,
    warm_up=_warm_up,
)
