"""Crossings: which of very many thresholds a polynomial is on the asked side of, and when.

Thresholds lie sorted in partitions. Those outside the values that a polynomial takes in its range
are satisfied in all of it or nowhere, and found by two searches; each of those inside is solved by
itself, exactly as if it were alone. So the cost follows what is found.
"""

from __future__ import annotations

from penstock.kernels.arrays import Flags, Floats, Ints, Signs
from penstock.kernels.comparisons import ABOVE, BELOW, comparison_prepare, comparison_solve
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomial_roots import polynomial_bound
from penstock.kernels.polynomials import (
    polynomial_degree,
    polynomial_size,
    polynomial_strip,
)

MARGIN = 1e-10
"""How near to the values of a polynomial, as a share of its terms, a threshold is looked at."""


@inlined
def code_find(codes: Ints, code: int) -> int:
    """Find the place of a code among sorted ones, or -1."""
    low, high = 0, len(codes)
    while low < high:
        middle = (low + high) >> 1
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low if low < len(codes) and codes[low] == code else -1


@inlined
def threshold_search(thresholds: Floats, low: int, high: int, number: float) -> int:
    """Find the first threshold in [low, high) that is not below a number."""
    length = high - low
    while length > 0:
        half = (length + 1) >> 1
        # Without a branch: where it goes cannot be foretold.
        low += half * int(thresholds[low + half - 1] < number)
        length -= half
    return low


@inlined
def threshold_gallop(thresholds: Floats, low: int, high: int, number: float) -> int:
    """Find the first threshold in [low, high) that is above a number, which is most often near."""
    step = 1
    while low + step <= high and thresholds[low + step - 1] <= number:
        low += step
        step *= 2
    high = min(high, low + step - 1)
    while low < high:
        middle = (low + high) >> 1
        if thresholds[middle] <= number:
            low = middle + 1
        else:
            high = middle
    return low


@tight
def thresholds_cross(
    codes: Ints, starts: Ints, thresholds: Floats, partition: Ints, models: Floats,
    lows: Floats, highs: Floats, allows: int, row: Floats, roots: Floats, signs: Signs,
    chain: Floats, turns: Floats, state: Ints, out_index: Ints, out_entry: Ints,
    out_low: Floats, out_high: Floats, out_whole: Flags,
) -> int:  # fmt: skip
    """Write (segment, entry, low, high, whole) for all that is found, until there is no room.

    `state` is (segment, entry) to go on with, entry -1 at the beginning of a segment. All is done
    when the segment is the number of segments.
    """
    room = len(out_index)
    width = models.shape[1]
    count = 0
    resume = state[1]
    for i in range(state[0], len(lows)):
        entry, resume = resume, -1
        place = code_find(codes, partition[i])
        low, high = lows[i], highs[i]
        model = models[i]
        degree = polynomial_degree(model, width - 1)
        if place < 0 or polynomial_strip(model, degree, low, high) < 0:
            continue
        begin, end = starts[place], starts[place + 1]
        least, most = polynomial_bound(model, degree, low, high, row, roots, signs, chain, turns)
        size = polynomial_size(model, degree, max(abs(low), abs(high)))
        margin = MARGIN * max(1.0, size)
        inside = threshold_search(thresholds, begin, end, least - margin)
        beyond = threshold_gallop(thresholds, inside, end, most + margin)
        if entry < 0:
            entry = begin
        if allows & ABOVE == 0:
            entry = max(entry, inside)
        if allows & BELOW == 0:
            end = beyond
        solved = -1  # The entry whose solutions were written last.
        solved_at = 0
        while entry < end:
            if count + degree + 2 > room:
                state[0], state[1] = i, entry
                return count
            at = count
            if entry < inside or entry >= beyond:
                out_low[count], out_high[count], out_whole[count] = low, high, True
                count += 1
            elif solved >= 0 and thresholds[solved] == thresholds[entry]:
                for k in range(solved_at, at):
                    out_low[count], out_high[count] = out_low[k], out_high[k]
                    out_whole[count] = out_whole[k]
                    count += 1
            else:
                for k in range(degree + 1):
                    row[k] = model[k]
                own = comparison_prepare(row, degree, thresholds[entry], low, high)
                count = comparison_solve(
                    row, own, allows, low, high, roots, signs, chain, turns, out_low, out_high,
                    count,
                )  # fmt: skip
                for k in range(at, count):
                    out_whole[k] = out_low[k] == low and out_high[k] == high
            if inside <= entry < beyond:
                solved, solved_at = entry, at
            for k in range(at, count):
                out_index[k], out_entry[k] = i, entry
            entry += 1
    state[0], state[1] = len(lows), -1
    return count
