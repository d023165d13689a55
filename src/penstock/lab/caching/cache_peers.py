"""Lookup caches beside those of libcachesim, over temperatures and over web-like traces.

LRU is defined alike on both sides and must agree to the hit. LFU is not: the peer's forgets a key's
count when its row goes and always takes what comes; ours counts all keys and may refuse. Belady's
optimum of the peer always takes what comes too; ours may refuse, and is never below. HEEB has the
law that a trace was drawn from or fitted to, where there is one; AUTO is told nothing. The peer's
ARC, S3-FIFO and SIEVE are shown for what they are worth; S3-FIFO's first queue is a tenth of the
rows, so that it takes nothing at 10 rows and does not run with fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import libcachesim
import numpy as np

from penstock.algebra.memories import Memory
from penstock.lab.caching.temperature import LOOKUPS, heeb
from penstock.lab.caching.traces import WEB_LIKE
from penstock.lab.caching.workload import DAYS, TEMPERATURES, fitted
from penstock.lab.report import (
    Cell,
    Findings,
    Size,
    Table,
    at_least,
    at_most,
    chart,
    curves_of,
    sized,
)
from penstock.lab.spreads import Spread, spread_of
from penstock.lab.timing import say
from penstock.operators.bounded.lookups import AutoLookup
from penstock.operators.bounded.lookups_caches import LookupCache
from penstock.operators.bounded.offline import lfd, next_uses
from penstock.operators.bounded.policies_baselines import Lfu, Lru
from penstock.vocabulary.batches import Ints

BUDGETS = sized((50, 100), (10, 50, 100, 200), (10, 25, 50, 75, 100, 150, 200, 250, 300))
SHARES = sized((0.05, 0.2), (0.01, 0.05, 0.2), (0.01, 0.02, 0.05, 0.1, 0.2))
KEYS = sized(1_000, 4_000, 20_000)
LENGTH = sized(20_000, 100_000, 1_000_000)
RUNS = sized(1, 3, 20)
WEB_RUNS = sized(1, 1, 3)

PEERS: dict[str, Callable[..., libcachesim.CacheBase]] = {
    "LRU, peer": libcachesim.LRU,
    "LFU, peer": libcachesim.LFU,
    "ARC, peer": libcachesim.ARC,
    "S3-FIFO, peer": libcachesim.S3FIFO,
    "SIEVE, peer": libcachesim.Sieve,
    "Belady, peer": libcachesim.Belady,
}
GENERAL = ("LRU", "LFU", "LRU, peer", "LFU, peer")
NAMES = ("LRU", "LFU", "HEEB", "AUTO", "LFD", *PEERS)
RECORD = np.dtype([("time", "<u4"), ("key", "<u8"), ("size", "<u4"), ("next", "<i8")])
"""A reference in the peer's files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLooked:
    """One trace and budget: mean hits per reference by policy, and how LRUs differ in hits."""

    trace: str
    budget: int
    rates: dict[str, float]
    spreads: dict[str, Spread]
    differing: int

    @property
    def auto_over_general(self) -> float:
        """AUTO over the best of LRU and LFU, ours and the peer's."""
        return self.rates["AUTO"] / max(self.rates[name] for name in GENERAL)


def peer_hits(keys: Ints, budgets: tuple[int, ...]) -> dict[str, list[int]]:
    """Give the hits of every peer at every budget."""
    nexts = next_uses(keys)
    records = np.zeros(len(keys), dtype=RECORD)
    records["time"] = np.arange(len(keys))
    records["key"] = np.unique(keys, return_inverse=True)[1] + 1
    records["size"] = 1
    records["next"] = np.where(nexts == len(keys), -1, nexts)
    found: dict[str, list[int]] = {}
    with TemporaryDirectory() as home:
        path = Path(home) / "trace.oracleGeneral"
        records.tofile(path)
        reader = libcachesim.TraceReader(
            trace=str(path), trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE
        )
        for name, make in PEERS.items():
            for budget in budgets:
                cache = make(cache_size=budget, hashpower=max(budget.bit_length(), 8))
                missed, _ = cache.process_trace(reader)
                found.setdefault(name, []).append(round((1 - missed) * len(keys)))
    return found


