"""Bucketing of step functions: the best few levels for many weighted steps, exactly.

A bucket takes consecutive steps; its value is their weighted mean; its cost is the weighted square
distance of its steps from that value. `split_monotone` needs levels in order (rising or falling):
then the best last cut moves only forward, and divide and conquer finds it. `split_any` takes steps
in any order and looks at every cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.kernels.arrays import Floats, Rows
from penstock.kernels.compilation import kernel


@kernel
def moments_sum(weights: Floats, levels: Floats) -> Floats:
    """Give running sums of w, w * y and w * y * y, from 0."""
    sums = np.zeros((3, len(weights) + 1), dtype=np.float64)
    for i in range(len(weights)):
        sums[0, i + 1] = sums[0, i] + weights[i]
        sums[1, i + 1] = sums[1, i] + weights[i] * levels[i]
        sums[2, i + 1] = sums[2, i] + weights[i] * levels[i] * levels[i]
    return sums


@kernel
def bucket_cost(sums: Floats, start: int, end: int) -> Any:
    """Give the cost of one bucket of the steps [start, end)."""
    weight = sums[0, end] - sums[0, start]
    if weight <= 0.0:
        return 0.0
    first = sums[1, end] - sums[1, start]
    return max(sums[2, end] - sums[2, start] - first * first / weight, 0.0)


@kernel
def layer_monotone(
    sums: Floats, before: Floats, costs: Floats, cuts: Rows, buckets: int, ranges: Rows
) -> None:
    """Find, for every end, the best last cut of `buckets` buckets, by divide and conquer.

    `ranges` is scratch, (4, some hundred): parts of ends, with the cuts that come into question.
    """
    n = len(costs) - 1
    ranges[0, 0], ranges[1, 0], ranges[2, 0], ranges[3, 0] = buckets, n, buckets - 1, n - 1
    depth = 1
    while depth > 0:
        depth -= 1
        low, high, first, last = (
            ranges[0, depth], ranges[1, depth], ranges[2, depth], ranges[3, depth],
        )  # fmt: skip
        if low > high:
            continue
        end = (low + high) // 2
        best = np.inf
        cut = first
        for start in range(first, min(last, end - 1) + 1):
            cost = before[start] + bucket_cost(sums, start, end)
            if cost < best:
                best = cost
                cut = np.int32(start)
        costs[end] = best
        cuts[end] = cut
        ranges[0, depth], ranges[1, depth] = low, end - 1
        ranges[2, depth], ranges[3, depth] = first, cut
        depth += 1
        ranges[0, depth], ranges[1, depth] = end + 1, high
        ranges[2, depth], ranges[3, depth] = cut, last
        depth += 1


@kernel
def layer_any(sums: Floats, before: Floats, costs: Floats, cuts: Rows, buckets: int) -> None:
    """Find, for every end, the best last cut of `buckets` buckets, among all."""
    for end in range(buckets, len(costs)):
        best = np.inf
        cut = buckets - 1
        for start in range(end - 1, buckets - 2, -1):
            last = bucket_cost(sums, start, end)
            if last >= best:
                break  # a longer bucket costs no less
            if before[start] + last < best:
                best = before[start] + last
                cut = start
        costs[end] = best
        cuts[end] = cut


@kernel
def split_steps(weights: Floats, levels: Floats, buckets: int, monotone: bool) -> Any:
    """Split steps into up to `buckets` buckets at the least cost.

    Returns
    -------
    tuple
        `costs[k]`: the least cost with k buckets (k = 0: all values 0), and `cuts[k, end]`: where
        the last of k buckets of the steps [0, end) starts.
    """
    n = len(weights)
    most = min(buckets, n)
    sums = moments_sum(weights, levels)
    costs = np.zeros(most + 1, dtype=np.float64)
    costs[0] = sums[2, n]
    cuts = np.zeros((most + 1, n + 1), dtype=np.int32)
    before = np.full(n + 1, np.inf)
    before[0] = 0.0
    ranges = np.empty((4, 256), dtype=np.int32)
    for k in range(1, most + 1):
        now = np.full(n + 1, np.inf)
        if monotone:
            layer_monotone(sums, before, now, cuts[k], k, ranges)
        else:
            layer_any(sums, before, now, cuts[k], k)
        costs[k] = now[n]
        before = now
    return costs, cuts


@kernel
def cuts_trace(cuts: Rows, buckets: int) -> Rows:
    """Give the first step of each bucket, and the number of steps at the end."""
    starts = np.empty(buckets + 1, dtype=np.int32)
    end = cuts.shape[1] - 1
    starts[buckets] = end
    for k in range(buckets, 0, -1):
        end = cuts[k, end]
        starts[k - 1] = end
    return starts


@kernel
def budget_split(costs: Floats, buckets: int) -> Rows:
    """Share buckets among parts at the least total cost; costs[part, k] with k buckets.

    Costs from which a part cannot gain further repeat; exact for any costs.
    """
    parts = len(costs)
    best = np.zeros(buckets + 1)
    taken = np.zeros((parts, buckets + 1), dtype=np.int32)
    for part in range(parts):
        now = np.full(buckets + 1, np.inf)
        for total in range(buckets + 1):
            for k in range(min(total, costs.shape[1] - 1) + 1):
                cost = best[total - k] + costs[part, k]
                if cost < now[total]:
                    now[total] = cost
                    taken[part, total] = k
        best = now
    shares = np.zeros(parts, dtype=np.int32)
    left = buckets
    for part in range(parts - 1, -1, -1):
        shares[part] = taken[part, left]
        left -= shares[part]
    return shares
