"""The workload of the end-to-end experiment: two tables and select-joins, the same for all sides.

`supply(number, product, quantity)` is what micro-batches bring, `demand(product, quantity)` is
what they meet. Quantities are uniform in [0, 10000), and a product has ten rows of demand on
average. A query takes 1 % of the supply and a thousandth of the demand, so that of 100,000 queries
some ten are affected by each row that arrives. The demanded ranges of 90 % of the queries lie
around 60 quantities that everybody likes: the hotspots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.lab.draws import generator
from penstock.lab.report import sized
from penstock.vocabulary.batches import Ints

TOP = 10_000
ROWS_PER_PRODUCT = 10
SUPPLY_WIDTH = TOP // 100
DEMAND_WIDTH = TOP // 1000
HOTSPOTS = 60
HOT = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSizes:
    """How much of everything, for one size of the experiment.

    `batches` are the sizes of micro-batches end to end, `judged` the one on which the engine is
    compared with its kernels; each peer has its own, so that it ends.
    """

    queries: int
    rows: int
    batches: tuple[int, ...]
    judged: int
    duckdb_batches: tuple[int, ...]
    spark_batch: int
    pathway_batch: int
    pathway_first: int
    pathway_limit_s: float
    rounds: int


SIZES = sized(PipelineSizes(
        queries=2_000, rows=2_000, batches=(1_000,), judged=1_000, duckdb_batches=(1_000,),
        spark_batch=200, pathway_batch=20, pathway_first=2_000, pathway_limit_s=60, rounds=1,
    ), PipelineSizes(
        queries=20_000, rows=20_000, batches=(10_000, 100_000), judged=100_000,
        duckdb_batches=(1_000, 10_000), spark_batch=1_000, pathway_batch=100, pathway_first=1_000,
        pathway_limit_s=30, rounds=1,
    ), PipelineSizes(
        queries=100_000, rows=100_000, batches=(10_000, 100_000), judged=100_000,
        duckdb_batches=(1_000, 10_000, 100_000), spark_batch=2_000, pathway_batch=100,
        pathway_first=16_000, pathway_limit_s=300, rounds=3,
    ))  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueryRanges:
    """Rectangles: closed ranges of supplied and of demanded quantities."""

    s_lo: Ints
    s_hi: Ints
    d_lo: Ints
    d_hi: Ints

    def __len__(self) -> int:
        return len(self.s_lo)

    def table(self) -> pa.Table:
        """Give the rows of FOR EACH."""
        ranges = {name: getattr(self, name) for name in ("s_lo", "s_hi", "d_lo", "d_hi")}
        return pa.table({"id": np.arange(len(self), dtype=np.int64), **ranges})


def queries(count: int, seed: int = 1) -> QueryRanges:
    """Draw standing joins."""
    rng = generator(seed)
    s_lo = rng.integers(-SUPPLY_WIDTH, TOP, count)
    hot = rng.random(count) < HOT
    point = (rng.integers(0, HOTSPOTS, count) * 2 + 1) * TOP // (2 * HOTSPOTS)
    below = rng.integers(0, DEMAND_WIDTH, count)
    d_lo = np.where(hot, point - below, rng.integers(0, TOP, count))
    return QueryRanges(s_lo, s_lo + SUPPLY_WIDTH - 1, d_lo, d_lo + DEMAND_WIDTH - 1)


def products(rows: int) -> int:
    """Say how many products there are if demand has so many rows."""
    return max(rows // ROWS_PER_PRODUCT, 1)


def demand(rows: int, seed: int = 2) -> pa.Table:
    """Draw the table that arrivals meet."""
    rng = generator(seed)
    return pa.table(
        {"product": rng.integers(0, products(rows), rows), "quantity": rng.integers(0, TOP, rows)}
    )


def supply(first: int, last: int, rows: int, seed: int = 3) -> pa.Table:
    """Draw rows of supply, numbers `first` up to, not including, `last`; demand has `rows`."""
    rng = generator(seed, first)
    count = last - first
    return pa.table(
        {
            "number": np.arange(first, last, dtype=np.int64),
            "product": rng.integers(0, products(rows), count),
            "quantity": rng.integers(0, TOP, count),
        }
    )


def inserted(table: pa.Table) -> pa.Table:
    """Add the change column: all rows are inserts."""
    return table.append_column("op", pa.array(["insert"] * table.num_rows))
