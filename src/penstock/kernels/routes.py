"""Routing: how many ranges a value meets, and which strategy a tuple is sent to.

A statistic has `buckets` buckets of equal width from `origin` on, and one more at either end for
all that lies outside. Counts are whole numbers of 1 / UNIT, so that taking a range away restores
what was there before it came.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.arrays import Bytes, Floats, Ints, Rows
from penstock.kernels.compilation import kernel

Singles = npt.NDArray[np.float32]

UNIT = 1 << 20
"""What a bucket counts for a range that covers it."""
FINE = 8
"""Counts below this have a bucket of their own; above, every doubling has four."""
STEPS = 100
"""Buckets of counts: the last begins at 7 * 2^23."""


@kernel
def position_of(key: int, origin: int, scale: float) -> float:
    """Give where a key from the origin on lies, in bucket widths from the origin.

    The difference is taken without sign: between the ends of int64 it would not fit with one.
    """
    return float(np.uint64(key) - np.uint64(origin)) * scale


@kernel
def bucket_of(key: int, origin: int, top: int, scale: float, buckets: int) -> int:
    """Give a key's bucket: 0 below the domain [origin, top], `buckets + 1` above it."""
    if key < origin:
        return 0
    if key > top:
        return buckets + 1
    # Rounding may carry the last keys past the end.
    return min(1 + int(position_of(key, origin, scale)), buckets)


@kernel
def step_of(count: int) -> int:
    """Give the bucket of a count: exact for small ones, a quarter of a doubling for others."""
    if count < FINE:
        return max(count, 0)
    bits = 0
    rest = count
    while rest >= FINE:
        rest >>= 1
        bits += 1
    # `rest` is 4 to 7: the leading three bits.
    return min(FINE + 4 * (bits - 1) + (rest - 4), STEPS - 1)


@kernel
def ranges_tally(
    ranges: Ints, sign: int, origin: int, top: int, scale: float, marks: Ints, parts: Ints
) -> int:
    """Add closed ranges (low, high) to a statistic (sign 1) or take them away (-1).

    A bucket that is covered counts UNIT: through `marks`, whose running sum counts the ranges that
    have begun and not ended. One that is covered in part counts its share: in `parts`. A bucket
    outside the domain has no width: it counts UNIT as soon as it is touched.

    Returns
    -------
    int
        How many ends lie outside the domain.
    """
    buckets = len(parts) - 2
    outside = 0
    for i in range(len(ranges)):
        low, high = ranges[i, 0], ranges[i, 1]
        first = bucket_of(low, origin, top, scale, buckets)
        last = bucket_of(high, origin, top, scale, buckets)
        # How much of the first bucket lies before the range, how much of the last one within it.
        before, within = 0.0, 1.0
        if 0 < first <= buckets:
            before = position_of(low, origin, scale) - (first - 1)
        else:
            outside += 1
        if 0 < last <= buckets:
            # A closed range of whole numbers ends where the next number begins.
            end = position_of(high, origin, scale) + scale
            last = min(1 + int(end), buckets)
            within = min(end - (last - 1), 1.0)
        else:
            outside += 1
        if first == last:
            parts[first] += sign * int(max(within - before, 0.0) * UNIT + 0.5)
            continue
        parts[first] += sign * int(max(1.0 - before, 0.0) * UNIT + 0.5)
        marks[first + 1] += sign * UNIT
        marks[last] -= sign * UNIT
        parts[last] += sign * int(within * UNIT + 0.5)
    return outside


@kernel
def tuples_place(
    keys: Ints, codes: Rows, lengths: Rows, origin: int, top: int, scale: float,
    costs: Singles, cells: Rows, totals: Floats,
) -> None:  # fmt: skip
    """Find every tuple's cell of the decision table; add up what each strategy would cost for all.

    The cell of (bucket of the key, bucket of the run's length) is bucket * STEPS + step; it is -1
    for a tuple that joins with nothing. `costs[cell]` are those of all strategies.
    """
    buckets = len(costs) // STEPS - 2
    known = len(lengths)
    for i in range(len(keys)):
        code = codes[i]
        length = lengths[code] if 0 <= code < known else 0
        cells[i] = -1
        if length > 0:
            bucket = bucket_of(keys[i], origin, top, scale, buckets)
            cell = bucket * STEPS + step_of(length)
            cells[i] = cell
            for other in range(len(totals)):
                totals[other] += costs[cell, other]


@kernel
def tuples_route(
    cells: Rows, table: Bytes, costs: Singles, usual: int, margin: float,
    choices: Bytes, tally: Ints, sums: Floats,
) -> None:  # fmt: skip
    """Send every tuple to the strategy that the table names; count them per strategy.

    A tuple for which the usual strategy costs at most `margin` times as much goes there.
    `sums[s, t]` becomes what the tuples sent to s would cost under t. The last strategy of `tally`
    is none at all: a tuple that joins with nothing needs no work.
    """
    none = len(tally) - 1
    for i in range(len(cells)):
        cell = cells[i]
        choice = none
        if cell >= 0:
            choice = int(table[cell])
            if costs[cell, usual] <= margin * costs[cell, choice]:
                choice = usual
            for other in range(none):
                sums[choice, other] += costs[cell, other]
        choices[i] = choice
        tally[choice] += 1


@kernel
def tuples_cut(
    keys: Ints, codes: Rows, choices: Bytes, starts: Ints,
    cut_keys: Ints, cut_codes: Rows, cut_rows: Rows,
) -> None:  # fmt: skip
    """Bring the tuples of each strategy together, in order; `starts` says where each begins."""
    at = starts.copy()
    for i in range(len(keys)):
        choice = choices[i]
        place = at[choice]
        at[choice] += 1
        cut_keys[place] = keys[i]
        cut_codes[place] = codes[i]
        cut_rows[place] = i


@kernel
def rows_restore(rows: Rows, cut_rows: Rows) -> None:
    """Turn rows of a part of a batch into rows of the batch, in place."""
    for i in range(len(rows)):
        rows[i] = cut_rows[rows[i]]
