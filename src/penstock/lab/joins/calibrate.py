"""Calibrate: profile the strategies on this machine, fit the cost model, store its constants.

Cells of like tuples tell how well the terms describe each part of a strategy's work. What is stored
is fitted on whole batches: a cell's tuples visit one corner of the tree of all rectangles, a
batch's tuples visit all of it, and that is what a router's batches do.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from penstock.lab.joins import profiles
from penstock.lab.joins.least_squares import CostFit, explained, fit
from penstock.lab.joins.profiles import SHIFT, Graded, Sides, price
from penstock.lab.joins.routing_data import RoutingRecipe
from penstock.lab.joins.whole_batches import WholeBatch, fitted, measure, worst_choice
from penstock.lab.report import Cell, Check, Findings, Size, Table, at_least, sized
from penstock.lab.timing import say
from penstock.operators.join.routing import CHOICES, CostConstants, save_constants
from penstock.operators.join.routing.constants import TERMS
from penstock.vocabulary.batches import Floats

COMPONENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "join": {"descend": ("base",), "probe": ("probes", "visits", "overlaps", "hits")},
    "selection": {"descend": ("base", "queries"), "search": ("matches", "visits", "overlaps")},
    "scan": {"search": ("matches", "visits", "overlaps")},
    "hot": {
        "descend": ("base", "queries"),
        "search": ("matches", "visits"),
        "probe": ("probes", "overlaps", "hits", "groups"),
    },
}
"""What each strategy does, and the terms of the cost of that.

`data` is nobody's: a run is found at once here, however many rows there are. A scan of 100,000
queries hides whatever comes before it.
"""
OWN = {choice: tuple(chain(*parts.values())) for choice, parts in COMPONENTS.items()}
HOT = ((0.9, 80), (0.6, 40), (0.3, 20), (0.75, 160), (0.5, 80))
"""Shares of queries in hotspots, and hotspots, taken in turn."""
DOMINANT = 0.5
"""A component is judged by the cells where it makes up at least this share of the cost."""
CELLS_MIN = 12
VARIES = 2.0
"""Components are judged on so many cells or more, whose costs differ by this power of e."""
SINGLES_STEP = 3
"""Of the cells, every third is measured a tuple at a time."""
SCAN_LENGTHS = (1, 64)
"""Scans cost much and depend little on the run: two lengths will do."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Sizes to profile at, tuples per cell, seconds per measurement, rounds."""

    queries: tuple[int, ...]
    rows: tuple[int, ...]
    tuples: int
    seconds: float
    rounds: int


HUNDREDS = (100_000, 200_000, 300_000, 400_000, 500_000)
GRIDS = sized(
    Grid((1_000, 3_000), (2_000,), tuples=30, seconds=0.0005, rounds=1),
    Grid((20_000, 60_000, 200_000), (50_000, 200_000), tuples=200, seconds=0.004, rounds=2),
    Grid(HUNDREDS, HUNDREDS, tuples=400, seconds=0.006, rounds=2),
)
WHOLES = sized((1, 3), (20, 60, 200), (20, 60, 100, 250, 500))
"""Thousands of queries and rows of the whole batches."""


class Profile:
    """Terms and nanoseconds per tuple of every cell that was measured, by strategy."""

    def __init__(self) -> None:
        self._terms: dict[str, list[Floats]] = {choice: [] for choice in CHOICES}
        self._measured: dict[str, list[float]] = {choice: [] for choice in CHOICES}

    def add(self, choice: str, terms: Floats, nanoseconds: float) -> None:
        """Keep a measurement."""
        self._terms[choice].append(terms)
        self._measured[choice].append(nanoseconds)

    def terms(self, choice: str) -> Floats:
        """Give the terms, one row per cell."""
        return np.stack(self._terms[choice])

    def measured(self, choice: str) -> Floats:
        """Give nanoseconds per tuple."""
        return np.array(self._measured[choice])


def run(size: Size) -> Findings:
    """Profile, fit, judge; store the constants unless the size is tiny."""
    batches, singles = _profiles(GRIDS[size])
    fits = {choice: _fit(batches, choice) for choice in CHOICES}
    single_fits = {choice: _fit(singles, choice) for choice in CHOICES}
    calls = {choice: float(singles.measured(choice).min()) for choice in CHOICES}
    calls["scan"] = calls["join"]  # Its cheapest tuple is dear: a scan hides the call.
    batches_measured = list(measure(WHOLES[size]))
    coefficients: dict[str, Any] = {
        choice: fitted(choice, OWN[choice], batches_measured, call=calls[choice])
        for choice in CHOICES
    }
    constants = CostConstants(
        **coefficients, source=f"penstock lab calibrate --size {size}", shift=SHIFT
    )
    components = _components(fits, batches)
    yield _constants_table("constants, batches (ns)", fits)
    yield _constants_table("constants, a tuple at a time (ns)", single_fits)
    yield _components_table(components)
    yield from _checks(fits, components, size)
    yield _whole_table(batches_measured, constants)
    if size != "tiny":
        chosen = worst_choice(batches_measured, constants)
        yield at_least(
            "whole batches: best strategy over the chosen one, worst", chosen, 0.75, timed=True
        )
        yield {"stored in": str(save_constants(constants))}


