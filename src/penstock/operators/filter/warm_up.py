"""Warming: every kernel of filters once, with the types of production."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.physical import BranchShape, FilterStep
from penstock.operators.filter.operator import FilterOperator
from penstock.operators.shared.rehearsal import rehearse
from penstock.vocabulary.batches import QueryChanges

ROWS = 40


def warm_up(_step: FilterStep | None = None) -> None:
    """Run a small group through everything that any step may need, once per process."""
    _run()


@cache
def _run() -> None:
    typed = (("number", pa.int64()), ("text", pa.string()))
    ranges = (("price", pa.float64()), ("size", pa.int64()))
    step = FilterStep(
        relation="events",
        branches=(BranchShape(equalities=typed, ranges=ranges), BranchShape(ranges=ranges[:1])),
    )
    lows = np.arange(ROWS) % 3
    adds: dict[str, Any] = {
        "query": np.arange(ROWS), "shared": np.arange(ROWS) % 2 == 0,
        "e0": lows, "e1": pa.array(["a"] * ROWS),
        "l0": lows, "h0": lows + (1 << 62), "l1": lows, "h1": lows + 5,
    }  # fmt: skip
    coded = pa.table(adds)
    plain = coded.select(["query", "shared", "l0", "h0"])
    again = coded.set_column(0, "query", pa.array(np.arange(ROWS, 2 * ROWS)))
    events = pa.table(
        {"number": lows, "text": ["a"] * ROWS, "price": lows.astype(np.float64), "size": lows}
    )
    rehearse(
        lambda _: FilterOperator(step, threads=1),
        [
            (QueryChanges(adds={"branch0": coded, "branch1": plain}), {}),
            (QueryChanges(adds={"branch0": again}, drops=np.arange(30)), {"events": events}),
        ],
    )
