"""Interval histograms: how many ranges contain a key, told in few numbers.

HIST-SSI reads them off a stabbing partition: left of its point a group's count only rises, right
of it only falls, so each side is bucketed exactly by one-dimensional k-means. The error that is
kept small is the mean square of the relative error, keys being uniform.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penstock.kernels.partitions import canonical_partition
from penstock.lab.kernels.histograms import budget_split, cuts_trace, split_steps
from penstock.vocabulary.batches import Floats, Ints, Rows


@dataclass(frozen=True, slots=True)
class Steps:
    """A step function of keys: values[i] from starts[i] up to (not with) starts[i + 1].

    It is 0 before the first start; the last start ends the last step, so its value is 0.
    """

    starts: Ints
    values: Floats

    def at(self, keys: Ints) -> Floats:
        """Give the values at keys.

        >>> Steps(np.array([2, 5]), np.array([7.0, 0.0])).at(np.array([1, 2, 4, 5])).tolist()
        [0.0, 7.0, 7.0, 0.0]
        """
        places = np.searchsorted(self.starts, keys, side="right")
        return np.concatenate([[0.0], self.values])[places]

    def integral(self, keys: Ints) -> Floats:
        """Give the sum of the values at all keys before each key."""
        widths = np.diff(self.starts).astype(np.float64)
        sums = np.concatenate([[0.0], np.cumsum(widths * self.values[:-1])])
        inside = np.clip(keys, self.starts[0], self.starts[-1])
        places = np.searchsorted(self.starts, inside, side="right") - 1
        return sums[places] + (inside - self.starts[places]) * self.values[places]


def total(parts: list[Steps]) -> Steps:
    """Add step functions up."""
    starts = np.unique(np.concatenate([part.starts for part in parts]))
    return Steps(starts, np.sum([part.at(starts) for part in parts], axis=0))


def counted(lows: Ints, highs: Ints) -> Steps:
    """Count exactly: how many closed ranges contain each key."""
    ends = np.concatenate([lows, highs + 1])
    signs = np.repeat([1.0, -1.0], [len(lows), len(highs)])
    starts, places = np.unique(ends, return_inverse=True)
    return Steps(starts, np.cumsum(np.bincount(places, weights=signs)))


def _inverse(steps: Steps, power: int) -> Steps:
    """Give 1 / f to a power, 0 where f is 0."""
    values = np.zeros_like(steps.values)
    np.divide(1.0, steps.values**power, out=values, where=steps.values > 0)
    return Steps(steps.starts, values)


def sides(lows: Ints, highs: Ints) -> tuple[list[Steps], Rows]:
    """Give both sides of every canonical group as monotone steps, and each side's group size."""
    order, labels, points = canonical_partition(lows, highs)
    found: list[Steps] = []
    sizes = np.bincount(labels, minlength=len(points))
    for members, point in zip(np.split(order, np.cumsum(sizes)[:-1]), points, strict=True):
        middle = point + 1
        starts, rises = np.unique(lows[members], return_counts=True)
        left = Steps(np.append(starts, middle), np.append(np.cumsum(rises), 0).astype(float))
        ends, falls = np.unique(highs[members] + 1, return_counts=True)
        falling = np.cumsum(falls[::-1])[::-1].astype(float)
        keep = ends > middle
        right = Steps(np.append(middle, ends[keep]), np.append(falling[keep], 0.0))
        found += [left, right]
    return found, np.repeat(sizes, 2).astype(np.int32)


def shares_by_size(sizes: Rows, buckets: int) -> Rows:
    """Share buckets in proportion to sizes, by largest remainder.

    >>> shares_by_size(np.array([60, 60, 3, 3], dtype=np.int32), 5).tolist()
    [3, 2, 0, 0]
    """
    exact = buckets * sizes / sizes.sum()
    shares: Rows = np.floor(exact).astype(np.int32)
    rest = buckets - int(shares.sum())
    shares[np.argsort(shares - exact, kind="stable")[:rest]] += 1
    return shares


