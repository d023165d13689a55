"""Windowing: rows in runs by join key, sorted by value, each with a time.

A run is [start, start + length) of the pool. Its rows are summarised in blocks from its start on:
`newest` and `oldest`, at the place of a block's first row, hold the largest and smallest time in
it. A window of w around time t holds the times t - w + 1 to t + w - 1. A query sees the rows that
arrived when it was there: rows whose number is not below its `since`.
"""

from __future__ import annotations

from penstock.kernels.arrays import Ints, Rows
from penstock.kernels.compilation import kernel
from penstock.kernels.runs import bound_low

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
BLOCK = 16


@kernel
def window_from(time: int, width: int) -> int:
    """Give the first time in a window (width at least 1) around a time."""
    back = width - 1
    return time - back if time >= LOWEST + back else LOWEST


@kernel
def window_upto(time: int, width: int) -> int:
    """Give the last time in a window (width at least 1) around a time."""
    ahead = width - 1
    return time + ahead if time <= HIGHEST - ahead else HIGHEST


@kernel
def runs_summarise(
    codes: Rows, start: Ints, length: Rows, slots: Rows, time_of: Ints,
    times: Ints, newest: Ints, oldest: Ints,
) -> None:  # fmt: skip
    """Write the times of some runs next to their rows, and the summaries of their blocks."""
    for k in range(len(codes)):
        begin = start[codes[k]]
        end = begin + length[codes[k]]
        for block in range(begin, end, BLOCK):
            late, early = LOWEST, HIGHEST
            for i in range(block, min(block + BLOCK, end)):
                time = time_of[slots[i]]
                times[i] = time
                late = max(late, time)
                early = min(early, time)
            newest[block] = late
            oldest[block] = early


@kernel
def row_find(
    begin: int, first: int, end: int, top: int, low: int, high: int, since: int, values: Ints,
    slots: Rows, times: Ints, newest: Ints, oldest: Ints, arrived: Ints,
) -> int:  # fmt: skip
    """Find the first row in [first, end) with a time in [low, high], arrived since; else -1.

    The search ends at the first value above `top`. `begin` is where the run begins: blocks count
    from there.
    """
    i = first
    while i < end and values[i] <= top:
        block = i - (i - begin) % BLOCK
        stop = min(block + BLOCK, end)
        if newest[block] >= low and oldest[block] <= high:
            while i < stop and values[i] <= top:
                if low <= times[i] <= high and arrived[slots[i]] >= since:
                    return i
                i += 1
        else:
            i = stop
    return -1


@kernel
def pairs_keep(
    rows: Rows, queries: Rows, codes: Rows, moments: Ints,
    asks: Ints, start: Ints, length: Rows, values: Ints, slots: Rows, times: Ints,
    newest: Ints, oldest: Ints, arrived: Ints,
) -> int:  # fmt: skip
    """Keep, in place, the pairs (tuple, query) for which a row is in the query's range and window.

    Returns
    -------
    int
        How many pairs were kept.
    """
    count = 0
    for k in range(len(rows)):
        row, query = rows[k], queries[k]
        code = codes[row]
        low, high, width, since = asks[query, 0], asks[query, 1], asks[query, 2], asks[query, 3]
        if code < 0 or code >= len(start) or length[code] == 0 or width < 1:
            continue
        begin = start[code]
        end = begin + length[code]
        time = moments[row]
        found = row_find(
            begin, bound_low(values, begin, end, low), end, high,
            window_from(time, width), window_upto(time, width), since,
            values, slots, times, newest, oldest, arrived,
        )  # fmt: skip
        if found >= 0:
            rows[count] = row
            queries[count] = query
            count += 1
    return count


@kernel
def items_expand(
    codes: Rows, lows: Ints, highs: Ints, moments: Ints, widths: Ints, sinces: Ints,
    start: Ints, length: Rows, values: Ints, slots: Rows, times: Ints,
    newest: Ints, oldest: Ints, arrived: Ints, offsets: Ints, out: Rows,
) -> int:  # fmt: skip
    """Write the row slots of each item, and where each item begins; without room, only count."""
    count = 0
    for k in range(len(codes)):
        offsets[k] = count
        code, width = codes[k], widths[k]
        if code < 0 or code >= len(start) or length[code] == 0 or width < 1:
            continue
        begin = start[code]
        end = begin + length[code]
        low, high = window_from(moments[k], width), window_upto(moments[k], width)
        i = bound_low(values, begin, end, lows[k])
        while i >= 0:
            i = row_find(
                begin, i, end, highs[k], low, high, sinces[k],
                values, slots, times, newest, oldest, arrived,
            )  # fmt: skip
            if i >= 0:
                if count < len(out):
                    out[count] = slots[i]
                count += 1
                i += 1
    offsets[len(codes)] = count
    return count
