"""Comparisons of a polynomial of time with a number: when they hold in a range."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomial_roots import roots_find
from penstock.kernels.polynomials import polynomial_sign, polynomial_strip

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]

BELOW, ZERO, ABOVE = 1, 2, 4
"""The signs of a difference that a comparison allows, as bits."""
UNEQUAL = BELOW | ABOVE
LEFT_OUT = 1e-9
"""The seconds that are left out before and behind an instant that `<>` takes out of a range.

Rounding of instants is far below it, and what aggregates take for touching is far above.
"""


@inlined
def sign_allowed(allows: int, sign: int) -> bool:
    """Say whether a sign is among those that a comparison allows."""
    return (allows & (ZERO if sign == 0 else (ABOVE if sign > 0 else BELOW))) != 0


@inlined
def comparison_prepare(row: Floats, top: int, number: float, low: float, high: float) -> int:
    """Subtract a number from a polynomial and give its degree; -1 if it is no number everywhere.

    Every polynomial of numbers lies on one side of an infinite number.
    """
    if abs(number) != np.inf:
        row[0] -= number
        return polynomial_strip(row, top, low, high)
    degree = polynomial_strip(row, top, low, high)
    row[0] = -number
    return min(degree, 0)


@inlined
def signs_find(
    row: Floats, degree: int, low: float, high: float, roots: Floats, signs: Signs,
    chain: Floats, turns: Floats,
) -> int:  # fmt: skip
    """Write the roots in [low, high), and the signs around them, of any polynomial, at a point too.

    At a point there are no roots, and one sign.
    """
    if degree <= 0:
        signs[0] = 0 if row[0] == 0.0 else (1 if row[0] > 0.0 else -1)
        return 0
    if low == high:
        signs[0] = polynomial_sign(row, degree, low)
        return 0
    return roots_find(row, degree, low, high, roots, signs, chain, turns)


@tight
def comparison_solve(
    row: Floats, degree: int, allows: int, low: float, high: float, roots: Floats, signs: Signs,
    chain: Floats, turns: Floats, out_low: Floats, out_high: Floats, at: int,
) -> int:  # fmt: skip
    """Write when a prepared polynomial has an allowed sign, from `at` on; give where that ends.

    Roots divide the intervals of `<>`; others are written without regard to single instants that
    they lack. An instant that holds by itself is one whose ends are equal. At most degree + 1 are
    written.
    """
    if degree < 0:
        return at
    count = signs_find(row, degree, low, high, roots, signs, chain, turns)
    at_roots = sign_allowed(allows, 0)
    if allows == UNEQUAL and degree > 0 and low < high:
        begin = low
        for k in range(count + 1):
            end = roots[k] - LEFT_OUT if k < count else high
            if begin < end:
                out_low[at], out_high[at] = begin, end
                at += 1
            begin = roots[k] + LEFT_OUT if k < count else high
        return at
    if low == high:
        if sign_allowed(allows, signs[0]):
            out_low[at], out_high[at] = low, low
            at += 1
        return at
    first = int(count > 0 and roots[0] == low)
    held = False
    for k in range(first, count + 1):
        # The stretch before the root k, and the instant that it begins with.
        begin = roots[k - 1] if k > 0 else low
        holds = sign_allowed(allows, signs[k])
        if holds and not held:
            out_low[at] = begin
        elif held and not holds:
            out_high[at] = begin
            at += 1
        elif not holds and k > 0 and at_roots:
            out_low[at], out_high[at] = begin, begin
            at += 1
        held = holds
    if held:
        out_high[at] = high
        at += 1
    return at
