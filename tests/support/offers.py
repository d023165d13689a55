"""A table of offers that changes, its semantic messages as sinks get them, and the true answers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.kernels.range_messages import RangeTuples
from penstock.operators.range_aggregate.extremes import Extremes
from penstock.operators.shared.keys import HIGHEST, LOWEST
from tests.oracle.range_aggregates import greatest, least

SITES = ["home", "away"]
Offer = tuple[int, int, int]


class Offers:
    """Rows (site, risk, price) with many ties; `change` gives the messages of a batch."""

    def __init__(self, seed: int, extreme: str = "min", span: int = 30) -> None:
        self._rng = np.random.default_rng(seed)
        self._extreme = extreme
        self._span, self._oracle = span, greatest if extreme == "max" else least
        self.rows: list[Offer] = []
        self._extremes = Extremes(largest=extreme == "max")
        self.batches = 0

    def _draw(self, count: int) -> list[Offer]:
        draw = self._rng.integers
        sites, risks, prices = draw(0, 2, count), draw(0, self._span, count), draw(0, 12, count)
        return list(zip(sites.tolist(), risks.tolist(), prices.tolist(), strict=True))

    def change(self, come: int = 4, go: int = 3) -> pa.Table:
        """Let rows come and go; give what a sink is given of it, maybe no rows."""
        go = min(go, len(self.rows))
        gone = [self.rows.pop(int(self._rng.integers(len(self.rows)))) for _ in range(go)]
        here = self._draw(come)
        self.rows += here
        self.batches += 1
        told = self._extremes.net(_tuples(gone), _tuples(here))
        left, right = told.outer_l == LOWEST, told.outer_r == HIGHEST
        count = len(told.values)
        return pa.table(
            {
                "_id": ["lows"] * count,
                "_query": np.zeros(count, dtype=np.int64),
                "_sign": np.ones(count, dtype=np.int8),
                "site": [SITES[code] for code in told.partitions.tolist()],
                self._extreme: pa.array(told.values / 4, mask=told.empty),
                "inner_l": told.inner_l,
                "inner_r": told.inner_r,
                "outer_l": pa.array(told.outer_l - 1, mask=left),
                "outer_r": pa.array(told.outer_r + 1, mask=right),
                "_batch": np.full(count, self.batches - 1),
                "_version": np.zeros(count, dtype=np.int64),
            }
        )

    def subscribers(self, count: int, low: int = 0, high: int | None = None) -> pa.Table:
        """Draw ranges, some of them empty."""
        high = self._span if high is None else high
        first = self._rng.integers(low, high, count)
        last = first + self._rng.integers(-1, high - low, count)
        sites = [SITES[code] for code in self._rng.integers(0, 2, count).tolist()]
        ids = [f"s{at}" for at in range(count)]
        return pa.table({"id": ids, "site": sites, "lo": first, "hi": np.minimum(last, high)})

    def answers(self, subscribers: pa.Table) -> dict[str, float | None]:
        """Give the answer of every subscriber by brute force."""
        found = {}
        for each in subscribers.to_pylist():
            value = self._oracle(self.rows, (SITES.index(each["site"]), each["lo"], each["hi"]))
            found[each["id"]] = None if value is None else value / 4
        return found


def _tuples(rows: list[Offer]) -> RangeTuples:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return RangeTuples(*(np.ascontiguousarray(column) for column in columns))
