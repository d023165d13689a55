"""Flush hopes: the least that the rest of a schedule may cost, with all tables under one bound.

Were every table alone under the bound, its cheapest flushes could be computed one table at a time,
but all of them would fill the bound at once. So what waits is charged: at every moment there is a
price, paid for each unit of cost that waits after it, of which the bound's worth is given back. A
schedule that keeps the bound pays no more than before, whatever the prices. So with any prices the
tables' cheapest sums, each found alone, are a hope that is never too high, and one that no flush
can make fall by more than its cost. Good prices are found by steps towards where the bound would
be broken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import kernel, tight

PATIENCE = 4
"""Steps without a better hope, after which they become smaller."""


@tight
def rests_fill(batch: Floats, come: Ints, prices: Floats, limit: float, rests: Floats) -> None:
    """Write the least that a table costs from moment t on, if it was not flushed since u.

    `batch` is what it costs by size, `come` how many changes came until each moment; the entry is
    `rests[t * len(come) + u]`, for u before t.
    """
    last = len(come) - 1
    row = last + 1
    for since in range(last + 1):
        rests[last * row + since] = batch[come[last] - come[since]]
    for moment in range(last - 1, -1, -1):
        flushed = rests[(moment + 1) * row + moment]
        for since in range(moment):
            cost = batch[come[moment] - come[since]]
            least = cost + flushed
            if cost <= limit:
                least = min(least, prices[moment] * cost + rests[(moment + 1) * row + since])
            rests[moment * row + since] = least


@tight
def loads_add(
    batch: Floats, come: Ints, prices: Floats, limit: float, rests: Floats, loads: Floats
) -> None:
    """Add what a table's cheapest flushes let wait after every moment."""
    last = len(come) - 1
    row, since = last + 1, 0
    for moment in range(1, last):
        cost = batch[come[moment] - come[since]]
        flushed = cost + rests[(moment + 1) * row + moment]
        if cost > limit or flushed <= prices[moment] * cost + rests[(moment + 1) * row + since]:
            since = moment
        else:
            loads[moment] += cost


@kernel
def joint_hopes(
    batches: Floats, starts: Ints, come: Ints, limit: float, upper: float, rounds: int
) -> Any:
    """Give hopes of all tables by moment and by when each was flushed, and the least of all.

    `batches[starts[i] + k]` is what k changes of table i cost. `upper` is what some schedule costs:
    steps are as long as they should be if the optimum were that.
    """
    last, tables = len(come) - 1, come.shape[1]
    row = last + 1
    hopes = np.zeros(tables * row * row)
    prices, best = np.zeros(row), np.zeros(row)
    floor, pace, stalled = -np.inf, 1.0, 0
    columns = come.T.copy()
    for step in range(rounds + 1):
        if step == rounds:
            prices = best
        loads = np.zeros(row)
        value = -limit * prices[1:last].sum()
        for table in range(tables):
            rests = hopes[table * row * row : (table + 1) * row * row]
            batch = batches[starts[table] : starts[table + 1]]
            rests_fill(batch, columns[table], prices, limit, rests)
            loads_add(batch, columns[table], prices, limit, rests, loads)
            value += rests[row] if last else rests[0]
        if step == rounds:
            break
        if value > floor:
            floor, best, stalled = value, prices.copy(), 0
        else:
            stalled += 1
            if stalled == PATIENCE:
                stalled, pace, prices = 0, pace / 2, best.copy()
                continue
        length = 0.0
        for moment in range(1, last):
            over = loads[moment] - limit
            if over > 0.0 or prices[moment] > 0.0:
                length += over * over
        if length == 0.0:
            best = prices
            continue
        stride = pace * max(upper - value, 0.0) / length
        for moment in range(1, last):
            prices[moment] = max(prices[moment] + stride * (loads[moment] - limit), 0.0)
    given = 0.0
    for moment in range(last - 1, -1, -1):
        if moment:
            given += limit * prices[moment]
        for since in range(row):
            hopes[moment * row + since] -= given
    return hopes, floor
