"""Cost curves: what it costs to bring a batch of a table's changes into a view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.kernels import cost_curves as kernels
from penstock.vocabulary.batches import Floats, Ints

LINEAR_FROM = 0.98
"""The least share of a curve's variance that a line explains, for the curve to be called linear."""
DENSE_MAX = 2_048
"""Sizes up to which a measured curve has a point for each."""
CLOSE = 1e-9
"""Costs and sums that differ by a smaller share of the bound are equal."""


CurveArrays = tuple[Ints, Floats, Ints, Floats]
"""Sizes and costs of all points, where each curve's begin, and slopes after them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearFit:
    """The line `each` × changes + `fixed` nearest to a curve, and how much of it it explains."""

    each: float
    fixed: float
    r_squared: float

    @property
    def is_close(self) -> bool:
        """Whether the line may stand for the curve."""
        return self.r_squared >= LINEAR_FROM


@dataclass(frozen=True, kw_only=True, eq=False)
class CostCurve:
    """What a batch costs, by its size: straight between points, and on by a slope after the last.

    A schedule is only as good as its curve: costs must not fall as batches grow, and one batch must
    not cost more than two that hold the same changes. `from_samples` repairs what was measured.

    >>> supplier = CostCurve.linear(each=0.24, fixed=0.3)
    >>> supplier(0), round(supplier(10), 6)
    (0.0, 2.7)
    """

    sizes: Ints
    """Of the points; the first is 0."""
    costs: Floats
    slope: float
    """By how much a batch beyond the last point costs more for each change."""

    def __post_init__(self) -> None:
        assert self.sizes[0] == 0 and self.costs[0] == 0.0, "a batch of nothing costs nothing"
        assert (np.diff(self.sizes) > 0).all(), "sizes rise"
        assert (np.diff(self.costs) >= 0.0).all() and self.slope >= 0.0, "costs do not fall"

    @classmethod
    def linear(cls, *, each: float, fixed: float = 0.0) -> CostCurve:
        """Give the curve of a fixed cost per batch and one per change."""
        return cls(
            sizes=np.array([0, 1], np.int64), costs=np.array([0.0, each + fixed]), slope=each
        )

    @classmethod
    def table(cls, values: Iterable[float]) -> CostCurve:
        """Give the curve through the costs of batches of 0, 1, 2, … changes.

        >>> fives = CostCurve.table(-(-size // 5) for size in range(21))
        >>> fives(5), fives(6), fives.is_concave
        (1.0, 2.0, False)
        """
        costs = np.fromiter(values, np.float64)
        return cls(
            sizes=np.arange(len(costs)), costs=costs, slope=_tail(np.arange(len(costs)), costs)
        )

    @classmethod
    def from_samples(cls, sizes: Sequence[int], costs: Sequence[float]) -> CostCurve:
        """Give the curve of measured batches, made fit for planning.

        Where a larger batch was measured to cost less than a smaller one, both cost what they do on
        average: noise is evened out, neither taken down nor up. Sizes between samples are
        interpolated. Then no batch costs more than its parts, and none of nothing costs anything.
        Beyond the largest that was measured a change costs no less than one before it did on
        average: of what nobody measured, too much is expected rather than too little.

        >>> curve = CostCurve.from_samples([1, 2, 4], [1.0, 3.0, 2.5])
        >>> [curve(size) for size in range(6)]
        [0.0, 1.0, 2.0, 2.75, 2.75, 3.3333333333333335]
        """
        points = _points(sizes[-1])
        measured = np.interp(points, [0, *sizes], [0.0, *_rising(costs)])
        dense = min(len(points), DENSE_MAX + 1)
        kernels.closed_subadditive(measured[:dense])
        for place in range(dense, len(points)):
            rests = points[place] - points[1:place]
            known = rests <= points[place - 1]
            halves = measured[1:place] + np.interp(rests, points[:place], measured[:place])
            measured[place] = min(measured[place], halves[known].min())
        found = np.minimum.accumulate(measured[::-1])[::-1]
        slope = (found[-1] - found[1]) / max(points[-1] - 1, 1)
        return cls(sizes=points, costs=found, slope=max(_tail(points, found), float(slope)))

    def __call__(self, size: int) -> float:
        """Give what a batch of so many changes costs."""
        return float(self.over(np.array([size], np.int64))[0])

    def over(self, sizes: Ints) -> Floats:
        """Give what batches of these sizes cost."""
        told = np.empty(len(sizes))
        kernels.curve_costs(*self._alone, 0, sizes, told)
        return told

    @cached_property
    def _alone(self) -> CurveArrays:
        return Curves((self,)).arrays

    @property
    def is_line(self) -> bool:
        """Whether it is a fixed cost and one per change, exactly."""
        return len(self.sizes) == 2

    @cached_property
    def is_concave(self) -> bool:
        """Whether a change costs the less the more come before it in its batch."""
        steps = np.diff(self.costs) / np.diff(self.sizes)
        falls = np.diff([*steps, self.slope])
        return bool((falls <= CLOSE * max(float(steps.max()), self.slope)).all())

    @cached_property
    def fit(self) -> LinearFit:
        """The line nearest to the points; batches of nothing are left out, they cost nothing."""
        if len(self.sizes) < 3:
            each = self.slope
            return LinearFit(each=each, fixed=float(self.costs[1] - each), r_squared=1.0)
        x, y = self.sizes[1:].astype(np.float64), self.costs[1:]
        each, fixed = np.polyfit(x, y, 1)
        spread = float(((y - y.mean()) ** 2).sum())
        missed = float(((each * x + fixed - y) ** 2).sum())
        return LinearFit(
            each=float(each),
            fixed=float(fixed),
            r_squared=1.0 if spread == 0.0 else 1.0 - missed / spread,
        )

    def largest(self, limit: float, most: int) -> int:
        """Give the largest batch, of at most `most` changes, that costs no more than a limit."""
        low, high = 0, most + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self(middle) <= limit else (low, middle)
        return low

    def scaled(self, factor: float) -> CostCurve:
        """Give the curve of a store that is slower by a factor."""
        return CostCurve(sizes=self.sizes, costs=self.costs * factor, slope=self.slope * factor)

    def counted_by(self, unit: int) -> CostCurve:
        """Give the curve of the same changes, so many of which count as one.

        >>> tens = CostCurve.linear(each=0.5, fixed=8.0).counted_by(10)
        >>> tens(0), tens(1), tens(3)
        (0.0, 13.0, 23.0)
        """
        if unit == 1:
            return self
        sizes = np.unique(-(-self.sizes // unit))
        return CostCurve(sizes=sizes, costs=self.over(sizes * unit), slope=self.slope * unit)


@dataclass(frozen=True, eq=False)
class Curves:
    """The curves of all tables of a view, as kernels read them."""

    each: tuple[CostCurve, ...]

    @cached_property
    def arrays(self) -> CurveArrays:
        """All points of all curves."""
        starts = np.zeros(len(self.each) + 1, np.int64)
        np.cumsum([len(curve.sizes) for curve in self.each], out=starts[1:])
        return (
            np.concatenate([curve.sizes for curve in self.each]).astype(np.int64),
            np.concatenate([curve.costs for curve in self.each]),
            starts,
            np.array([curve.slope for curve in self.each]),
        )

    def __len__(self) -> int:
        return len(self.each)

    def cost(self, pending: Ints) -> float:
        """Give what it costs to flush all that waits."""
        return float(kernels.state_cost(*self.arrays, pending))

    def parts(self, pending: Ints) -> Floats:
        """Give what it costs to flush each table."""
        told = np.empty(len(pending))
        kernels.state_parts(*self.arrays, pending, told)
        return told


def _rising(costs: Sequence[float]) -> list[float]:
    """Give the rising sequence nearest to costs: neighbours that fall are averaged.

    >>> _rising([1.0, 3.0, 2.0, 4.0])
    [1.0, 2.5, 2.5, 4.0]
    """
    pools: list[tuple[float, int]] = []
    for cost in costs:
        total, count = max(float(cost), 0.0), 1
        while pools and pools[-1][0] * count > total * pools[-1][1]:
            more, others = pools.pop()
            total, count = total + more, count + others
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]


def _points(last: int) -> Ints:
    """Give all small sizes, then each a tenth larger than the one before, up to the last."""
    found = list(range(min(last, DENSE_MAX) + 1))
    while found[-1] < last:
        found.append(min(found[-1] + found[-1] // 10, last))
    return np.array(found, np.int64)


def _tail(sizes: Ints, costs: Floats) -> float:
    """Give the slope of the last quarter, not more than the average cost of a change."""
    last = int(sizes[-1])
    quarter = max(last // 4, 1)
    before = float(np.interp(last - quarter, sizes, costs))
    return min((float(costs[-1]) - before) / quarter, float(costs[-1]) / last)
