"""Warming: every kernel of bounded joins once, with the types of production."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pyarrow as pa

from penstock.algebra.bounded_joins import BoundedJoinStep
from penstock.algebra.crossings import CrossedShape, Crossing
from penstock.algebra.inputs import InputShape, WindowLength
from penstock.algebra.memories import AUTO, Family, Memory, StreamLaw
from penstock.algebra.physical import BranchShape
from penstock.operators.bounded_join.operator import BoundedJoinOperator
from penstock.operators.bounded_join.shapes import port_of, with_shape
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.input_entries import entry_schema
from penstock.operators.shared.rehearsal import NO_CHANGES, open_entries, rehearse
from penstock.vocabulary.batches import QueryChanges

ROWS = 120
BUDGET = 8
LAWS: tuple[tuple[str, Family], ...] = (
    ("HEEB", "stationary"), ("HEEB", "ar1"), ("PROB", "linear trend"),
)  # fmt: skip
DECLARED = tuple(
    Memory(rows=BUDGET, policy=policy, laws=(StreamLaw(family=family),) * 2)
    for policy, family in LAWS
)
"""Budgets whose laws have kernels that those of the law that is found have not."""
COLUMNS = (("number", pa.int64()), ("text", pa.string()), ("at", pa.timestamp("us")))


def warm_up(step: BoundedJoinStep | None) -> None:
    """Run small groups through everything that a step may need, once per process.

    Without a step: of two streams under every law, and of three that share a memory. More streams
    that share one are compiled for when they come.
    """
    if step is None:
        _run(2, DECLARED)
        _run(3)
    else:
        _run(len(step.inputs) if step.shared else 2)


@cache
def _run(streams: int, declared: tuple[Memory, ...] = ()) -> None:
    """Let queries and rows come and go once, with keys that count and with keys that do not."""
    auto = Memory(rows=BUDGET, laws=(AUTO,) * streams)
    for key, window, memory in (
        ("number", None, auto),
        ("text", WindowLength("range", 40), auto),
        *(("number", None, memory) for memory in declared),
    ):
        step = replace(_small(key, window, streams), memory=memory)
        entries = QueryChanges(adds={PORT: open_entries(entry_schema(step), 0)})
        if streams > 2:
            one = Crossing(equalities=step.crossing.equalities[:1])
            shape = CrossedShape(inputs=step.inputs, crossing=one)
            own = with_shape(open_entries(entry_schema(shape), 0), shape)
            step = replace(step, shared=True)
            entries = QueryChanges(adds={port_of(shape): own})
        rehearse(
            partial(BoundedJoinOperator, step),
            [
                (changes, {each.relation: _rows(turn) for each in step.inputs})
                for turn, changes in enumerate((entries, NO_CHANGES))
            ],
        )


def _small(key: str, window: WindowLength | None, streams: int) -> BoundedJoinStep:
    inputs = tuple(
        InputShape(
            relation=f"s{number}", columns=COLUMNS, window=window,
            branch=BranchShape(ranges=(("number", pa.int64()),)), event_time="at",
        )
        for number in range(streams)
    )  # fmt: skip
    places = [(number, key) for number in range(streams)]
    crossing = Crossing(equalities=tuple(pairwise(places)))
    return BoundedJoinStep(
        inputs=inputs, crossing=crossing, memory=Memory(rows=BUDGET, laws=(AUTO,) * streams)
    )


def _rows(turn: int) -> pa.Table:
    numbers = turn * ROWS + np.arange(ROWS)
    return pa.table(
        {
            "number": numbers // 2, "text": [str(number % 9) for number in numbers.tolist()],
            "at": pa.array(numbers).cast(pa.timestamp("us")),
        }
    )  # fmt: skip