def _profiles(grid: Grid) -> tuple[Profile, Profile]:
    """Measure every strategy in every cell of the grid, in batches and a tuple at a time."""
    batches, singles = Profile(), Profile()
    combinations = [(queries, rows) for queries in grid.queries for rows in grid.rows]
    for number, (queries, rows) in enumerate(combinations):
        say(f"profiling {queries:,} queries on {rows:,} rows")
        hot, hotspots = HOT[number % len(HOT)]
        recipe = RoutingRecipe(queries=queries, rows=rows, hot=hot, hotspots=hotspots, seed=number)
        workload = Graded(recipe)
        sides, cells = Sides(workload), list(workload.cells(grid.tuples))
        for choice in CHOICES:
            own = [cell for cell in cells if choice != "scan" or cell.length in SCAN_LENGTHS]
            best = _prices(sides, choice, own, grid)
            for cell, nanoseconds in zip(own, best, strict=True):
                batches.add(choice, sides.terms(choice, cell), nanoseconds)
            for cell in own[::SINGLES_STEP]:
                alone = price(sides.find(choice, alone=True), cell.a, cell.codes, grid.seconds)
                singles.add(choice, sides.terms(choice, cell), alone)
    return batches, singles


def _prices(sides: Sides, choice: str, cells: list[profiles.Cell], grid: Grid) -> Floats:
    """Give the best price of every cell over the rounds."""
    rounds = [
        [price(sides.find(choice), cell.a, cell.codes, grid.seconds) for cell in cells]
        for _ in range(grid.rounds)
    ]
    return np.asarray(np.array(rounds).min(axis=0))


def _fit(profile: Profile, choice: str) -> CostFit:
    """Fit a strategy's own terms; the others get a coefficient of zero."""
    own = [TERMS.index(name) for name in OWN[choice]]
    found = fit(profile.terms(choice)[:, own], profile.measured(choice))
    coefficients, margins = np.zeros(len(TERMS)), np.zeros(len(TERMS))
    coefficients[own], margins[own] = found.coefficients, found.margins
    return CostFit(coefficients=coefficients, margins=margins, explained=found.explained)


def _constants_table(title: str, fits: dict[str, CostFit]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for choice, found in fits.items():
        for number, name in enumerate(TERMS):
            value, margin = float(found.coefficients[number]), float(found.margins[number])
            if value > 0:
                rows.append((choice, name, value, max(value - margin, 0.0), value + margin))
        rows.append((choice, "R2", found.explained, None, None))
    columns = ("strategy", "term", "fit", "low_95", "high_95")
    return Table(title, columns, rows)


def _whole_table(batches: list[WholeBatch], constants: CostConstants) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            each.name,
            each.queries,
            *(each.predicted(constants)[c] / each.measured[c] for c in CHOICES),
        )
        for each in batches
    ]
    return Table("whole batches, predicted over measured", ("batch", "queries", *CHOICES), rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """What a part of a strategy's work costs, judged where it makes up half of the cost or more.

    `explained` is there if there are cells enough, and their costs differ.
    """

    choice: str
    name: str
    coefficients: float
    cells: int
    explained: float | None


def _components(fits: dict[str, CostFit], profile: Profile) -> list[Component]:
    judged = []
    for choice, found in fits.items():
        terms, measured = profile.terms(choice), profile.measured(choice)
        predicted = terms @ found.coefficients
        for name, own_terms in COMPONENTS[choice].items():
            own = [TERMS.index(term) for term in own_terms]
            cost = terms[:, own] @ found.coefficients[own]
            at = cost >= DOMINANT * predicted
            enough = at.sum() >= CELLS_MIN and np.ptp(np.log(predicted[at])) > VARIES
            judged.append(
                Component(
                    choice=choice,
                    name=name,
                    coefficients=float(found.coefficients[own].sum()),
                    cells=int(at.sum()),
                    explained=explained(measured[at], predicted[at]) if enough else None,
                )
            )
    return judged


def _components_table(components: list[Component]) -> Table:
    rows = [(each.choice, each.name, each.cells, each.explained) for each in components]
    columns = ("strategy", "component", "cells", "R2")
    title = "components, in cells where they are half of the cost or more"
    return Table(title, columns, rows)


def _checks(fits: dict[str, CostFit], components: list[Component], size: Size) -> Findings:
    least = min(each.coefficients for each in components)
    yield above_zero("the least coefficient of a component", least, timed=True)
    if size != "tiny":
        for choice, found in fits.items():
            yield at_least(f"{choice}: R2 of the fit", found.explained, 0.9, timed=True)
        for each in components:
            if each.explained is not None:
                name = f"{each.choice}: R2 of {each.name} where it dominates"
                yield at_least(name, each.explained, 0.9, timed=True)


def above_zero(name: str, value: float, *, timed: bool = False) -> Check:
    """Claim that a value is positive."""
    return Check(name=name, value=value, bound="> 0", passed=value > 0, timed=timed)
