"""Drop boxes of filters: which rows go on, by their event time.

Filters keep no data state, so a row has no number here: a hash of its event time decides. Rows of
one time go together, in every shard and after every crash. A row without a time goes on.
"""

from __future__ import annotations

import json
from math import ceil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.scatter import splitmix


def times_of(column: pa.ChunkedArray | pa.Array) -> tuple[Ints, Flags]:
    """Give event times in microseconds, and which rows have one."""
    there = pc.is_valid(column).to_numpy(zero_copy_only=False)
    zone = getattr(column.type, "tz", None)
    whole = column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
    return pc.fill_null(whole, 0).to_numpy().astype(np.int64), there


def let_through(times: Ints, there: Flags, share: float) -> Flags:
    """Say which rows a drop box lets through.

    >>> times = np.arange(1000)
    >>> 450 < let_through(times, times >= 0, 0.5).sum() < 550
    np.True_
    """
    if share >= 1.0:
        return np.ones(len(times), dtype=np.bool_)
    passes: Flags = splitmix(times.astype(np.uint64)) < np.uint64(ceil(share * 2.0**64))
    return passes | ~there


class Box:
    """The drop box of a group: the share that the newest plan lets pass."""

    def __init__(self) -> None:
        self._given: dict[int, float] = {}

    def apply(self, plans: pa.Table | None, drops: Ints) -> None:
        """Take plans, and forget those that are dropped; unknown numbers are none of ours."""
        for number in self._given.keys() & set(drops.tolist()):
            del self._given[number]
        for row in plans.to_pylist() if plans is not None else ():
            self._given[row["query"]] = json.loads(row["plan"])["pass"]

    @property
    def share(self) -> float:
        """The share of rows that go on."""
        return self._given[max(self._given)] if self._given else 1.0
