"""Warming: every kernel of range aggregates once, with the types of production."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pyarrow as pa

from penstock.algebra.range_aggregates import RangeAggregateStep, RangeMeasure
from penstock.operators.range_aggregate.operator import RangeAggregateOperator
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.rehearsal import rehearse
from penstock.vocabulary.batches import QueryChanges

ROWS = 80


def warm_up(_step: RangeAggregateStep | None = None) -> None:
    """Run a small group through everything that any step may need, once per process."""
    _run()


@cache
def _run() -> None:
    typed = pa.float64()
    step = RangeAggregateStep(
        relation="rows",
        attribute="x",
        attribute_type=typed,
        partition=(("part", pa.string()),),
        measures=(
            RangeMeasure(name="a0", function="min", column="y", column_type=typed, type=typed),
            RangeMeasure(name="a1", function="max", column="y", column_type=typed, type=typed),
            RangeMeasure(name="a2", function="sum", column="y", column_type=typed, type=typed),
            RangeMeasure(
                name="a3", function="count_distinct", column="y", column_type=typed, type=pa.int64()
            ),
            RangeMeasure(
                name="a4",
                function="max",
                column="y",
                column_type=typed,
                type=pa.list_(typed),
                most=2,
            ),
        ),
        change_column="change",
    )
    boxes = replace(step, measures=step.measures[:3], further=(("z", typed),))
    numbers = np.arange(ROWS)
    adds = pa.table(
        {
            "query": numbers, "told": numbers % 2 == 0, "e0": pa.array(["a", "b"] * (ROWS // 2)),
            "l": numbers, "h": numbers + (1 << 62), "l1": numbers, "h1": numbers + (1 << 62),
        }
    )  # fmt: skip
    rows = pa.table(
        {
            "part": pa.array(["a", "b"] * (ROWS // 2)), "x": numbers * 1.0,
            "y": (numbers * 7 % 11) / 2, "z": (numbers * 5 % 13) / 2,
            "change": pa.array(["insert"] * ROWS),
        }
    )  # fmt: skip
    gone = rows.set_column(4, "change", pa.array(["delete"] * ROWS)).slice(0, ROWS // 2)
    for each in (step, boxes):
        rehearse(
            partial(RangeAggregateOperator, each),
            [
                (QueryChanges(adds={PORT: adds}), {"rows": rows}),
                (QueryChanges(drops=numbers[:30]), {"rows": gone}),
            ],
        )
