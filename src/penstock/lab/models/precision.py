"""Precision: how many rows break their bound as it grows tighter, and whether one ever passes it.

Constant models of prices that walk at random, as published; then every stream that the lab has,
under its published bound. The largest distance of a row from its model, as a share of what it may
be, is computed from the segments alone, by other code than that which made them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from time import thread_time

from penstock.algebra.models import ModelSource
from penstock.lab.draws import generator
from penstock.lab.models.sources import (
    constant_prices,
    farthest_off,
    motion_rows,
    segmented,
    straight_motion,
    tick_rows,
)
from penstock.lab.models.workload import (
    COLLECTIONS,
    SECOND,
    aircraft,
    moving_objects,
    random_ticks,
    vessels,
)
from penstock.lab.report import Cell, Findings, Size, Table, at_least, at_most, sized
from penstock.lab.timing import say
from penstock.models.sources import SegmentSource, SourceRows
from penstock.models.tolerances import SourceTolerances
from penstock.worlds.aircraft import aircraft_path

SHARES = (0.001, 0.002, 0.003, 0.005, 0.01, 0.02)
PUBLISHED = (6_411, 1_830, 826, 336, 73, 15)
"""Violations among 200,000 trades of one symbol, by the specification's own simulation."""
TRADES = sized(20_000, 200_000, 200_000)
ROWS = sized(20_000, 1_000_000, 10_000_000)
OBJECTS = sized(10, 100, 1_000)
RATED = sized(50_000, 2_000_000, 5_000_000)

AIRCRAFT_M, AIRCRAFT_SHARES = (100.0, 500.0), (0.001, 0.01, 0.05)
"""Bounds of real positions: metres, and shares of the distance from the middle, axis by axis."""
SHORTLY_US = 60 * SECOND
"""The horizon under shares: what a share allows is that of the smallest value up to it."""

Stream = tuple[str, ModelSource, SourceTolerances, SourceRows]


def run(size: Size) -> Findings:
    """Count violations by the bound; look for a row beyond it; time rows that are inside."""
    walk = tick_rows(random_ticks(generator(71), 1, TRADES[size], 10.0))
    counted = []
    for share in SHARES:
        source, _ = segmented(constant_prices(), SourceTolerances.relative(share), walk)
        counted.append(source.counts["violations"])
    scale = TRADES[size] / 200_000
    table = Table(
        f"Violations among {TRADES[size]:,} trades of one symbol",
        ("bound (%)", "violations", "specification"),
        [
            (share * 100, count, round(published * scale))
            for share, count, published in zip(SHARES, counted, PUBLISHED, strict=True)
        ],
    )
    yield table
    yield table.chart("Rows that break their bound", "violations", log="xy")
    rising = sum(a < b for a, b in pairwise(counted))
    yield at_most("Bounds that are wider and broken more often", rising, 0)
    if size != "tiny":
        ratio = counted[0] / max(counted[SHARES.index(0.01)], 1)
        yield at_least("Violations at 0.1 % over those at 1 %", ratio, 30)
    found: list[dict[str, Cell]] = []
    for name, node, tolerances, rows in _streams(size):
        say(f"model-precision: {name}, {len(rows):,} rows")
        source, segments = segmented(node, tolerances, rows)
        counts = source.counts
        off = farthest_off(segments, rows, tolerances)
        taken_back = int((segments.sign < 0).sum())
        found.append(
            {
                "stream": name, "rows": len(rows), "keys": counts["keys"],
                "segments": counts["segments"],
                "rows per segment": len(rows) / max(counts["segments"], 1),
                "inside (%)": 100 * counts["validated"] / len(rows), "taken back": taken_back,
                "farthest off, of 1": off,
            }
        )  # fmt: skip
        yield at_most(f"{name}: a row's distance over its bound", off, 1 + 1e-9)
    yield Table.of("Rows held against models", found)
    if aircraft_path() is None:
        yield "No real aircraft are here: `pip install --no-deps traffic` brings them."
    yield from _rates(size)


def _streams(size: Size) -> Iterator[Stream]:
    """Give every stream with its model and its bound, one after the other: they are large."""
    rows = ROWS[size]
    yield (
        "ticks, 1 %", constant_prices(), SourceTolerances.relative(0.01),
        tick_rows(random_ticks(generator(74), OBJECTS[size], rows, 1_000.0)),
    )  # fmt: skip
    yield (
        "objects, 0.01", straight_motion(), SourceTolerances.absolute(0.01, 0.01),
        motion_rows(moving_objects(generator(72), OBJECTS[size], rows, 100)),
    )  # fmt: skip
    ships = vessels(
        generator(73), max(OBJECTS[size] // 2, 5), max(rows * 25 // (2 * OBJECTS[size]), 60)
    )
    yield (
        "vessels, 50 m", straight_motion(), SourceTolerances.absolute(50.0, 50.0),
        motion_rows(ships.first(rows)),
    )  # fmt: skip
    if aircraft_path() is None:
        return
    for name in COLLECTIONS[:1] if size == "tiny" else COLLECTIONS:
        flown = motion_rows(aircraft(name).first(rows))
        for bound in AIRCRAFT_M:
            yield (
                f"aircraft ({name}), {bound:.0f} m", straight_motion(),
                SourceTolerances.absolute(bound, bound), flown,
            )  # fmt: skip
        for share in AIRCRAFT_SHARES:
            yield (
                f"aircraft ({name}), {share:.1%}", straight_motion(SHORTLY_US),
                SourceTolerances.relative(share, share), flown,
            )  # fmt: skip


def _rates(size: Size) -> Findings:
    """Say how many rows a second are found to be inside, by the number of keys."""
    rates = []
    for keys in (1, 1_000, 100_000):
        motion = moving_objects(generator(75), keys, max(RATED[size], 2 * keys), 1 << 30, 1_000)
        rows = motion_rows(motion, "x")
        source = SegmentSource(straight_motion(axes="x"), SourceTolerances.absolute(1.0))
        source.process(rows.take(slice(keys)))
        begun, rest = source.arrays(), rows.take(slice(keys, None))
        best = float("inf")
        for _ in range(3):
            source.restore(begun)
            started = thread_time()
            source.process(rest)
            best = min(best, thread_time() - started)
        rates.append((keys, len(rest) / best / 1e6, source.counts["validated"] / len(rest)))
    yield Table(
        "Rows inside their bound, one attribute, one core",
        ("keys", "million rows/s", "share inside"),
        rates,
    )
    if size != "tiny":
        rate = max(each for _, each, _ in rates)
        yield at_least("Rows inside, a second and core, in millions", rate, 20, timed=True)
