"""A contest: every strategy, the router and an oracle on the same tuples."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import thread_time
from typing import cast

import numpy as np

from penstock.lab.joins.profiles import Sides
from penstock.lab.joins.routing_data import Workload
from penstock.lab.report import (
    Cell,
    Chart,
    Finding,
    Findings,
    Size,
    Table,
    at_least,
    at_most,
    chart,
)
from penstock.lab.timing import say
from penstock.operators.join.routing import CHOICES, DynamicStrategy
from penstock.operators.join.routing.dynamic import RoutedStrategy
from penstock.operators.join.select import SelectCore
from penstock.vocabulary.batches import Floats, Ints, Rows

PLACES, LENGTHS = 8, 5
"""The oracle knows tuples by as many classes of their value and of m'."""
QUICK, QUICK_ROUNDS = 0.01, 8
"""Seconds of work below which a side is measured again, as short times are noisy; how often."""

FINAL_ROUNDS, FINAL_ROUNDS_MAX, FINAL_SECONDS = 16, 60, 20.0
Find = Callable[[Ints, Rows], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingOutcome:
    """What came of a contest; times are microseconds per tuple.

    `gain` says how many times faster the router is than the best strategy for all tuples. `shares`
    are the tuples sent to each strategy, of those that join with anything. `agreement` is
    the share of tuples sent where the oracle found the least cost. `overhead` is the router's own
    time as a share of all its time. `join_rate` and `selection_rate` are the means of m' and n'.
    """

    times: dict[str, float]
    dynamic: float
    oracle: float
    shares: dict[str, float]
    gain: float
    agreement: float
    overhead: float
    join_rate: float
    selection_rate: float


class RoutingContest:
    """All strategies and the router on one workload.

    Time is that of the one thread at work, so that what else runs on the machine hardly counts.
    """

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._sides = Sides(workload)
        core = SelectCore("dynamic", workload.options, threads=1)
        core.add(workload.slots, workload.al, workload.ah, workload.cl, workload.ch)
        self._router = cast(DynamicStrategy, core.strategy)
        # The router's own strategies: two copies of one index differ by how they lie in memory.
        self._finds: dict[str, Find] = {
            choice: partial(self._find, self._router.strategy(number))
            for number, choice in enumerate(CHOICES)
        }
        self._finds["dynamic"] = lambda a, codes: core.find(a, codes, workload.runs)

    def _find(self, strategy: RoutedStrategy, a: Ints, codes: Rows) -> int:
        return strategy.find(a, codes, self.workload.runs)

    def run(self, a: Ints, codes: Rows, rounds: int) -> RoutingOutcome:
        """Let every side find the affected queries of the same tuples, in turn."""
        counts = {name: find(a, codes) for name, find in self._finds.items()}
        assert len(set(counts.values())) == 1, f"strategies differ: {counts}"
        router, runs = self._router, self.workload.runs
        router.settle()
        times = _alternate({name: _on(f, a, codes) for name, f in self._finds.items()}, rounds)
        # What is judged is the router beside the best of them: these two again, in turn.
        rival = min(CHOICES, key=lambda name: times[name])
        gain = _times_faster(*(_on(self._finds[name], a, codes) for name in ("dynamic", rival)))
        cutting = _alternate({"": lambda: list(router.parts(a, codes, runs))}, rounds)[""]
        choices, tally = router.route(a, codes, runs)
        lengths = self.workload.joining(codes)
        joining = lengths > 0
        best = self._best(a, codes, lengths)
        parts = [_on(self._finds[name], a[best == k], codes[best == k])
                 for k, name in enumerate(CHOICES) if (best == k).any()]  # fmt: skip
        oracle = _alternate({"": lambda: [part() for part in parts]}, rounds)[""]
        scale = 1e6 / len(a)
        return RoutingOutcome(
            times={choice: scale * times[choice] for choice in CHOICES},
            dynamic=scale * times["dynamic"],
            oracle=scale * oracle,
            shares={
                choice: float(tally[number] / max(joining.sum(), 1))
                for number, choice in enumerate(CHOICES)
            },
            gain=gain,
            agreement=float((choices == best)[joining].mean()) if joining.any() else 1.0,
            overhead=cutting / times["dynamic"],
            join_rate=float(lengths.mean()),
            selection_rate=float(self._sides.accepting(a)[0].mean()),
        )

    def _best(self, a: Ints, codes: Rows, lengths: Floats) -> Ints:
        """Measure every strategy on every class of tuples; give each tuple's cheapest one."""
        classes = _ranks(lengths, LENGTHS) * PLACES + _ranks(a.astype(np.float64), PLACES)
        best = np.zeros(len(a), dtype=np.int64)
        for each in np.unique(classes):
            rows = np.flatnonzero(classes == each)
            part = {name: _on(self._finds[name], a[rows], codes[rows]) for name in CHOICES}
            times = _alternate(part, 1)
            best[rows] = CHOICES.index(min(times, key=lambda name: times[name]))
        return best


def _on(find: Find, a: Ints, codes: Rows) -> Callable[[], object]:
    return lambda: find(a, codes)


def _alternate(sides: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Run every side once per round; give each side's least seconds of work.

    Sides that are quick run in more rounds, still in turn.
    """
    best = dict.fromkeys(sides, float("inf"))
    turns = list(sides)
    for number in range(rounds + QUICK_ROUNDS):
        if number >= rounds:
            turns = [name for name in turns if best[name] < QUICK]
        for name in turns:
            started = thread_time()
            sides[name]()
            best[name] = min(best[name], thread_time() - started)
    return best


def _times_faster(side: Callable[[], object], other: Callable[[], object]) -> float:
    """Say how many times faster one side is than the other: the median of paired rounds.

    The two change places every round. The least of a few rounds is luck where memory is slow:
    equal work differed by a tenth.
    """
    ratios: list[float] = []
    spent = 0.0
    while len(ratios) < FINAL_ROUNDS or (spent < FINAL_SECONDS and len(ratios) < FINAL_ROUNDS_MAX):
        pair = (side, other) if len(ratios) % 2 == 0 else (other, side)
        seconds = []
        for run in pair:
            started = thread_time()
            run()
            seconds.append(thread_time() - started)
        spent += sum(seconds)
        mine, its = seconds if pair[0] is side else reversed(seconds)
        ratios.append(its / mine)
    return median(ratios)


def _ranks(values: Floats, bins: int) -> Ints:
    """Cut values into classes of about equal size."""
    edges = np.quantile(values, np.arange(1, bins) / bins)
    return np.searchsorted(edges, values, side="right")


def outcomes_table(
    title: str, column: str, outcomes: Iterable[tuple[Cell, RoutingOutcome]]
) -> Table:
    """Tell throughputs in tuples per second, shares, agreement and overhead."""
    rows: list[tuple[Cell, ...]] = []
    for name, found in outcomes:
        speeds = [1e6 / found.times[choice] for choice in CHOICES]
        shares = [found.shares[choice] for choice in CHOICES]
        rows.append((
            name, found.join_rate, found.selection_rate, *speeds, 1e6 / found.dynamic,
            1e6 / found.oracle, found.gain, *shares, found.agreement, found.overhead,
        ))  # fmt: skip
    columns = (
        column, "rows_joining", "queries_accepting",
        *(f"{choice}_per_s" for choice in CHOICES), "dynamic_per_s", "oracle_per_s", "gain",
        *(f"share_{choice}" for choice in CHOICES), "agreement", "overhead",
    )  # fmt: skip
    return Table(title, columns, rows)


def throughput_figure(
    title: str, x_label: str, outcomes: Iterable[tuple[float, RoutingOutcome]]
) -> Chart:
    """Draw the throughput of every side."""
    x, found = zip(*outcomes, strict=True)
    sides = {choice: [each.times[choice] for each in found] for choice in CHOICES}
    sides["dynamic"] = [each.dynamic for each in found]
    sides["oracle"] = [each.oracle for each in found]
    return chart(
        title,
        x_label,
        "tuples per second",
        {name: (x, [1e6 / time for time in times]) for name, times in sides.items()},
        log="y",
    )


GAIN_MIN: dict[Size, float] = {"small": 0.8, "full": 0.95}
OVERHEAD_MAX: dict[Size, float] = {"small": 0.1, "full": 0.05}
"""Of fewer queries a tuple is cheaper, and routing it is a larger share."""


def common_checks(outcomes: Mapping[str, RoutingOutcome], size: Size) -> Findings:
    """Claim what must hold on every routing workload; those of `tiny` need no router."""
    if size == "tiny":
        return
    for name, found in outcomes.items():
        least = GAIN_MIN[size]
        yield at_least(f"{name}: router over best static strategy", found.gain, least, timed=True)
    overhead = max(found.overhead for found in outcomes.values())
    yield at_most(
        "routing overhead, largest share of processing", overhead, OVERHEAD_MAX[size], timed=True
    )
    scans = max(found.shares["scan"] for found in outcomes.values())
    yield at_most("tuples sent to a scan, largest share", scans, 0.0)


def rates(
    name: str, workload: Workload, batches: Sequence[tuple[Ints, Rows]], size: Size
) -> Generator[Finding, None, list[RoutingOutcome]]:
    """Hold a contest per batch, from the lowest rate to the highest."""
    contest = RoutingContest(workload)
    outcomes = []
    for number, (a, codes) in enumerate(batches, start=1):
        say(f"routing: {name}, {number} of {len(batches)}")
        outcomes.append(contest.run(a, codes, rounds=2))
    by_rate = {
        round(each.join_rate if name == "join rate" else each.selection_rate, 1): each
        for each in outcomes
    }
    yield outcomes_table(f"routing by {name}", name.replace(" ", "_"), by_rate.items())
    yield throughput_figure(f"Routing by {name}", name, by_rate.items())
    named = {f"{name} {rate:g}": outcome for rate, outcome in by_rate.items()}
    yield from common_checks(named, size)
    return outcomes
