"""Whole batches of tuples: what each strategy costs on them, and constants fitted to that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from penstock.lab.joins.least_squares import CostFit, fit
from penstock.lab.joins.profiles import SHIFT, Sides, turns_price
from penstock.lab.joins.routing_data import RoutingRecipe, Workload
from penstock.lab.timing import say
from penstock.operators.join.routing import CHOICES, Coefficients, CostConstants
from penstock.operators.join.routing.constants import TERMS
from penstock.operators.join.routing.costs import coldness, terms
from penstock.vocabulary.batches import Floats, Ints, Rows

TUPLES = 120
KEYS = (2000, 2800, 3400, 3900, 4400, 5000)
"""Join keys of tuples, from those that few rows have to those that most have."""
VALUES = (9900, 9300, 8500, 8000, 7500, 7000, 6000, 5000)
"""Values of tuples, from those that few queries accept to those that most accept."""
NEAR = 100
COLDS = tuple(round(0.05 * step, 2) for step in range(11))
"""What a doubling of the queries beyond the cache may add; the one that explains most is taken."""
OWN_MIN = 0.1
"""The least share of what was measured that is a tuple's own."""
EVERYWHERE = 9
"""Tuples from everywhere count so much more than those near one place: they are the usual ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeBatch:
    """A batch, the mean terms of its tuples by strategy, and nanoseconds per tuple."""

    name: str
    queries: int
    weight: int
    terms: dict[str, Floats]
    measured: dict[str, float]

    def predicted(self, constants: CostConstants) -> dict[str, float]:
        """Give what each strategy would cost by the constants."""
        given = {}
        for choice in CHOICES:
            own = constants.of(choice)
            weights = np.array([getattr(own, name) for name in TERMS])
            given[choice] = float(self.terms[choice] @ weights) * coldness(own.cold, self.queries)
        return given

    def chosen(self, constants: CostConstants) -> float:
        """Give the best strategy's cost over that of the one which the constants choose."""
        predicted = self.predicted(constants)
        choice = min(CHOICES, key=lambda each: predicted[each])
        return min(self.measured.values()) / self.measured[choice]


def measure(thousands: Iterable[int]) -> Iterator[WholeBatch]:
    """Measure the strategies on whole batches at every size."""
    for count in thousands:
        say(f"whole batches of {count},000 queries on as many rows")
        shares = RoutingRecipe(queries=1000 * count, rows=1000 * count)
        everywhere = {
            "90 % hot": shares,
            "60 % hot": replace(shares, hot=0.6),
            "two kinds": replace(shares, hot=0.6, apart=4000.0),
        }
        for name, recipe in everywhere.items():
            sides = Sides(Workload(recipe))
            yield _measured(name, sides, *sides.workload.tuples(TUPLES), EVERYWHERE)
            if name == "90 % hot":
                for value in VALUES:
                    near = sides.workload.tuples_near(TUPLES, NEAR, a=value)
                    yield _measured(f"near value {value}", sides, *near, 1)
        sides = Sides(Workload(replace(shares, spread=1000.0)))
        for key in KEYS:
            near = sides.workload.tuples_near(TUPLES, NEAR, key=key)
            yield _measured(f"near key {key}", sides, *near, 1)


def _measured(name: str, sides: Sides, a: Ints, codes: Rows, weight: int) -> WholeBatch:
    rows = sides.workload.joining(codes)
    accepted, scattered = sides.accepting(a)
    own = {
        choice: np.asarray(
            terms(choice, sides.sizes, rows, accepted, scattered, SHIFT).mean(axis=0)
        )
        for choice in CHOICES
    }
    return WholeBatch(
        name=name,
        queries=sides.sizes.queries,
        weight=weight,
        terms=own,
        measured={choice: turns_price(sides.find(choice), a, codes) for choice in CHOICES},
    )


def fitted(
    choice: str, own: tuple[str, ...], batches: list[WholeBatch], *, call: float
) -> Coefficients:
    """Give the coefficients of a strategy's own terms that explain the batches best.

    `call` is what a call costs however few its tuples; it is no part of a tuple's own cost.
    """
    repeats = [each.weight for each in batches]
    each_tuple = np.array([each.measured[choice] for each in batches])
    measured = np.repeat(np.maximum(each_tuple - call / TUPLES, OWN_MIN * each_tuple), repeats)
    columns = [TERMS.index(name) for name in own]

    def at(cold: float) -> CostFit:
        rows = [each.terms[choice][columns] * coldness(cold, each.queries) for each in batches]
        return fit(np.repeat(np.array(rows), repeats, axis=0), measured)

    cold = max(COLDS, key=lambda each: at(each).explained)
    values = zip(own, at(cold).coefficients, strict=True)
    return Coefficients(**{name: float(value) for name, value in values}, call=call, cold=cold)


def worst_choice(batches: list[WholeBatch], constants: CostConstants) -> float:
    """Give the worst that the constants choose over the batches: 1 is the best strategy."""
    return min(each.chosen(constants) for each in batches)
