"""Select-join strategies side by side: cores, the published form, times per tuple.

All sides run on one thread, and what counts is its processor time: what else the machine does
meanwhile is not theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import thread_time

import numpy as np

from penstock.lab.joins.published import Published
from penstock.lab.joins.workload import SelectQueries, Tuples
from penstock.lab.timing import alternate
from penstock.operators.join.options import Options
from penstock.operators.join.runs import Runs
from penstock.operators.join.select import SelectCore
from penstock.operators.join.select.grouped import Grouped

ONE_BY_ONE = "ssi, tuple at a time"
"""What tables call the published form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedSide:
    """One way to process tuples, and how many of them one measurement takes.

    `find` identifies the affected queries and counts them; `identify` writes the pairs as well.
    Given a number, they process so many tuples.
    """

    find: Callable[[int], int]
    identify: Callable[[int], int]
    tuples: int


def core_of(strategy: str, queries: SelectQueries, options: Options | None = None) -> SelectCore:
    """Build a core on one thread, ready to probe."""
    core = SelectCore(strategy, options, threads=1)
    core.add(*queries.columns())
    if isinstance(core.strategy, Grouped):
        core.strategy.settle()
    return core


def batch_side(core: SelectCore, runs: Runs, given: Tuples, tuples: int) -> TimedSide:
    """Process tuples in one batch, through the core."""
    return TimedSide(
        find=lambda count: core.find(given.a[:count], given.codes[:count], runs),
        identify=lambda count: len(core.identify(given.a[:count], given.codes[:count], runs)[0]),
        tuples=min(tuples, len(given.a)),
    )


def published_side(core: SelectCore, runs: Runs, given: Tuples, tuples: int) -> TimedSide:
    """Process tuples one by one, as published; for the hot strategy, the rest by selection."""
    grouped = core.strategy
    assert isinstance(grouped, Grouped)
    published, rest = Published(grouped.groups, runs), grouped.rest

    def find(count: int) -> int:
        a, codes = given.a[:count], given.codes[:count]
        return published.find(a, codes) + (rest.find(a, codes, runs) if len(rest) else 0)

    def identify(count: int) -> int:
        a, codes = given.a[:count], given.codes[:count]
        found = len(published.identify(a, codes)[0])
        return found + (len(rest.identify(a, codes, runs)[0]) if len(rest) else 0)

    return TimedSide(find=find, identify=identify, tuples=min(tuples, len(given.a)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What sides cost, in microseconds per tuple, and how many answers disagreed."""

    find: dict[str, float]
    identify: dict[str, float]
    found: dict[str, float]
    wrong: int


def measure(sides: dict[float, dict[str, TimedSide]], rounds: int) -> dict[float, Costs]:
    """Time all sides of all points alternately; give the costs of each point.

    At each point, all sides must find the same on the tuples that all process.
    """
    best = [
        alternate(
            {
                f"{point} {name}": partial(getattr(side, call), side.tuples)
                for point, group in sides.items()
                for name, side in group.items()
            },
            rounds,
            thread_time,
        )
        for call in ("find", "identify")
    ]
    costs = {}
    for point, group in sides.items():
        took = [
            {name: 1e6 * part[f"{point} {name}"] / side.tuples for name, side in group.items()}
            for part in best
        ]
        found = {name: side.find(side.tuples) / side.tuples for name, side in group.items()}
        wrong = _differing(list(group.values()))
        costs[point] = Costs(find=took[0], identify=took[1], found=found, wrong=wrong)
    return costs


def _differing(sides: Sequence[TimedSide]) -> int:
    """Count the answers beyond one that sides give to the same tuples."""
    common = min(side.tuples for side in sides)
    answers = {side.find(common) for side in sides} | {side.identify(common) for side in sides}
    return len(answers) - 1


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Give the slope of a line through the logarithms: 1 is linear growth.

    >>> round(slope([1, 10, 100], [3, 30, 300]), 2)
    1.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def fit_quality(y: Sequence[float], *terms: Sequence[float]) -> float:
    """Give R² of y as a constant and a multiple of each term.

    >>> round(fit_quality([2, 4, 6], [1, 2, 3]), 3)
    1.0
    """
    given, columns = np.array(y), np.stack([np.ones(len(y)), *terms], axis=1)
    rest = given - columns @ np.linalg.lstsq(columns, given, rcond=None)[0]
    spread = float(((given - given.mean()) ** 2).sum())
    return 1.0 - float((rest**2).sum()) / spread if spread else 1.0
