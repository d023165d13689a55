"""Warming: every kernel once, with the types of production, so that its code is on disk."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from penstock.algebra.physical import BranchShape, FilterStep
from penstock.operators.filter.operator import FilterOperator
from penstock.vocabulary.batches import QueryChanges


@cache
def warm_up() -> None:
    """Run a small group through everything that is compiled.

    A process that calls this at its start does not compile while events wait; the compiled code
    is kept on disk for the processes after it.
    """
    typed = (("number", pa.int64()), ("text", pa.string()))
    ranges = (("price", pa.float64()), ("size", pa.int64()))
    step = FilterStep(
        relation="events",
        branches=(BranchShape(equalities=typed, ranges=ranges), BranchShape(ranges=ranges[:1])),
    )
    operator = FilterOperator(step, threads=1)
    rows = 40
    lows = np.arange(rows) % 3
    adds = {
        "query": np.arange(rows), "shared": np.arange(rows) % 2 == 0,
        "e0": lows, "e1": pa.array(["a"] * rows),
        "l0": lows, "h0": lows + (1 << 62), "l1": lows, "h1": lows + 5,
    }  # fmt: skip
    coded = pa.table(adds)
    plain = coded.select(["query", "shared", "l0", "h0"])
    operator.apply(QueryChanges(adds={"branch0": coded, "branch1": plain}))
    again = coded.set_column(0, "query", pa.array(np.arange(rows, 2 * rows)))
    operator.apply(QueryChanges(adds={"branch0": again}, drops=np.arange(30)))
    events = pa.table(
        {"number": lows, "text": ["a"] * rows, "price": lows.astype(np.float64), "size": lows}
    )
    operator.process({"events": events})
