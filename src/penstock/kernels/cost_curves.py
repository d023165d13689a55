"""Cost curves: what a batch of so many changes of a table costs, read by kernels.

All curves of a view lie in one pair of arrays. Curve i has the points `starts[i]` to
`starts[i + 1]`, the first of them (0, 0), sizes rising; between points it is straight, beyond the
last it rises by `slopes[i]`. Where every size has its point, it is found without a search.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import inlined, kernel, tight


@inlined
def curve_cost(
    sizes: Ints, costs: Floats, starts: Ints, slopes: Floats, curve: int, size: int
) -> float:
    """Give what one batch costs."""
    low, end = starts[curve], starts[curve + 1]
    if size < end - low and sizes[low + size] == size:
        return float(costs[low + size])
    last = end - 1
    if size >= sizes[last]:
        return float(costs[last] + slopes[curve] * (size - sizes[last]))
    high = last
    while high - low > 1:
        middle = (low + high) >> 1
        if sizes[middle] <= size:
            low = middle
        else:
            high = middle
    share = (size - sizes[low]) / (sizes[high] - sizes[low])
    return float(costs[low] + share * (costs[high] - costs[low]))


@tight
def curve_costs(
    sizes: Ints, costs: Floats, starts: Ints, slopes: Floats, curve: int, asked: Ints, told: Floats
) -> None:
    """Write what batches of one table cost."""
    for at in range(len(asked)):
        told[at] = curve_cost(sizes, costs, starts, slopes, curve, asked[at])


@tight
def state_cost(sizes: Ints, costs: Floats, starts: Ints, slopes: Floats, pending: Ints) -> float:
    """Give what it would cost to flush everything that waits."""
    total = 0.0
    for curve in range(len(pending)):
        total += curve_cost(sizes, costs, starts, slopes, curve, pending[curve])
    return total


@tight
def state_parts(
    sizes: Ints, costs: Floats, starts: Ints, slopes: Floats, pending: Ints, parts: Floats
) -> None:
    """Write what it would cost to flush each table."""
    for curve in range(len(pending)):
        parts[curve] = curve_cost(sizes, costs, starts, slopes, curve, pending[curve])


@tight
def closed_subadditive(values: Floats) -> None:
    """Lower the values, by size from 0, until no batch costs more than two parts of it."""
    for size in range(2, len(values)):
        least = values[size]
        for part in range(1, size // 2 + 1):
            least = min(least, values[part] + values[size - part])
        values[size] = least


@tight
def cheapest_splits(batch: Floats, largest: int, hopes: Floats) -> None:
    """Write the least that 0, 1, … changes cost in batches of at most `largest` changes."""
    hopes[0] = 0.0
    for size in range(1, len(hopes)):
        least = np.inf
        for part in range(1, min(largest, size) + 1):
            least = min(least, batch[part] + hopes[size - part])
        hopes[size] = least


@kernel
def minimal_sets(kept: Floats, limit: float) -> Ints:
    """Give, as bits, every least set of tables whose flush brings the rest within the limit.

    `kept[i]` is what table i costs as long as it waits. A set is minimal when none of its tables
    may stay: costs are not negative, so no smaller set will do either.
    """
    tables = len(kept)
    total = kept.sum()
    found = np.empty(1 << tables, dtype=np.int64)
    count = 0
    for members in range(1, 1 << tables):
        rest, least = total, np.inf
        for table in range(tables):
            if members >> table & 1:
                rest -= kept[table]
                least = min(least, kept[table])
        if rest <= limit and rest + least > limit:
            found[count] = members
            count += 1
    return found[:count]
