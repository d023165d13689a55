"""Warming: every kernel once, with the types of production, so that its code is on disk."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from penstock.algebra.bounded_joins import BoundedJoinStep
from penstock.algebra.memories import Memory
from penstock.algebra.multi_joins import Crossing, InputShape, MultiJoinStep, WindowLength
from penstock.algebra.physical import BranchShape
from penstock.operators.bounded_join.operator import BoundedJoinOperator
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.input_entries import entry_schema
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.vocabulary.batches import QueryChanges

ROWS = 120
BUDGET = 8
COLUMNS = (("number", pa.int64()), ("text", pa.string()), ("at", pa.timestamp("us")))


def warm_up(_step: BoundedJoinStep) -> None:
    """Run small groups through everything that any step may need, once per process."""
    _run()


@cache
def _run() -> None:
    """Let queries and rows come and go once, with keys that count and with keys that do not."""
    for key, window in (("number", None), ("text", WindowLength("range", 40))):
        step = _small(key, window)
        operator = BoundedJoinOperator(step)
        operator.apply(QueryChanges(adds={PORT: _entries(step.join)}))
        for turn in range(2):
            operator.process({"a": _rows(turn), "b": _rows(turn)})
        operator.sizes()
        delta = operator.delta()
        assert delta is not None
        BoundedJoinOperator(step).catch_up(delta)
        BoundedJoinOperator(step, operator.snapshot()).sizes()


def _small(key: str, window: WindowLength | None) -> BoundedJoinStep:
    inputs = tuple(
        InputShape(
            relation=name, columns=COLUMNS, window=window,
            branch=BranchShape(ranges=(("number", pa.int64()),)), event_time="at",
        )
        for name in "ab"
    )  # fmt: skip
    crossing = Crossing(equalities=(((0, key), (1, key)),))
    return BoundedJoinStep(
        join=MultiJoinStep(inputs=inputs, crossing=crossing), memory=Memory(rows=BUDGET)
    )


def _entries(step: MultiJoinStep) -> pa.Table:
    ends = {"l": LOWEST, "h": HIGHEST}
    return pa.table(
        {
            field.name: pa.array([0 if field.name == "query" else ends[field.name[-2]]], field.type)
            for field in entry_schema(step)
        }
    )


def _rows(turn: int) -> pa.Table:
    numbers = turn * ROWS + np.arange(ROWS)
    return pa.table(
        {
            "number": numbers // 2, "text": [str(number % 9) for number in numbers.tolist()],
            "at": pa.array(numbers).cast(pa.timestamp("us")),
        }
    )  # fmt: skip