def _bucketed(side: Steps, cuts: Any, buckets: int, weights: Floats) -> Steps:
    starts = cuts_trace(cuts, buckets)
    sums = np.add.reduceat(weights * side.values[:-1], starts[:-1])
    heavy = np.add.reduceat(weights, starts[:-1])
    values = np.divide(sums, heavy, out=np.zeros_like(sums), where=heavy > 0)
    return Steps(side.starts[starts], np.append(values, 0.0))


def histogram_ssi(
    lows: Ints,
    highs: Ints,
    buckets: int,
    weighting: Literal["own", "total"] = "total",
    allotment: Literal["size", "least"] = "least",
) -> Steps:
    """Make a histogram from the sides of the canonical groups.

    Parameters
    ----------
    lows, highs
        Closed ranges; keys far from the ends of int64.
    buckets
        How many, over all sides.
    weighting
        Errors count relative to the side's own count, or to the count of all ranges.
    allotment
        Sides get buckets by the size of their group, or such that the sum of costs is least.
    """
    found, sizes = sides(lows, highs)
    truth = counted(lows, highs)
    relative = _inverse(truth, 2)
    weights, costs, cuts = [], np.zeros((len(found), buckets + 1)), []
    for number, side in enumerate(found):
        if weighting == "total":
            weight = np.diff(relative.integral(side.starts))
        else:
            weight = np.diff(side.starts) / side.values[:-1] ** 2
        least, cut = split_steps(weight, side.values[:-1], buckets, True)
        costs[number, : len(least)] = least
        costs[number, len(least) :] = least[-1]
        weights.append(weight)
        cuts.append(cut)
    most = np.array([len(weight) for weight in weights])
    shares = (
        budget_split(costs, buckets) if allotment == "least" else shares_by_size(sizes, buckets)
    )
    parts = [
        _bucketed(side, cut, int(min(share, room)), weight)
        for side, cut, share, room, weight in zip(found, cuts, shares, most, weights, strict=True)
        if share and room
    ]
    return total(parts)


def histogram_equal_width(
    lows: Ints,
    highs: Ints,
    buckets: int,
    domain: tuple[int, int],
    counting: Literal["covered", "overlap"] = "covered",
) -> Steps:
    """Cut a domain [first, last] into equal buckets, at most one per key.

    A bucket's value is the mean count of its keys (each range adds the share that it covers), or
    the number of all ranges that overlap it.
    """
    edges = np.unique(np.linspace(domain[0], domain[1] + 1, buckets + 1).astype(np.int64))
    if counting == "covered":
        values = np.diff(counted(lows, highs).integral(edges)) / np.diff(edges)
    else:
        begun = np.searchsorted(np.sort(lows), edges[1:], side="left")
        ended = np.searchsorted(np.sort(highs), edges[:-1], side="left")
        values = (begun - ended).astype(float)
    return Steps(edges, np.append(values, 0.0))


def histogram_optimal(lows: Ints, highs: Ints, buckets: int, steps: int = 2_000) -> Steps:
    """Find the best buckets over the exact counts, thinned out to about so many steps.

    Quadratic in the steps: for comparison, not for use.
    """
    truth = counted(lows, highs)
    inner = truth.starts[1:-1]
    kept = inner[np.linspace(0, len(inner) - 1, min(steps, len(inner))).astype(int)]
    starts = np.unique(np.concatenate([truth.starts[:1], kept, truth.starts[-1:]]))
    # The value of a thinned step that costs least: the mean weighted by 1 / f².
    weights = np.diff(_inverse(truth, 2).integral(starts))
    levels = np.diff(_inverse(truth, 1).integral(starts))
    np.divide(levels, weights, out=levels, where=weights > 0)
    side = Steps(starts, np.append(levels, 0.0))
    _, cuts = split_steps(weights, levels, buckets, False)
    return _bucketed(side, cuts, cuts.shape[0] - 1, weights)
