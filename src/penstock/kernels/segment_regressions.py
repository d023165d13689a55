"""Regressions: polynomials of time through rows, by least squares, and how far rows are from them.

A fit is judged by the row that is farthest off, as a share of what that row may be off: at most 1,
it is a guarantee. Rows are evaluated here as they are by everybody who reads the model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomials import polynomial_evaluate, polynomial_shift

SECOND = 1e6
SINGULAR = 1e-12

# What a row may be off: columns of `limits`.
AMOUNT, SHARE, FLOOR = 0, 1, 2


class FitRoom(NamedTuple):
    """What fits write into."""

    system: Floats
    """(degree + 1, degree + 2)."""
    sums: Floats
    at: Ints
    """Rows, oldest first."""
    values: Floats
    starts: Ints
    costs: Floats
    """What it costs to merge a piece with the next."""
    models: Floats
    """(attributes, coefficients)."""


class Fitting(NamedTuple):
    """How pieces are fitted, and the rows that slots keep."""

    degrees: Ints
    limits: Floats
    """(attributes, 3): what a row may be off, as an amount, as a share, and at least."""
    kept_at: Ints
    """(slots, rows)."""
    kept_values: Floats
    """(slots, rows, attributes)."""
    numbers: Floats
    """(slots, numbers)."""
    room: FitRoom


@inlined
def error_allowed(limits: Floats, attribute: int, value: float) -> float:
    """Give by how much a model may be off from a value."""
    share = limits[attribute, SHARE]
    amount = limits[attribute, AMOUNT]
    if share < np.inf:
        # A share of the model's value, which is itself off from this one.
        own = share / (1.0 + share) * abs(value)
        amount = min(amount, max(limits[attribute, FLOOR], own))
    return float(amount)


@inlined
def share_off(limits: Floats, attribute: int, value: float, modelled: float) -> float:
    """Give by which share of what is allowed a model is off from a value."""
    off = abs(value - modelled)
    if off == 0.0:
        return 0.0
    if not off <= np.inf:
        return np.inf
    allowed = error_allowed(limits, attribute, value)
    if off <= allowed:
        return min(float(off / allowed), 1.0)
    return max(float(off / allowed), np.nextafter(1.0, 2.0)) if allowed > 0.0 else np.inf


@inlined
def system_solve(system: Floats, size: int) -> bool:
    """Solve a symmetric system in place, its right side in the column `size`; False: singular."""
    for k in range(size):
        best = k
        for i in range(k + 1, size):
            if abs(system[i, k]) > abs(system[best, k]):
                best = i
        if not abs(system[best, k]) > SINGULAR:
            return False
        for j in range(k, size + 1):
            system[k, j], system[best, j] = system[best, j], system[k, j]
        for i in range(k + 1, size):
            part = system[i, k] / system[k, k]
            for j in range(k, size + 1):
                system[i, j] -= part * system[k, j]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            system[k, size] -= system[k, j] * system[j, size]
        system[k, size] /= system[k, k]
    return True


@inlined
def moments_solve(sums: Floats, size: int, out: Floats) -> int:
    """Solve the system of three or four sums; give how many coefficients rows determine.

    It is symmetric and positive, so that L · D · L' needs no pivots, all of it stays in registers,
    and where a pivot vanishes the system of the powers below is solved already.
    """
    share, told = 1.0 / sums[0], 2 * size
    m1, m2, m3, m4 = sums[1] * share, sums[2] * share, sums[3] * share, sums[4] * share
    b0, b1, b2 = sums[told] * share, sums[told + 1] * share, sums[told + 2] * share
    x1, x2, x3 = 0.0, 0.0, 0.0
    known = 1
    d1 = m2 - m1 * m1
    if d1 > SINGULAR:
        known = 2
        by1, c21, c31 = 1.0 / d1, m3 - m1 * m2, m4 - m1 * m3
        l21, l31 = c21 * by1, c31 * by1
        y1 = b1 - m1 * b0
        x1 = y1 * by1
        d2 = m4 - m2 * m2 - l21 * c21
        if d2 > SINGULAR:
            known = 3
            y2 = b2 - m2 * b0 - l21 * y1
            x2 = y2 / d2
            if size > 3:
                m5, m6, b3 = sums[5] * share, sums[6] * share, sums[told + 3] * share
                c32 = m5 - m2 * m3 - l21 * c31
                l32 = c32 / d2
                d3 = m6 - m3 * m3 - l31 * c31 - l32 * c32
                if d3 > SINGULAR:
                    known = 4
                    x3 = (b3 - m3 * b0 - l31 * y1 - l32 * y2) / d3
                    x2 -= l32 * x3
            x1 -= l21 * x2 + l31 * x3
    out[0], out[1], out[2] = b0 - m1 * x1 - m2 * x2 - m3 * x3, x1, x2
    if size > 3:
        out[3] = x3
    return known


@inlined
def sums_write(
    at: Ints, values: Floats, first: int, last: int, attribute: int, reference: int,
    middle: float, scale: float, base: float, size: int, sums: Floats,
) -> None:  # fmt: skip
    """Write the sums of powers of rows' times, and from 2 · size on of powers times values.

    Times are counted from the middle, in units of `scale`; values from `base`.
    """
    unit, start = 1.0 / (SECOND * scale), middle / scale
    one, two, three, four, five, six = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    own, by_one, by_two, by_three = 0.0, 0.0, 0.0, 0.0
    # Each degree has a loop of its own, so that all sums stay in registers.
    if size == 1:
        for i in range(first, last):
            own += values[i, attribute] - base
    elif size == 2:
        for i in range(first, last):
            time, value = (at[i] - reference) * unit - start, values[i, attribute] - base
            one += time
            two += time * time
            own += value
            by_one += time * value
    elif size == 3:
        for i in range(first, last):
            time, value = (at[i] - reference) * unit - start, values[i, attribute] - base
            square = time * time
            one += time
            two += square
            three += square * time
            four += square * square
            own += value
            by_one += time * value
            by_two += square * value
    else:
        for i in range(first, last):
            time, value = (at[i] - reference) * unit - start, values[i, attribute] - base
            square = time * time
            cube = square * time
            one += time
            two += square
            three += cube
            four += square * square
            five += square * cube
            six += cube * cube
            own += value
            by_one += time * value
            by_two += square * value
            by_three += cube * value
    powers = (float(last - first), one, two, three, four, five, six)
    for k in range(2 * size - 1):
        sums[k] = powers[k]
    told = (own, by_one, by_two, by_three)
    for k in range(size):
        sums[2 * size + k] = told[k]


@tight
def rows_fit(
    at: Ints, values: Floats, first: int, last: int, attribute: int, reference: int, degree: int,
    room: FitRoom, out: Floats,
) -> None:  # fmt: skip
    """Write the least squares polynomial of seconds after `reference` through rows [first, last).

    It has a lower degree where rows do not determine a higher one.
    """
    for k in range(len(out)):
        out[k] = 0.0
    base = values[first, attribute]
    middle = 0.5 * ((at[first] - reference) + (at[last - 1] - reference)) / SECOND
    scale = max(0.5 * (at[last - 1] - at[first]) / SECOND, 1e-6)
    size = min(degree, last - first - 1) + 1
    sums = room.sums
    sums_write(at, values, first, last, attribute, reference, middle, scale, base, size, sums)
    if size > 2:
        size = moments_solve(sums, size, out)
    elif size == 2:
        for i in range(2):
            for j in range(2):
                room.system[i, j] = sums[i + j] / sums[0]
            room.system[i, 2] = sums[4 + i] / sums[0]
        if system_solve(room.system, 2):
            out[0], out[1] = room.system[0, 2], room.system[1, 2]
        else:
            out[0], size = sums[4] / sums[0], 1
    else:
        out[0] = sums[2] / sums[0]
    if size == 1:
        out[0] += base
        return
    stretch = 1.0
    for k in range(size):
        out[k] = out[k] / stretch
        stretch *= scale
    polynomial_shift(out, size - 1, -middle, out)
    out[0] += base


@inlined
def amounts_off(
    at: Ints, values: Floats, first: int, last: int, attribute: int, reference: int,
    amount: float, model: Floats, degree: int, most: float,
) -> float:  # fmt: skip
    """Do what `rows_off` does where all rows may be off by the same: one division is enough."""
    least, largest = model[0], 0.0
    slope = model[1] if degree > 0 else 0.0
    square = model[2] if degree > 1 else 0.0
    cube = model[3] if degree > 2 else 0.0
    enough = amount if most <= 1.0 else np.inf
    for i in range(first, last):
        since = (at[i] - reference) / SECOND
        modelled = ((cube * since + square) * since + slope) * since + least
        off = abs(values[i, attribute] - modelled)
        # What is no number is larger than all.
        largest = largest if off <= largest else off
        if not largest <= enough:
            return np.inf
    if largest == 0.0:
        return 0.0
    if largest <= amount:
        return min(largest / amount, 1.0)
    return max(largest / amount, np.nextafter(1.0, 2.0)) if amount > 0.0 else np.inf


@tight
def rows_off(
    at: Ints, values: Floats, first: int, last: int, attribute: int, reference: int,
    limits: Floats, model: Floats, degree: int, most: float,
) -> float:  # fmt: skip
    """Give the largest share of what is allowed that a row is off; more than `most` is enough."""
    if limits[attribute, SHARE] == np.inf:
        return amounts_off(
            at, values, first, last, attribute, reference, limits[attribute, AMOUNT], model, degree,
            most,
        )  # fmt: skip
    worst = 0.0
    for i in range(first, last):
        since = (at[i] - reference) / SECOND
        modelled = polynomial_evaluate(model, degree, since)
        worst = max(worst, share_off(limits, attribute, values[i, attribute], modelled))
        if not worst <= most:
            return np.inf
    return worst


@inlined
def piece_fit(
    at: Ints, values: Floats, first: int, last: int, degrees: Ints, limits: Floats, most: float,
    room: FitRoom, out: Floats,
) -> float:  # fmt: skip
    """Fit all attributes (rows of `out`) to rows; give how far the worst row is off."""
    worst = 0.0
    for a in range(len(degrees)):
        rows_fit(at, values, first, last, a, at[first], degrees[a], room, out[a])
        worst = max(
            worst, rows_off(at, values, first, last, a, at[first], limits, out[a], degrees[a], most)
        )
        if not worst <= most:
            return np.inf
    return worst


@tight
def suffix_fit(
    at: Ints, values: Floats, count: int, attribute: int, degree: int, limits: Floats,
    room: FitRoom, out: Floats,
) -> None:  # fmt: skip
    """Write a model, from the newest row on, of as many of the newest rows as it fits.

    All `count` rows are tried, then half of them, and so on; the newest alone always fits.
    """
    reference = at[count - 1]
    taken = count
    while True:
        first = count - taken
        rows_fit(at, values, first, count, attribute, reference, degree, room, out)
        off = rows_off(at, values, first, count, attribute, reference, limits, out, degree, 1.0)
        if off <= 1.0 or taken == 1:
            break
        taken //= 2


@inlined
def ring_keep(fitting: Fitting, slot: int, kept: int, at: int, values: Floats, row: int) -> None:
    """Keep a row of a key, in the place of its oldest one if all places are taken."""
    place = kept % fitting.kept_at.shape[1]
    fitting.kept_at[slot, place] = at
    for a in range(len(fitting.degrees)):
        fitting.kept_values[slot, place, a] = values[row, a]


@inlined
def ring_fit(fitting: Fitting, slot: int, kept: int, models: Floats) -> None:
    """Write models, from the newest row on, of the newest rows of a key, the newest among them."""
    room, places = fitting.room, fitting.kept_at.shape[1]
    count = min(kept, places)
    for k in range(count):
        place = (kept - count + k) % places
        room.at[k] = fitting.kept_at[slot, place]
        for a in range(len(fitting.degrees)):
            room.values[k, a] = fitting.kept_values[slot, place, a]
    for a in range(len(fitting.degrees)):
        suffix_fit(
            room.at, room.values, count, a, fitting.degrees[a], fitting.limits, room, room.models[a]
        )
        for k in range(room.models.shape[1]):
            models[a, k] = room.models[a, k]
