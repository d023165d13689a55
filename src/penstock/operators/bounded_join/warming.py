"""Warming: every kernel of bounded joins once, with the types of production."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pyarrow as pa

from penstock.algebra.bounded_joins import BoundedJoinStep
from penstock.algebra.memories import Memory
from penstock.algebra.multi_joins import Crossing, InputShape, MultiJoinStep, WindowLength
from penstock.algebra.physical import BranchShape
from penstock.operators.bounded_join.operator import BoundedJoinOperator
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.input_entries import entry_schema
from penstock.operators.shared.rehearsal import NO_CHANGES, open_entries, rehearse
from penstock.vocabulary.batches import QueryChanges

ROWS = 120
BUDGET = 8
COLUMNS = (("number", pa.int64()), ("text", pa.string()), ("at", pa.timestamp("us")))


def warm_up(_step: BoundedJoinStep | None) -> None:
    """Run small groups through everything that any step may need, once per process."""
    _run()


@cache
def _run() -> None:
    """Let queries and rows come and go once, with keys that count and with keys that do not."""
    for key, window in (("number", None), ("text", WindowLength("range", 40))):
        step = _small(key, window)
        entries = QueryChanges(adds={PORT: open_entries(entry_schema(step.join), 0)})
        rehearse(
            partial(BoundedJoinOperator, step),
            [
                (changes, {"a": _rows(turn), "b": _rows(turn)})
                for turn, changes in enumerate((entries, NO_CHANGES))
            ],
        )


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


def _rows(turn: int) -> pa.Table:
    numbers = turn * ROWS + np.arange(ROWS)
    return pa.table(
        {
            "number": numbers // 2, "text": [str(number % 9) for number in numbers.tolist()],
            "at": pa.array(numbers).cast(pa.timestamp("us")),
        }
    )  # fmt: skip
