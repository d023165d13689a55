"""Keeping tables: what a table's changes mean, and the rows that it holds.

Takes: a KeepStep, batches of a table's changes as they were written.
Gives: how the table's rows change, to all that read it; the rows that it holds now.
Never: results, standing queries, a change on a guess that is not counted.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.physical import KeepStep
from penstock.operators.keep.held import Held
from penstock.operators.keep.operator import FIGURES, KeepOperator
from penstock.operators.protocol import OperatorKind
from penstock.operators.shared.rehearsal import NO_CHANGES, rehearse
from penstock.vocabulary.batches import Registration

__all__ = ["KEEP", "KeepOperator"]


def _register(*_: Any) -> Registration:
    raise AssertionError("nobody subscribes to a kept table")


def _explain(step: KeepStep, _entries: Any) -> dict[str, Any]:
    return {"relation": step.relation, "branches": []}


def _warm_up(step: KeepStep | None) -> None:
    """Let a row come and go."""
    if step is None:
        typed = (("number", pa.int64()), ("text", pa.string()))
        step = KeepStep(relation="t", columns=typed, change_column="change")
    schema = pa.schema([*step.columns, (step.change_column, pa.string()), *step.position])
    columns = [pa.array([None], f.type) for f in schema]
    columns[len(step.columns)] = pa.array(["insert"])
    rows = pa.table(columns, schema=schema)
    rehearse(partial(KeepOperator, step), [(NO_CHANGES, {step.relation: rows})])
    held = Held(schema)
    slots = held.add(np.arange(100, dtype=np.int64))
    held.remove(held.find(held.prints[slots]))


KEEP = OperatorKind(
    figures=FIGURES,
    step_from_json=KeepStep.from_json,
    register=_register,
    build=KeepOperator,
    explain=_explain,
    warm_up=_warm_up,
)
