"""Flush choices: which tables to flush now, when nothing is known of what will come but rates."""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import kernel, tight
from penstock.kernels.cost_curves import curve_cost, minimal_sets

CLOSE = 1e-12
"""Ratios that differ by a smaller share are equal: only their rounding differs."""


@tight
def moments_until_full(
    sizes: Ints, costs: Floats, starts: Ints, slopes: Floats, pending: Ints, members: int,
    rates: Floats, limit: float, most: int,
) -> int:  # fmt: skip
    """Give after how many moments the limit is exceeded, if a set is flushed now; at most `most`.

    `rates` are changes per moment of each table.
    """
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) >> 1
        total = 0.0
        for table in range(len(pending)):
            left = 0 if members >> table & 1 else pending[table]
            size = int(np.floor(left + rates[table] * middle))
            total += curve_cost(sizes, costs, starts, slopes, table, size)
        if total > limit:
            high = middle
        else:
            low = middle
    return high


@kernel
def cheapest_pace(
    sizes: Ints, costs: Floats, starts: Ints, slopes: Floats, pending: Ints, rates: Floats,
    limit: float, spent: float, moment: int, most: int,
) -> int:  # fmt: skip
    """Give, as bits, the minimal set after which the least will have been spent per moment.

    What has been spent since the last refresh, `moment` moments ago, and what the set costs, over
    the moments until something must be flushed again. Of equal paces the cheaper set is taken, of
    equal costs the one that comes first.
    """
    kept = np.empty(len(pending))
    for table in range(len(pending)):
        kept[table] = curve_cost(sizes, costs, starts, slopes, table, pending[table])
    best, best_pace, best_cost = np.int64(0), np.inf, np.inf
    for members in minimal_sets(kept, limit):
        cost = 0.0
        for table in range(len(pending)):
            if members >> table & 1:
                cost += kept[table]
        ahead = moments_until_full(
            sizes, costs, starts, slopes, pending, members, rates, limit, most
        )
        pace = (spent + cost) / (moment + ahead)
        slack = CLOSE * best_pace if best_pace < np.inf else 0.0
        if pace < best_pace - slack or (pace <= best_pace + slack and cost < best_cost - slack):
            best, best_pace, best_cost = members, pace, cost
    return int(best)
