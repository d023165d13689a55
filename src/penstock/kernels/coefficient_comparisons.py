"""Comparisons of boxes of models with each other: which share of pairs is in which order, and when.

For pairs of lines they are exact. The difference of two even spreads has a trapezoid for its
density; what falls is highest at the first instant, what rises at the second. So the chance that a
line of one box stays below one of the other is an integral over the difference of their slopes of
piecewise polynomials of the third degree, which two points between any two kinks give exactly.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.kernels.arrays import Floats
from penstock.kernels.coefficient_volumes import both_below, halfspace_share, powers_write
from penstock.kernels.compilation import inlined, tight

NODE = 0.5773502691896257
"""The points of Gauss and Legendre on [-1, 1]: this and its negative."""


@tight
def boxes_above(
    models: Floats, at: Floats, low: Floats, high: Floats, frequency: Floats, slopes: Floats,
    above: Floats,
) -> None:  # fmt: skip
    """Write how many models of boxes are higher than each of some models at its instant."""
    width = models.shape[1]
    for i in range(len(models)):
        powers_write(at[i], width, slopes)
        value = 0.0
        for k in range(width):
            value += slopes[k] * models[i, k]
        found = 0.0
        for j in range(len(low)):
            found += frequency[j] * (1.0 - halfspace_share(low[j], high[j], slopes, width, value))
        above[i] = found


@tight
def boxes_below(
    models: Floats, begins: Floats, ends: Floats, low: Floats, high: Floats, frequency: Floats,
    room: Floats, below: Floats,
) -> None:  # fmt: skip
    """Write how many models of boxes are lower than each of some models at both ends of its time.

    `room` is (5, coefficients).
    """
    width = models.shape[1]
    for i in range(len(models)):
        found = 0.0
        for j in range(len(low)):
            for k in range(width):
                room[3, k] = low[j, k] - models[i, k]
                room[4, k] = high[j, k] - models[i, k]
            found += frequency[j] * both_below(
                room[3], room[4], width, begins[i], ends[i], 0.0, room
            )
        below[i] = found


@inlined
def rise(value: float, width: float) -> float:
    """Give the integral of the share of [0, width] that lies below, up to a value."""
    if value <= 0.0:
        return 0.0
    if value >= width:
        return value - width / 2
    return value * value / (2 * width)


@inlined
def trapezoid_below(value: float, start: float, one: float, other: float) -> float:
    """Give the chance that start + U·one + U'·other is below a value; U, U' even in [0, 1)."""
    value -= start
    narrow, wide = min(one, other), max(one, other)
    if wide <= 0.0:
        return 1.0 if value > 0.0 else 0.0
    if narrow <= 1e-9 * wide:
        return min(max((value - narrow / 2) / wide, 0.0), 1.0)
    return min(max((rise(value, narrow) - rise(value - wide, narrow)) / wide, 0.0), 1.0)


@inlined
def trapezoid_density(value: float, start: float, one: float, other: float) -> float:
    """Give the density of start + U·one + U'·other at a value; not both are without extent."""
    value -= start
    narrow, wide = min(one, other), max(one, other)
    if value <= 0.0 or value >= narrow + wide:
        return 0.0
    if value < narrow:
        return value / (narrow * wide)
    if value > wide:
        return (narrow + wide - value) / (narrow * wide)
    return 1.0 / wide


@inlined
def stretch_below(
    begin: float, end: float, slow: float, slopes: Floats, heights: Floats, kinks: Floats
) -> float:
    """Integrate, over slopes in [begin, end), the chance that the height then stays below 0.

    `slow` is the instant at which it is highest; slopes and heights are (start, one, other).
    """
    count = 0
    for k in range(4):
        offset = (slopes[1] if k & 1 else 0.0) + (slopes[2] if k & 2 else 0.0)
        kinks[count] = slopes[0] + offset
        count += 1
        if slow > 0.0:
            offset = (heights[1] if k & 1 else 0.0) + (heights[2] if k & 2 else 0.0)
            kinks[count] = -(heights[0] + offset) / slow
            count += 1
    kinks[count], kinks[count + 1] = begin, end
    count += 2
    for i in range(1, count):
        value = kinks[i]
        j = i - 1
        while j >= 0 and kinks[j] > value:
            kinks[j + 1] = kinks[j]
            j -= 1
        kinks[j + 1] = value
    found = 0.0
    for i in range(count - 1):
        first, last = max(kinks[i], begin), min(kinks[i + 1], end)
        if last <= first:
            continue
        middle, half = (first + last) / 2, (last - first) / 2
        for side in range(2):
            at = middle + (NODE if side else -NODE) * half
            density = trapezoid_density(at, slopes[0], slopes[1], slopes[2])
            if density > 0.0:
                below = trapezoid_below(-slow * at, heights[0], heights[1], heights[2])
                found += half * density * below
    return found


