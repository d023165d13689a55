"""Volumes in coefficient space: which share of a box of models lies below a number, and when.

A model is a point, its coefficients are its coordinates. All models that have one value at one
instant lie in a plane, the *contour*: below it are the models that are lower at that instant. All
volumes are shares of their box, so that a box without extent in some coefficient has them too.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Floats
from penstock.kernels.compilation import inlined, tight

THIN = 1e-4
"""Extents below this share of the greatest are taken for points: less than rounding would cost."""
POINTS = 256
"""How many points of a box are asked where no closed form is known."""
GOLDEN = (0.8566748838545029, 0.7338918566271259, 0.6287067210378086, 0.5385972572236101)
"""Steps of an even sequence of points in four dimensions: powers of one over the root of
x^5 = x + 1."""


@inlined
def halfspace_share(low: Floats, high: Floats, slopes: Floats, count: int, bound: float) -> float:
    """Give the share of a box where the sum of slopes·x is below a bound.

    By inclusion and exclusion over the corners that lie below it.
    """
    total, widest = 0.0, 0.0
    for k in range(count):
        extent = abs(slopes[k]) * (high[k] - low[k])
        bound -= min(slopes[k] * low[k], slopes[k] * high[k])
        widest = max(widest, extent)
    used = 0
    for k in range(count):
        extent = abs(slopes[k]) * (high[k] - low[k])
        if extent <= THIN * widest:
            bound -= extent / 2
        else:
            total += extent
            used += 1
    if used == 0 or bound <= 0.0 or bound >= total:
        return 1.0 if bound > 0.0 else 0.0
    flipped = bound > total / 2
    if flipped:
        bound = total - bound
    scale = 1.0
    for k in range(used):
        scale *= k + 1.0
    for k in range(count):
        extent = abs(slopes[k]) * (high[k] - low[k])
        if extent > THIN * widest:
            scale *= extent
    share = 0.0
    for corner in range(1 << used):
        rest, sign, bit = bound, 1.0, 0
        for k in range(count):
            extent = abs(slopes[k]) * (high[k] - low[k])
            if extent > THIN * widest:
                if (corner >> bit) & 1:
                    rest -= extent
                    sign = -sign
                bit += 1
        if rest > 0.0:
            share += sign * rest ** float(used)
    share = min(max(share / scale, 0.0), 1.0)
    return 1.0 - share if flipped else share


@inlined
def powers_write(at: float, count: int, out: Floats) -> None:
    """Write 1, at, at², …: the normal of the contour at an instant."""
    power = 1.0
    for k in range(count):
        out[k] = power
        power *= at


@inlined
def points_below(
    low: Floats, high: Floats, count: int, begin: float, end: float, number: float
) -> float:
    """Give the share of some even points of a box that are below a number at both instants."""
    below = 0
    for point in range(POINTS):
        first, second, one, other = 0.0, 0.0, 1.0, 1.0
        for k in range(count):
            share = 0.5 + (point + 1) * GOLDEN[k]
            value = low[k] + (share - np.floor(share)) * (high[k] - low[k])
            first += value * one
            second += value * other
            one *= begin
            other *= end
        below += first < number and second < number
    return below / POINTS


@inlined
def both_below(
    low: Floats, high: Floats, count: int, begin: float, end: float, number: float, room: Floats
) -> float:
    """Give the share of a box whose models are below a number at two instants, neither below 0.

    `room` is (3, coefficients). It is exact from the instant 0 on, and for lines.
    """
    slopes, own_low, own_high = room[0], room[1], room[2]
    for k in range(count):
        own_low[k], own_high[k] = low[k], high[k]
    if count == 1 or begin == end:
        powers_write(end, count, slopes)
        return halfspace_share(low, high, slopes, count, number)
    if begin == 0.0:
        extent = high[0] - low[0]
        if extent <= 0.0:
            part = 1.0 if low[0] < number else 0.0
        else:
            part = min(max((number - low[0]) / extent, 0.0), 1.0)
        if part == 0.0:
            return 0.0
        own_high[0] = min(high[0], number) if extent > 0.0 else high[0]
        powers_write(end, count, slopes)
        return part * halfspace_share(own_low, own_high, slopes, count, number)
    if count > 2:
        return points_below(low, high, count, begin, end, number)
    # A line that falls is highest at the first instant, one that rises at the second.
    extent = high[1] - low[1]
    falling = 1.0 if high[1] <= 0.0 else 0.0
    if low[1] < 0.0 < high[1]:
        falling = -low[1] / extent
    share = 0.0
    if falling > 0.0:
        own_high[1] = min(high[1], 0.0)
        powers_write(begin, count, slopes)
        share += falling * halfspace_share(own_low, own_high, slopes, count, number)
        own_high[1] = high[1]
    if falling < 1.0:
        own_low[1] = max(low[1], 0.0)
        powers_write(end, count, slopes)
        share += (1.0 - falling) * halfspace_share(own_low, own_high, slopes, count, number)
    return share


@inlined
def partition_find(
    low: Floats, high: Floats, count: int, begin: float, end: float, number: float, room: Floats
) -> tuple[float, float]:
    """Give the shares of a box whose models are below, and above, a number at both instants."""
    below = both_below(low, high, count, begin, end, number, room)
    powers_write(begin, count, room[0])
    first = halfspace_share(low, high, room[0], count, number)
    powers_write(end, count, room[0])
    second = halfspace_share(low, high, room[0], count, number)
    return below, min(max(1.0 - first - second + below, 0.0), 1.0 - below)


@tight
def boxes_partition(
    low: Floats, high: Floats, begins: Floats, ends: Floats, number: float, room: Floats,
    below: Floats, above: Floats,
) -> None:  # fmt: skip
    """Write, of many boxes, the shares that are below, and above, a number at both ends of time.

    What is missing from 1 crosses it. Times are not below 0.
    """
    for i in range(len(low)):
        below[i], above[i] = partition_find(
            low[i], high[i], low.shape[1], begins[i], ends[i], number, room
        )


@tight
def thresholds_partition(
    low: Floats, high: Floats, begins: Floats, ends: Floats, frequency: Floats, numbers: Floats,
    room: Floats, below: Floats, above: Floats,
) -> None:  # fmt: skip
    """Write, of many numbers, how many models of boxes are below, and above, at both ends."""
    for j in range(len(numbers)):
        under, over = 0.0, 0.0
        for i in range(len(low)):
            one, other = partition_find(
                low[i], high[i], low.shape[1], begins[i], ends[i], numbers[j], room
            )
            under += frequency[i] * one
            over += frequency[i] * other
        below[j], above[j] = under, over
