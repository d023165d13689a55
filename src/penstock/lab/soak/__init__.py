"""`penstock lab soak`: what a home and its processes take as time goes on.

An embedded engine runs for minutes while subscriptions come and go. And a year of batches and
registrations passes by a fast clock, without Spark. Memory, files and bytes, and what a batch takes
of processors, over what a yardstick takes there at that time, must be flat after the warm-up: what
grows with time ends an engine some day.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.lab.correctness.runs import scratch
from penstock.lab.report import Cell, Findings, Size, Table, at_most, sized
from penstock.lab.soak.embedded_load import EngineLoad
from penstock.lab.soak.samples import IN_YARDSTICKS
from penstock.lab.soak.simulated_year import KEPT, YearHome
from penstock.lab.soak.trends import trend_of
from penstock.lab.timing import say

HOME_MB_MAX = 60.0
"""What docs/guides/running.md says of the home of such a year."""
MEMORY = ("resident MB", "Java heap MB")
YEARLY = ("resident MB", "files", "home MB", IN_YARDSTICKS)
YEAR_JUDGED = sized((), YEARLY, YEARLY)
ENGINE_JUDGED = sized((), (*MEMORY, IN_YARDSTICKS), (*MEMORY, "files", "home MB", IN_YARDSTICKS))
"""What must be flat; folds and volumes of an engine begin after minutes."""


@dataclass(frozen=True, slots=True)
class SoakEffort:
    """How long an engine runs and what it keeps, the batches of the year, and how often to look."""

    seconds: float
    engine_batches: int
    kept: str
    batches: int
    samples: int


EFFORTS = sized(
    SoakEffort(6, 0, "2 batches", 96, 16),
    SoakEffort(120, 240, "20 batches", 1_460, 40),
    SoakEffort(1_200, 2_400, "120 batches", 8_760, 80),
)
"""Two batches a second are few; where an engine makes fewer, it runs longer."""


def run(size: Size) -> Findings:
    """Live through the year, then let an engine run."""
    logging.getLogger("penstock").setLevel(logging.ERROR)  # suspensions are told, thousands of them
    effort = EFFORTS[size]
    with scratch() as place:
        with YearHome(Path(place) / "home", effort.batches) as year:
            samples = list(_told("year", year.live(effort.samples), effort.samples))
            matches = year.matches
        title = f"a year of {effort.batches:,} batches, results kept for {KEPT}"
        yield from _findings(title, "the year", samples, YEAR_JUDGED[size])
        yield {"results of the year": matches}
        largest = max(float(str(sample["home MB"])) for sample in samples)
        yield at_most("largest home of the year in MB", round(largest, 1), HOME_MB_MAX)
    with scratch() as place:
        load = EngineLoad(Path(place))
        running = load.run(effort.seconds, effort.engine_batches, effort.samples, effort.kept)
        samples = list(_told("engine", running, effort.samples))
        title = f"an embedded engine for {effort.seconds:g} s, the results of {effort.kept} kept"
        yield from _findings(title, "the engine", samples, ENGINE_JUDGED[size])
        yield {"changes that sinks took": load.taken}


def _told(
    what: str, samples: Iterable[Mapping[str, Cell]], count: int
) -> Iterable[Mapping[str, Cell]]:
    for number, sample in enumerate(samples, start=1):
        yield sample
        if number % max(count // 10, 1) == 0:
            told = ", ".join(
                f"{name} {value:.4g}" for name, value in sample.items() if isinstance(value, float)
            )
            say(f"soak: {what}, {number} of {count}: {told}")


def _findings(
    title: str, of: str, samples: list[Mapping[str, Cell]], judged: Collection[str]
) -> Findings:
    table = Table.of(title, samples)
    yield table
    measured = [name for name in table.columns[2:] if name != "registrations"]
    columns = dict(zip(table.columns, zip(*table.rows, strict=True), strict=True))
    trends = {name: trend_of([float(str(value)) for value in columns[name]]) for name in measured}
    yield Table(
        f"{title}: after the warm-up",
        ("of", "level", "growth %", "noise %"),
        [(name, t.level, 100 * t.growth, 100 * t.noise) for name, t in trends.items()],
    )
    for name in judged:
        yield trends[name].flat(f"{name}, {of}", timed=name == IN_YARDSTICKS)
    for unit in ("MB", "ms"):
        drawn = [name for name in measured if name.endswith(f" {unit}")]
        yield table.chart(f"What {of} takes", unit, *drawn)
    yield table.chart(f"What {of} takes", "files", "files")
    yield table.chart(f"What {of} takes", "yardsticks", IN_YARDSTICKS)