@inlined
def lines_below(begin: float, end: float, slopes: Floats, heights: Floats, kinks: Floats) -> float:
    """Give the chance that height + slope·t stays below 0 from begin to end."""
    extent = slopes[1] + slopes[2]
    if extent <= 0.0:
        slow = begin if slopes[0] < 0.0 else end
        return trapezoid_below(-slow * slopes[0], heights[0], heights[1], heights[2])
    lowest, highest = slopes[0], slopes[0] + extent
    found = 0.0
    if lowest < 0.0:
        found += stretch_below(lowest, min(highest, 0.0), begin, slopes, heights, kinks)
    if highest > 0.0:
        found += stretch_below(max(lowest, 0.0), highest, end, slopes, heights, kinks)
    return min(max(found, 0.0), 1.0)


@inlined
def pair_partition(
    left_low: Floats, left_high: Floats, right_low: Floats, right_high: Floats, shift: float,
    begin: float, end: float, room: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Give the shares of pairs of lines with left - right + shift below, and above, 0 throughout.

    `room` is (3, 10); models have at most two coefficients.
    """
    slopes, heights, kinks = room[0], room[1], room[2]
    below = above = 0.0
    for side in range(2):
        sign = -1.0 if side else 1.0
        for k in range(2):
            out = slopes if k else heights
            if k >= len(left_low):
                out[0] = out[1] = out[2] = 0.0
                continue
            out[1], out[2] = left_high[k] - left_low[k], right_high[k] - right_low[k]
            if side:
                out[0] = right_low[k] - left_high[k]
            else:
                out[0] = left_low[k] - right_high[k]
        heights[0] += sign * shift
        found = lines_below(begin, end, slopes, heights, kinks)
        if side:
            above = found
        else:
            below = found
    return below, min(above, 1.0 - below)


class CoefficientBoxes(NamedTuple):
    """Boxes of models on one side of a join; all arrays have their length."""

    low: Floats
    high: Floats
    frequency: Floats
    begins: Floats
    ends: Floats


@inlined
def middles_solve(
    left: CoefficientBoxes,
    i: int,
    right: CoefficientBoxes,
    j: int,
    begin: float,
    end: float,
    solved: Floats,
) -> bool:
    """Write when the middle of one box is below that of another; say whether it is at all."""
    height = (left.low[i, 0] + left.high[i, 0] - right.low[j, 0] - right.high[j, 0]) / 2
    slope = 0.0
    if left.low.shape[1] > 1:
        slope = (left.low[i, 1] + left.high[i, 1] - right.low[j, 1] - right.high[j, 1]) / 2
    solved[0], solved[1] = begin, end
    if slope == 0.0:
        return bool(height < 0.0)
    at = -height / slope
    if slope > 0.0:
        solved[1] = min(end, at)
    else:
        solved[0] = max(begin, at)
    return bool(solved[0] < solved[1])


@tight
def boxes_join(
    left: CoefficientBoxes, right: CoefficientBoxes, is_literal: bool, room: Floats, solved: Floats,
    by_left: Floats, by_right: Floats,
) -> float:  # fmt: skip
    """Give the seconds for which pairs of lines meet, those whose left one is ever below alone.

    Write, for every box of each side (n, 3), these seconds, and their sums times the begin and the
    end of the time in which the middles of the boxes pass. `room` is (3, 10), `solved` 2 numbers.
    Literal, pairs of boxes pass if their middles do, and meet for as long: that is all that is left
    of the printed volumes where lines have one solution.
    """
    total = 0.0
    for i in range(len(left.low)):
        for j in range(len(right.low)):
            begin = max(left.begins[i], right.begins[j])
            end = min(left.ends[i], right.ends[j])
            if end <= begin:
                continue
            meets = middles_solve(left, i, right, j, begin, end, solved)
            if is_literal:
                if not meets:
                    continue
                pieces, seconds = 1.0, solved[1] - solved[0]
            else:
                _, above = pair_partition(
                    left.low[i], left.high[i], right.low[j], right.high[j], 0.0, begin, end, room
                )
                pieces, seconds = 1.0 - above, end - begin
                if not meets:
                    solved[0], solved[1] = begin, end
            weight = left.frequency[i] * right.frequency[j] * pieces * seconds
            total += weight
            for own, place in ((by_left, i), (by_right, j)):
                own[place, 0] += weight
                own[place, 1] += weight * solved[0]
                own[place, 2] += weight * solved[1]
    return total
