"""What the makers of score tables share: the wishes they are given and the table's blank form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.kernels.scores import ScoreTable
from penstock.operators.bounded.weightings import Exponential, Weighting
from penstock.vocabulary.batches import Floats, Ints

CELLS_MAX = 1 << 22
"""The most cells of a table: 32 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a table is made for."""

    weighting: Weighting
    caching: bool = False
    window: int | None = None
    """Rows leave after so many ticks; joining only."""
    rate: float = 1.0
    """The partner's expected rows per tick; joining only."""
    control_points: int | None = None
    """Interpolate surfaces through so many points a side, instead of storing every cell."""

    def __post_init__(self) -> None:
        if self.caching and (self.window is not None or self.rate != 1.0):
            raise ValueError("a caching score has no window and one reference per tick")
        if self.window is not None and self.window < 1:
            raise ValueError(f"window is {self.window}, not a number of ticks from 1 on")

    @property
    def shrink(self) -> float | None:
        """The factor from tick to tick, where the weights have one."""
        return self.weighting.shrink if isinstance(self.weighting, Exponential) else None

    @property
    def decay(self) -> float:
        """1 / alpha, 0 for weights that are not exponential."""
        return 1.0 / self.weighting.alpha if isinstance(self.weighting, Exponential) else 0.0


def table_of(kind: int, cells: Floats, **fields: Any) -> ScoreTable:
    """Fill in a table; what is not named is empty or 0."""
    cells = np.array(cells, dtype=np.float64, order="C")
    whole: dict[str, Any] = {
        name: np.array(fields.pop(name, []), dtype=np.int64)
        for name in ("keys", "places", "times", "lifetimes")
    }
    whole["shares"] = np.array(fields.pop("shares", []), dtype=np.float64)
    numbers = {"first": 0.0, "width": 1.0, "state_first": 0.0, "state_width": 1.0}
    rest = dict.fromkeys(("left", "right", "slope", "intercept", "follows", "decay"), 0.0)
    numbers |= rest | fields
    for name, number in numbers.items():
        whole[name] = float(number)
    return ScoreTable(
        kind=kind, cells=cells.reshape((1,) * (3 - cells.ndim) + cells.shape), **whole
    )


def lifetimes_of(window: int | None, exact: int = 64) -> Ints:
    """List the remaining lifetimes that get a layer: each of the first, then ever fewer.

    >>> lifetimes_of(5)
    array([1, 2, 3, 4, 5])
    """
    if window is None:
        return np.empty(0, dtype=np.int64)
    if window <= exact:
        return np.arange(1, window + 1, dtype=np.int64)
    steps = np.geomspace(exact, window, num=48)
    return np.unique(np.concatenate((np.arange(1, exact), np.rint(steps)))).astype(np.int64)


def steady_scores(masses: Floats, recipe: Recipe) -> Floats:
    """Give the scores of keys whose probability is the same at all ticks."""
    weighting = recipe.weighting
    if not recipe.caching:
        return masses * (weighting.total * recipe.rate)
    if isinstance(weighting, Exponential):
        return weighting.shrink * masses / (1.0 - weighting.shrink * (1.0 - masses))
    missed: Floats = (1.0 - masses) ** weighting.ticks
    return 1.0 - missed
