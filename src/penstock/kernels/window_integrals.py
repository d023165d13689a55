"""Window integrals: sums and means over a sliding window of time, as functions of its end.

A window that one model fills has the integral F(t) - F(t - w), of the model's own degree. Else it
is what is left of the model at its tail, whole models in between, and what is reached of the one
at its head: one degree more.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomials import (
    polynomial_degree,
    polynomial_evaluate,
    polynomial_integrate,
    polynomial_shift,
)
from penstock.kernels.segment_curves import curve_build
from penstock.kernels.segment_pieces import (
    Course,
    Parts,
    Zones,
    group_collect,
    piece_append,
)
from penstock.kernels.segment_stores import INSTANT, Stored


class Ledger(NamedTuple):
    """What integrating writes into."""

    slots: Ints
    starts: Floats
    whole: Floats
    """The integral of each model."""
    back: Floats
    """What a model and all behind it have together, up to the middle of a window."""
    head: Floats
    tail: Floats
    integral: Floats
    made: Floats
    room: Floats


@inlined
def model_integral(model: Floats, shift: float, degree: int, sheet: Ledger, out: Floats) -> None:
    """Write the antiderivative of a model that is shifted first."""
    polynomial_shift(model, degree, shift, sheet.room)
    polynomial_integrate(sheet.room, degree, out)


@inlined
def window_integrate(
    curve: Course,
    tail: int,
    head: int,
    at: float,
    size: float,
    factor: float,
    between: float,
    sheet: Ledger,
) -> None:
    """Write the integral over [t - size, t], by powers of t - at, while tail and head stay.

    `between` is that of the whole models between the two.
    """
    made = sheet.made
    width = len(made)
    for k in range(width):
        made[k] = 0.0
    degree = polynomial_degree(curve.models[head], curve.models.shape[1] - 1)
    model_integral(curve.models[head], at - curve.origin[head], degree, sheet, sheet.head)
    if tail == head:
        # The highest powers cancel, and are left out.
        polynomial_shift(sheet.head, degree + 1, -size, sheet.tail)
        for k in range(degree + 1):
            made[k] = factor * (sheet.head[k] - sheet.tail[k])
        return
    for k in range(1, min(degree + 2, width)):
        made[k] += sheet.head[k]
    begun = polynomial_evaluate(sheet.head, degree + 1, curve.begin[head] - at)
    degree = polynomial_degree(curve.models[tail], curve.models.shape[1] - 1)
    model_integral(curve.models[tail], at - size - curve.origin[tail], degree, sheet, sheet.tail)
    for k in range(1, min(degree + 2, width)):
        made[k] -= sheet.tail[k]
    left = polynomial_evaluate(sheet.tail, degree + 1, curve.end[tail] + size - at)
    made[0] = left - begun + between
    for k in range(width):
        made[k] *= factor


@inlined
def wholes_write(curve: Course, count: int, sheet: Ledger) -> None:
    """Write the integral of each model."""
    width = curve.models.shape[1]
    for p in range(count):
        degree = polynomial_degree(curve.models[p], width - 1)
        model_integral(
            curve.models[p], curve.begin[p] - curve.origin[p], degree, sheet, sheet.integral
        )
        span = curve.end[p] - curve.begin[p]
        sheet.whole[p] = polynomial_evaluate(sheet.integral, degree + 1, span)


@inlined
def between_add(
    tail: int, head: int, middle: int, added: int, front: float, sheet: Ledger
) -> tuple[int, int, float, float]:
    """Give what the whole models between tail and head have together, and how far that is added up.

    Nothing is subtracted: of a value that dwarfs others, and is behind the window, nothing is left.
    Models from the middle on are in `front`, up to `added`; those before it in `back`.
    """
    if tail + 1 > middle:
        middle, front = max(head, tail + 1), 0.0
        added, together = middle, 0.0
        for p in range(head - 1, tail, -1):
            together += sheet.whole[p]
            sheet.back[p] = together
    while added < head:
        front += sheet.whole[added]
        added += 1
    together = sheet.back[tail + 1] + front if tail + 1 < middle else front
    return middle, added, front, together


@tight
def integrals_write(
    size: float, factor: float, gap: int, stored: Stored, columns: Ints, asked: Zones, own: Ints,
    curve: Course, sheet: Ledger, pieces: Parts,
) -> int:  # fmt: skip
    """Write the window integrals of groups, times a factor; give their number, or -1."""
    total = 0
    for g in range(len(asked.base)):
        base, begin, end = asked.base[g], asked.begin[g], asked.end[g]
        found = group_collect(
            stored, columns, asked.key[g], own, base, begin - 2.0 * size - INSTANT, end + size,
            sheet.slots, sheet.starts,
        )  # fmt: skip
        count = curve_build(
            stored, base, sheet.slots, sheet.starts, found, size, gap, curve, sheet.room
        )
        wholes_write(curve, count, sheet)
        first = 0
        while first < count:
            last = first
            while last + 1 < count and curve.run[last + 1] == curve.run[first]:
                last += 1
            at = max(curve.begin[first] + size, begin)
            stop = min(curve.end[last], end)
            tail, head = first, first
            middle, added, front = first + 1, first + 1, 0.0
            while stop - at > INSTANT:
                while head < last and curve.end[head] <= at + INSTANT:
                    head += 1
                while tail < last and curve.end[tail] + size <= at + INSTANT:
                    tail += 1
                there = min(curve.end[head], curve.end[tail] + size, stop)
                if stop - there <= INSTANT:
                    there = stop
                middle, added, front, between = between_add(tail, head, middle, added, front, sheet)
                window_integrate(curve, tail, head, at, size, factor, between, sheet)
                total = piece_append(pieces, total, g, base, at, there, sheet.made, at, sheet.room)
                if total < 0:
                    return -1
                at = there
            first = last + 1
    return total
