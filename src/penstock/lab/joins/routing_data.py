"""Data for the routing experiments: select-joins with hotspots, rows, arriving tuples.

The domain of every column is [0, 10000]. Hot queries lie around points in the lower half of the
probed column, scattered ones are short ranges in its upper half.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from penstock.lab.draws import generator
from penstock.operators.join.options import Options
from penstock.operators.join.runs import Runs
from penstock.vocabulary.batches import Ints, Rows

TOP = 10_000
HALF = TOP // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingRecipe:
    """How queries, rows and tuples are drawn.

    Attributes
    ----------
    queries, rows
        How many.
    hot
        The share of queries in hotspots.
    hotspots
        How many hotspots they form.
    spread
        The standard deviation of the rows' join keys around 5000.
    middle, length
        Mean and standard deviation of the middles and lengths of the arriving side's ranges.
    apart
        How far the middles of scattered queries lie above those of hot ones: tuples that meet the
        ones hardly meet the others.
    keys
        How many different join keys there are: fewer keys, longer runs.
    seed
        The same seed, the same data.
    """

    queries: int
    rows: int
    hot: float = 0.9
    hotspots: int = 80
    spread: float = 3000.0
    middle: tuple[float, float] = (5000.0, 1000.0)
    length: tuple[float, float] = (1000.0, 100.0)
    apart: float = 0.0
    keys: int = TOP + 1
    seed: int = 7


class Workload:
    """What a recipe gives: rectangles and runs."""

    def __init__(self, recipe: RoutingRecipe) -> None:
        self.recipe = recipe
        rng = generator(recipe.seed)
        n = recipe.queries
        middles = rng.normal(*recipe.middle, n)
        lengths = np.maximum(rng.normal(*recipe.length, n), 1.0)
        is_hot = rng.random(n) < recipe.hot
        middles += np.where(is_hot, -recipe.apart / 2, recipe.apart / 2)
        self.al: Ints = np.rint(middles - lengths / 2).astype(np.int64)
        self.ah: Ints = np.rint(middles + lengths / 2).astype(np.int64)
        gap = HALF / recipe.hotspots
        points = (rng.integers(0, recipe.hotspots, n) + 0.5) * gap
        reach = rng.uniform(0.2 * gap, 0.45 * gap, (2, n))
        scattered = rng.uniform(HALF, TOP, n)
        self.cl: Ints = np.rint(np.where(is_hot, points - reach[0], scattered)).astype(np.int64)
        self.ch: Ints = np.rint(np.where(is_hot, points + reach[1], scattered + 1)).astype(np.int64)
        self.codes: Rows = _keys(rng, recipe.rows, recipe.spread, recipe.keys)
        self.values: Ints = rng.integers(0, TOP + 1, recipe.rows)
        self.is_hot = is_hot

    @property
    def slots(self) -> Rows:
        """One slot per query."""
        return np.arange(self.recipe.queries, dtype=np.int32)

    @property
    def options(self) -> Options:
        """A group is hot with half of what a hotspot has."""
        share = 0.5 * self.recipe.hot / self.recipe.hotspots
        return Options(alpha=max(min(share, 0.05), 1e-4))

    @cached_property
    def runs(self) -> Runs:
        """The rows, indexed."""
        runs = Runs()
        slots = np.arange(len(self.codes), dtype=np.int32)
        runs.change(self.codes, self.values, slots, np.ones(len(slots), dtype=np.bool_))
        return runs

    def joining(self, codes: Rows) -> npt.NDArray[np.float64]:
        """Count the rows that each tuple joins with."""
        lengths = np.bincount(self.codes, minlength=self.recipe.keys)
        return lengths[codes].astype(np.float64)

    def tuples(self, count: int, seed: int = 1) -> tuple[Ints, Rows]:
        """Draw arriving tuples: value and join key, both uniform."""
        rng = generator(seed)
        a = rng.integers(0, TOP + 1, count)
        return a, rng.integers(0, self.recipe.keys, count).astype(np.int32)

    def tuples_near(
        self, count: int, width: int, a: int | None = None, key: int | None = None
    ) -> tuple[Ints, Rows]:
        """Draw tuples whose value lies near `a`, or whose join key near `key`."""
        values, codes = self.tuples(count)
        near = generator(2).integers(-width // 2, width // 2 + 1, count)
        if a is not None:
            values = a + near
        if key is not None:
            codes = ((key + near) * self.recipe.keys // (TOP + 1)).astype(np.int32)
        return values, codes


def _keys(rng: np.random.Generator, count: int, spread: float, keys: int) -> Rows:
    """Draw join keys, normal around the middle; those outside the domain are drawn again."""
    drawn = rng.normal(HALF, spread, count)
    while (outside := (drawn < 0) | (drawn > TOP)).any():
        drawn[outside] = rng.normal(HALF, spread, int(outside.sum()))
    return np.minimum(drawn * keys / (TOP + 1), keys - 1).astype(np.int32)