def our_hits(trace: str, keys: Ints, budget: int) -> dict[str, int]:
    """Give the hits of our caches."""
    found = {
        "LRU": LookupCache(budget, Lru()).feed(keys),
        "LFU": LookupCache(budget, Lfu(keys_max=len(keys))).feed(keys),
        "AUTO": AutoLookup(Memory(rows=budget), numeric=True).feed(keys),
        "LFD": lfd(keys, budget),
    }
    if trace in LOOKUPS:
        law = TEMPERATURES if trace == "A" else fitted(keys)
        found["HEEB"] = LookupCache(budget, heeb(law, budget)).feed(keys)
    return {name: int(hits.sum()) for name, hits in found.items()}


def measure(trace: str, size: Size) -> list[TraceLooked]:
    """Run everything over the same references, at every budget."""
    runs: dict[int, list[dict[str, int]]] = {}
    length = 0
    for seed in range(RUNS[size] if trace in LOOKUPS else WEB_RUNS[size]):
        if trace in LOOKUPS:
            keys, budgets = LOOKUPS[trace](DAYS, seed), BUDGETS[size]
        else:
            keys = WEB_LIKE[trace](KEYS[size], LENGTH[size], seed)
            budgets = tuple(int(share * KEYS[size]) for share in SHARES[size])
        length = len(keys)
        peers = peer_hits(keys, budgets)
        for number, budget in enumerate(budgets):
            hits = our_hits(trace, keys, budget)
            hits |= {name: peer[number] for name, peer in peers.items()}
            runs.setdefault(budget, []).append(hits)
    return [
        TraceLooked(
            trace=trace,
            budget=budget,
            rates={
                name: float(np.mean([hits[name] for hits in each])) / length for name in each[0]
            },
            spreads={name: spread_of([hits[name] / length for hits in each]) for name in each[0]},
            differing=sum(abs(hits["LRU"] - hits["LRU, peer"]) for hits in each),
        )
        for budget, each in runs.items()
    ]


def run(size: Size) -> Findings:
    """Measure every trace; what AUTO must reach is judged from `small` on."""
    found = []
    for trace in (*LOOKUPS, *WEB_LIKE):
        say(f"cache-peers: trace {trace}")
        found += measure(trace, size)
    traces = dict.fromkeys(one.trace for one in found)
    yield from (
        Table(
            f"trace {trace}: hits per reference, {_series(found, trace)} series",
            ("budget_rows", *NAMES),
            [_row(one) for one in found if one.trace == trace],
        )
        for trace in traces
    )
    yield from _judge(found, size)
    yield from (
        chart(
            f"trace {trace}: hits by budget",
            "budget (rows)",
            "hits per reference",
            curves_of(
                (name, one.budget, one.rates[name])
                for name in NAMES
                for one in found
                if one.trace == trace and name in one.rates
            ),
            log="x" if trace in WEB_LIKE else "",
        )
        for trace in traces
    )


def _row(one: TraceLooked) -> tuple[Cell, ...]:
    return (one.budget, *(str(one.spreads[n]) if n in one.spreads else None for n in NAMES))


def _series(found: list[TraceLooked], trace: str) -> int:
    return next(one.spreads["LRU"].count for one in found if one.trace == trace)


def _judge(found: list[TraceLooked], size: Size) -> Findings:
    above = sum(
        rate > one.rates["LFD"]
        for one in found
        for name, rate in one.rates.items()
        if name != "LFD"
    )
    yield at_most("hits by which LRU and the peer's differ", sum(o.differing for o in found), 0)
    yield at_most("budgets at which a policy is above the optimum", above, 0)
    if size == "tiny":
        return
    drawn = [one for one in found if one.trace == "A"]
    by_law = [one for one in drawn if one.rates["HEEB"] >= 1.15 * one.rates["LRU"]]
    yield at_least("A: budgets at which HEEB is 1.15 times LRU", len(by_law), 2)
    yield at_least(
        "A: AUTO over LRU at those, at worst",
        min((o.rates["AUTO"] / o.rates["LRU"] for o in by_law), default=0.0),
        1.15,
    )
    for trace in WEB_LIKE:
        worst = min(one.auto_over_general for one in found if one.trace == trace)
        yield at_least(f"{trace}: AUTO over the best LRU or LFU, at worst", worst, 0.98)
