"""Warming: every kernel of multi-way joins once, with the types of production."""

from __future__ import annotations

import json
from functools import cache, partial

import numpy as np
import pyarrow as pa

from penstock.algebra.crossings import Comparison, Crossing, Difference
from penstock.algebra.inputs import InputShape, WindowLength
from penstock.algebra.multi_joins import MultiJoinStep
from penstock.algebra.physical import PLAN_PORT, BranchShape
from penstock.algebra.trees import Join, JoinPlan, Leaf, Pulled, Tree
from penstock.operators.multi_join.operator import MultiJoinOperator
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.input_entries import entry_schema
from penstock.operators.shared.rehearsal import NO_CHANGES, Turn, open_entries, rehearse
from penstock.vocabulary.batches import QueryChanges

ROWS = 60
COLUMNS = (
    ("number", pa.int64()), ("text", pa.string()), ("x", pa.float64()), ("at", pa.timestamp("us")),
)  # fmt: skip


def warm_up(_step: MultiJoinStep | None) -> None:
    """Run a small group through everything that any step may need, once per process."""
    _run()


@cache
def _run() -> None:
    """Let queries, plans and rows come and go once."""
    step = _small()
    left: Tree = Join(Join(Leaf(0), Leaf(1)), Leaf(2), "loop", "loop")
    right: Tree = Join(Leaf(0), Join(Leaf(1), Leaf(2), "loop", "hash"))
    turns: list[Turn] = []
    for turn, tree in enumerate((left, right)):
        pulled = (Pulled(input=0, part="terms", mask=7),) if turn else ()
        plan = JoinPlan(tree=tree, pulled=pulled, passes=(0.9, 1.0, 1.0))
        entries = open_entries(entry_schema(step), 2 * turn)
        adds = {PORT: entries, PLAN_PORT: _plans(2 * turn + 1, plan)}
        turns.append((QueryChanges(adds=adds), dict.fromkeys("abt", _rows(turn))))
    turns.append((NO_CHANGES, {"t": _rows(0, "-"), "a": _rows(2)}))
    rehearse(partial(MultiJoinOperator, step), turns)


def _small() -> MultiJoinStep:
    windows = (WindowLength("rows", 20), WindowLength("range", 30), None)
    inputs = tuple(
        InputShape(
            relation=name, columns=COLUMNS, window=window,
            branch=BranchShape(ranges=(("x", pa.float64()),)),
            change_column=None if window else "change", event_time="at" if window else None,
        )
        for name, window in zip("abt", windows, strict=True)
    )  # fmt: skip
    crossing = Crossing(
        equalities=(((0, "text"), (1, "text")), ((0, "number"), (2, "number"))),
        comparisons=(
            Comparison((1, "x"), "<=", (2, "x")), Comparison((1, "x"), "<>", (0, "x")),
            Comparison((0, "x"), "<", (1, "x")),
        ),
        differences=(Difference((0, "number"), (1, "number"), -50, 50),),
    )  # fmt: skip
    return MultiJoinStep(inputs=inputs, crossing=crossing)


def _plans(number: int, plan: JoinPlan) -> pa.Table:
    return pa.table({"query": [number], "plan": [json.dumps(plan.to_json())]})


def _rows(turn: int, sign: str = "+") -> pa.Table:
    numbers = np.arange(ROWS)
    return pa.table(
        {
            "number": numbers % 9, "text": ["a"] * ROWS, "x": (numbers % 7).astype(np.float64),
            "at": pa.array(turn * ROWS + numbers).cast(pa.timestamp("us")),
            "change": [sign] * ROWS,
        }
    )  # fmt: skip
