"""The workload of the filter experiment: ranges and events, seeded, the same for every side.

The domain fits an int32, because one of the peers takes nothing wider.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.lab.draws import generator
from penstock.lab.report import sized
from penstock.vocabulary.batches import Ints

DOMAIN = 1 << 30
WIDTHS_SPREAD = 0.5
"""Widths are uniform within this share around their mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSizes:
    """How much of everything, for one size of the experiment."""

    queries: int
    queries_few: int
    events: int
    batches: tuple[int, ...]
    curve: tuple[int, ...]
    rounds: int
    pipeline_queries: int
    pipeline_rows: int
    pipeline_batches: int
    small_batches: int
    peer_queries: int
    peer_rows: tuple[int, ...]
    plain_rows: int
    changes: int
    live: tuple[tuple[int, int], ...]
    """Batches of so many events, so many of them, for changes while running."""


SIZES = sized(FilterSizes(
        queries=2_000, queries_few=200, events=1_000, batches=(1_000,), curve=(200, 2_000),
        rounds=1, pipeline_queries=2_000, pipeline_rows=4_000, pipeline_batches=1, small_batches=1,
        peer_queries=500, peer_rows=(1_000,), plain_rows=1_000, changes=100, live=((4_000, 7),),
    ), FilterSizes(
        queries=200_000, queries_few=10_000, events=50_000, batches=(10_000, 100_000),
        curve=(1_000, 10_000, 100_000), rounds=3,
        pipeline_queries=200_000, pipeline_rows=200_000, pipeline_batches=4, small_batches=20,
        peer_queries=20_000, peer_rows=(10_000, 100_000), plain_rows=10_000, changes=2_000,
        live=((100_000, 16),),
    ), FilterSizes(
        queries=1_000_000, queries_few=10_000, events=200_000, batches=(10_000, 100_000, 1_000_000),
        curve=(1_000, 10_000, 100_000, 1_000_000), rounds=5,
        pipeline_queries=1_000_000, pipeline_rows=1_000_000, pipeline_batches=6, small_batches=40,
        peer_queries=100_000, peer_rows=(10_000, 100_000, 1_000_000), plain_rows=100_000,
        changes=10_000, live=((100_000, 61), (1_000_000, 16)),
    ))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ranges:
    """Closed ranges [low, high]."""

    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.low)

    def table(self) -> pa.Table:
        """Give the ranges as parameters of a subscription."""
        numbers = np.arange(len(self), dtype=np.int64)
        return pa.table({"id": numbers, "low": self.low, "high": self.high})


def ranges(count: int, matches_per_event: float, seed: int = 1) -> Ranges:
    """Make ranges such that an event in the domain lies in about so many of them."""
    rng = generator(seed)
    mean = DOMAIN * matches_per_event / count
    low = rng.integers(0, DOMAIN, count, dtype=np.int64)
    width = mean * (1 + WIDTHS_SPREAD * rng.uniform(-1, 1, count))
    return Ranges(low, np.minimum(low + width.astype(np.int64), DOMAIN))


def events(count: int, seed: int = 2) -> Ints:
    """Make events in random order."""
    return generator(seed).integers(0, DOMAIN, count, dtype=np.int64)


def event_table(count: int, seed: int = 2) -> pa.Table:
    """Make events as rows of a stream: the value, a time, a symbol, a number."""
    rng = generator(seed + 1)
    symbols = pa.array([f"S{i:03d}" for i in range(300)])
    times = pa.array(np.arange(count, dtype=np.int64), pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "ts": times,
            "symbol": symbols.take(pa.array(rng.integers(0, 300, count))),
            "x": events(count, seed),
            "number": np.arange(count, dtype=np.int64),
        }
    )
