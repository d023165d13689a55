"""Roots of polynomials in a range: all of them, ascending, with the signs between them.

Between two neighbouring roots of its derivative a polynomial is monotone: it has a root there if
its ends have different signs, and one on each end whose sign is 0. So the roots of the highest
derivatives are found first, and each level brackets the roots of the next. Nothing is missed but
what rounding hides: a run of ends that all have the sign 0 is one root, a touched 0 among them.

Most polynomials need none of that: their roots are far from each other, and are isolated by signs.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Floats, Signs
from penstock.kernels.compilation import inlined, kernel, tight
from penstock.kernels.polynomials import (
    polynomial_degree,
    polynomial_derive,
    polynomial_evaluate,
    polynomial_noise,
)
from penstock.kernels.root_grids import COLUMNS, ROWS, root_polish
from penstock.kernels.root_isolation import roots_isolate


@inlined
def root_between(model: Floats, degree: int, low: float, high: float, rising: bool) -> float:
    """Find the only root between two instants of different signs."""
    if degree > 2:
        return root_polish(model, degree, low, high, rising, 0.5 * (low + high))
    if degree == 1:
        found = -model[0] / model[1]
    else:
        # The stable form: nothing is subtracted from what is nearly equal.
        half = -0.5 * model[1]
        room = half * half - model[2] * model[0]
        spread = np.sqrt(max(room, 0.0))
        large = half + spread if half >= 0.0 else half - spread
        one = large / model[2]
        other = model[0] / large if large != 0.0 else one
        # Where the parabola rises through 0, its root is the right one if it opens upwards.
        right = rising == (model[2] > 0.0)
        found = max(one, other) if right else min(one, other)
    return float(min(max(found, low), high))


@tight
def level_solve(
    model: Floats, degree: int, low: float, high: float, turns: Floats, turn_count: int,
    roots: Floats, signs: Signs,
) -> int:  # fmt: skip
    """Write the distinct roots in [low, high), between the turning points, and count them.

    `signs[k]` is the sign before the root k, and the last one that behind all of them.
    """
    count = 0
    value = polynomial_evaluate(model, degree, low)
    noise = polynomial_noise(model, degree, low)
    sign = 1 if value > noise else (-1 if value < -noise else 0)
    best = abs(value)
    signs[0] = sign
    if sign == 0:
        roots[0] = low
        count = 1
    left = low
    for k in range(turn_count + 1):
        # The end itself lies outside: what is left of it is told by the bare sign there.
        right = turns[k] if k < turn_count else high
        value = polynomial_evaluate(model, degree, right)
        noise = polynomial_noise(model, degree, right) if k < turn_count else 0.0
        new = 1 if value > noise else (-1 if value < -noise else 0)
        if new == 0:
            if k == turn_count:
                if sign == 0:
                    middle = polynomial_evaluate(model, degree, 0.5 * (left + high))
                    signs[count] = -1 if middle < 0.0 else 1
            elif sign != 0:
                roots[count] = right
                count += 1
                best = abs(value)
            elif abs(value) < best:
                roots[count - 1] = right
                best = abs(value)
        elif sign == 0:
            signs[count] = new
        elif new != sign:
            found = root_between(model, degree, left, right, new > 0)
            if found < high:
                if count == 0 or found > roots[count - 1]:
                    roots[count] = found
                    count += 1
                signs[count] = new
        sign = new
        left = right
    return count


@tight
def roots_find(
    model: Floats, degree: int, low: float, high: float, roots: Floats, signs: Signs,
    chain: Floats, turns: Floats,
) -> int:  # fmt: skip
    """Write the distinct roots in [low, high) of a polynomial that is no constant; count them.

    `signs[k]` is the sign between the roots k - 1 and k: one more than there are roots. If the
    first root is `low`, `signs[0]` says nothing. A root whose signs are equal is touched.

    Needs room: `roots` and `signs` (degree + 2), `chain` for derivatives, see `root_room`, `turns`
    (degree + 2).
    """
    if degree == 1:
        return level_solve(model, 1, low, high, turns, 0, roots, signs)
    if degree == 2:
        turns[0] = -0.5 * model[1] / model[2]
        inside = int(low < turns[0] < high)
        return level_solve(model, 2, low, high, turns, inside, roots, signs)
    count = roots_isolate(model, degree, low, high, roots, signs, chain, turns)
    if count >= 0:
        return count
    polynomial_derive(model, degree, chain[0])
    for k in range(1, degree - 1):
        polynomial_derive(chain[k - 1], degree - k, chain[k])
    turn_count = 0
    for k in range(degree - 2, -1, -1):
        own = degree - 1 - k
        count = level_solve(chain[k], own, low, high, turns, turn_count, roots, signs)
        turn_count = 0
        for j in range(count):
            if low < roots[j] < high:
                turns[turn_count] = roots[j]
                turn_count += 1
    return level_solve(model, degree, low, high, turns, turn_count, roots, signs)


@kernel
def roots_list(model: Floats, degree: int, low: float, high: float) -> tuple[Floats, Signs]:
    """Give the distinct roots in [low, high) of one polynomial, and the signs around them.

    >>> roots, signs = roots_list(np.array([2.0, -3.0, 1.0]), 2, 0.0, 5.0)
    >>> roots.tolist(), signs.tolist()
    ([1.0, 2.0], [1, -1, 1])
    """
    roots, turns = np.empty(degree + 2), np.empty(degree + 2)
    signs = np.empty(degree + 2, np.int8)
    chain = np.empty((max(degree + 2, ROWS), max(degree + 2, COLUMNS)))
    count = roots_find(model, degree, low, high, roots, signs, chain, turns)
    return roots[:count], signs[: count + 1]


@inlined
def polynomial_bound(
    model: Floats, degree: int, low: float, high: float, slope: Floats, roots: Floats,
    signs: Signs, chain: Floats, turns: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Give the least and the greatest value in [low, high]; the rest is room, see `roots_find`."""
    one = polynomial_evaluate(model, degree, low)
    two = polynomial_evaluate(model, degree, high)
    least, most = min(one, two), max(one, two)
    if degree > 1 and low < high:
        polynomial_derive(model, degree, slope)
        count = roots_find(slope, degree - 1, low, high, roots, signs, chain, turns)
        for k in range(count):
            value = polynomial_evaluate(model, degree, roots[k])
            least, most = min(least, value), max(most, value)
    return least, most


@kernel
def polynomials_bound(
    models: Floats, lows: Floats, highs: Floats, least: Floats, most: Floats
) -> None:
    """Write the least and the greatest values of models (n, width), each in its own [low, high].

    >>> least, most = np.empty(1), np.empty(1)
    >>> polynomials_bound(np.array([[0.0, -2.0, 1.0]]), np.zeros(1), np.full(1, 3.0), least, most)
    >>> least.tolist(), most.tolist()
    ([-1.0], [3.0])
    """
    width = models.shape[1]
    slope, roots, turns = np.empty(width + 3), np.empty(width + 3), np.empty(width + 3)
    signs = np.empty(width + 3, np.int8)
    chain = np.empty((max(width, ROWS), max(width, COLUMNS)))
    for i in range(len(lows)):
        degree = polynomial_degree(models[i], width - 1)
        least[i], most[i] = polynomial_bound(
            models[i], degree, lows[i], highs[i], slope, roots, signs, chain, turns
        )
