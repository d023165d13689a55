"""Profiling: what a tuple costs under each strategy, by how much it joins and who accepts it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import thread_time
from typing import cast

import numpy as np

from penstock.lab.draws import generator
from penstock.lab.joins.routing_data import TOP, RoutingRecipe, Workload
from penstock.operators.join.routing import CHOICES, Sizes
from penstock.operators.join.routing.costs import terms
from penstock.operators.join.select import SelectCore
from penstock.operators.join.select.grouped import Grouped
from penstock.vocabulary.batches import Floats, Ints, Rows

LENGTHS = (1, 4, 16, 64, 256, 1024)
PLACES = (5000, 6500, 7500, 8200, 8700, 9900)
"""Values of tuples, from the middle of the queries' ranges outwards: n' from 38 % to none."""
NEAR = 100
SHIFT = 1.0
TURNS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Tuples that are alike: a value near `place`, runs of `length` rows."""

    place: int
    length: int
    a: Ints
    codes: Rows


Find = Callable[[Ints, Rows], object]
"""Process a batch of tuples: values, join keys."""


class Graded(Workload):
    """A workload whose runs have few different lengths, each with the same number of rows."""

    def __init__(self, recipe: RoutingRecipe) -> None:
        super().__init__(recipe)
        share = recipe.rows // len(LENGTHS)
        self.codes_by_length: dict[int, Rows] = {}
        codes, first = [], 0
        for length in LENGTHS:
            count = max(share // length, 1)
            own = np.arange(first, first + count, dtype=np.int32)
            self.codes_by_length[length] = own
            codes.append(np.repeat(own, length))
            first += count
        self.codes = np.concatenate(codes)
        self.values = generator(recipe.seed).integers(0, TOP + 1, len(self.codes))

    def cells(self, count: int) -> Iterator[Cell]:
        """Draw tuples for every pair of a place and a length."""
        rng = generator(3)
        for place in PLACES:
            for length, codes in self.codes_by_length.items():
                yield Cell(
                    place=place,
                    length=length,
                    a=rng.integers(place - NEAR, place + NEAR + 1, count),
                    codes=rng.choice(codes, count),
                )


class Sides:
    """All strategies on one workload, and what the cost model needs to know of it."""

    def __init__(self, workload: Workload, choices: Sequence[str] = CHOICES) -> None:
        self.workload = workload
        self.cores = {choice: _core(workload, choice) for choice in choices}
        grouped = cast(Grouped, self.cores["hot"].strategy)
        grouped.settle()
        tracker = grouped.grouping
        hot = tracker.sizes[tracker.live()].astype(np.float64)
        self.sizes = Sizes(
            rows=len(workload.runs),
            queries=workload.recipe.queries,
            scattered=workload.recipe.queries - int(hot.sum()),
            groups=len(hot),
            roots=float(np.sqrt(hot).sum()),
        )
        scattered = tracker.group_of[workload.slots] < 0
        self._ends = [np.sort(ends) for ends in (workload.al, workload.ah)]
        self._scattered_ends = [np.sort(ends[scattered]) for ends in (workload.al, workload.ah)]

    def find(self, choice: str, alone: bool = False) -> Find:
        """Give how a strategy processes a batch, or each of its tuples alone."""
        core, runs = self.cores[choice], self.workload.runs
        if not alone:
            return lambda a, codes: core.find(a, codes, runs)
        return lambda a, codes: [
            core.find(a[i : i + 1], codes[i : i + 1], runs) for i in range(len(a))
        ]

    def accepting(self, a: Ints) -> tuple[Floats, Floats]:
        """Count the queries, and the scattered ones, whose first range holds each value."""
        return _holding(self._ends, a), _holding(self._scattered_ends, a)

    def terms(self, choice: str, cell: Cell) -> Floats:
        """Give the terms of a strategy's cost, in the mean over a cell's tuples."""
        accepted, scattered = self.accepting(cell.a)
        rows = np.full(len(cell.a), float(cell.length))
        each: Floats = terms(choice, self.sizes, rows, accepted, scattered, SHIFT)
        return np.asarray(each.mean(axis=0))


def _core(workload: Workload, choice: str) -> SelectCore:
    core = SelectCore(choice, workload.options, threads=1)
    core.add(workload.slots, workload.al, workload.ah, workload.cl, workload.ch)
    return core


def _holding(ends: list[Ints], a: Ints) -> Floats:
    begun = np.searchsorted(ends[0], a, side="right")
    return (begun - np.searchsorted(ends[1], a, side="left")).astype(np.float64)


def price(find: Find, a: Ints, codes: Rows, seconds: float) -> float:
    """Measure nanoseconds per tuple, finding only; dear tuples are fewer, so that time is bounded.

    Time is that of the one thread at work, so that what else runs on the machine hardly counts; of
    three turns the best one does.
    """
    find(a[:1], codes[:1])
    each = _seconds(find, a[:1], codes[:1])
    if each > seconds:
        return 1e9 * each
    probe = min(8, len(a))
    each = _seconds(find, a[:probe], codes[:probe]) / probe
    count = int(np.clip(seconds / max(each, 1e-9), probe, len(a)))
    return turns_price(find, a[:count], codes[:count])


def turns_price(find: Find, a: Ints, codes: Rows) -> float:
    """Measure nanoseconds per tuple over all tuples, the best of some turns."""
    return 1e9 * min(_seconds(find, a, codes) for _ in range(TURNS)) / len(a)


def _seconds(find: Find, a: Ints, codes: Rows) -> float:
    started = thread_time()
    find(a, codes)
    return thread_time() - started
