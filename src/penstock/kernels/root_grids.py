"""Grids of values: what isolates many roots at once, where Bernstein signs tell how many there are.

Each cell of a grid whose ends have different signs has a root. If there are as many such cells as
there can be roots, each has one and nothing else has any. Two roots in one cell hide each other; a
turn towards 0 shows them. All roots are polished together, since one step of many hardly takes
longer than one of one.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Floats, Signs
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomials import polynomial_evaluate, polynomial_slope

CELLS = 64
GRID = np.arange(CELLS + 1) / CELLS
LANES = 4
"""How many roots take a step together: so many keep their numbers in registers."""
STEPS_MAX = 200
"""How many steps a bracketed root may take; Newton's take about five."""
STEPS_TOGETHER = 10
TURN_STEPS = 8
"""How many instants are looked at for a turn to the other side of 0."""
HIDDEN_MAX = 4
"""How many roots may hide when pairs of them are looked for."""
CLOSE = 2.0**-52
COLUMNS = CELLS + LANES + 1
"""How long the rows of room are; there are ROWS of them, at least."""
ROWS = 8
BERNSTEIN, TERMS, VALUES, SLOPES, DERIVED, BEGINS, ENDS, INSTANTS = range(ROWS)
"""What the rows of room are for."""


def root_room(width: int) -> Floats:
    """Make what finding roots writes into: `chain`, for polynomials of so many coefficients."""
    return np.empty((max(width + 1, ROWS), max(width + 1, COLUMNS)))


@tight
def root_polish(
    model: Floats, degree: int, low: float, high: float, rising: bool, at: float
) -> float:
    """Find the root between two instants of different signs, by Newton's steps and halving."""
    last = high - low
    for _ in range(STEPS_MAX):
        value = model[degree]
        slope, size, far = 0.0, abs(value), abs(at)
        for k in range(degree - 1, -1, -1):
            slope = slope * at + value
            value = value * at + model[k]
            size = size * far + abs(model[k])
        # What is left is less than rounding: further steps would go back and forth.
        if abs(value) <= 0.5 * CLOSE * size:
            break
        if (value > 0.0) == rising:
            high = at
        else:
            low = at
        step = value / slope if slope != 0.0 else np.inf
        new = at - step
        # Halve where Newton leaves the bracket or hardly moves on.
        if not (low < new < high) or abs(step) > 0.5 * last:
            new = 0.5 * (low + high)
            last = high - low
            if not (low < new < high):
                break
        else:
            last = abs(step)
        done = abs(new - at) <= CLOSE * abs(new)
        at = new
        if done:
            break
    return float(at)


@inlined
def grid_evaluate(terms: Floats, degree: int, values: Floats) -> None:
    """Write the values at all instants of the grid."""
    top = terms[degree]
    for j in range(CELLS + 1):
        values[j] = top
    for k in range(degree - 1, -1, -1):
        term = terms[k]
        for j in range(CELLS + 1):
            values[j] = values[j] * GRID[j] + term


@inlined
def turn_cross(
    terms: Floats, degree: int, noise: float, low: float, high: float, low_slope: float,
    high_slope: float, side: float,
) -> float:  # fmt: skip
    """Find an instant beyond 0 between two on one side of it, towards which both ends fall.

    Give -1 where none is found.
    """
    for _ in range(TURN_STEPS):
        at = low + (high - low) * low_slope / (low_slope - high_slope)
        if side * polynomial_evaluate(terms, degree, at) < -noise:
            return float(at)
        slope = polynomial_slope(terms, degree, at)
        if slope * side < 0.0:
            low, low_slope = at, slope
        elif slope * side > 0.0:
            high, high_slope = at, slope
        else:
            break
    return -1.0


@inlined
def pairs_search(desk: Floats, degree: int, noise: float, most: int) -> int:
    """Write the shares of the range where signs change, with those of pairs in one cell."""
    terms, values, slopes = desk[TERMS], desk[VALUES], desk[SLOPES]
    for k in range(degree):
        desk[DERIVED, k] = (k + 1) * terms[k + 1]
    grid_evaluate(desk[DERIVED], degree - 1, slopes)
    count = 0
    for j in range(CELLS):
        if count + 1 > most:
            return count
        side = 1.0 if values[j] > 0.0 else -1.0
        if values[j + 1] * side < 0.0:
            desk[BEGINS, count], desk[ENDS, count] = GRID[j], GRID[j + 1]
            desk[INSTANTS, count] = values[j] / (values[j] - values[j + 1])
            count += 1
        elif slopes[j] * side < 0.0 and slopes[j + 1] * side > 0.0:
            at = turn_cross(
                terms, degree, noise, GRID[j], GRID[j + 1], slopes[j], slopes[j + 1], side
            )
            if at < 0.0:
                continue
            if count + 2 > most:
                return count
            desk[BEGINS, count], desk[ENDS, count] = GRID[j], at
            desk[BEGINS, count + 1], desk[ENDS, count + 1] = at, GRID[j + 1]
            desk[INSTANTS, count], desk[INSTANTS, count + 1] = 0.5, 0.5
            count += 2
    return count


@inlined
def grid_search(desk: Floats, degree: int, noise: float, most: int) -> int:
    """Write the shares of the range between which signs change; count them, -1: one is open.

    `most`: how many roots there may be.
    """
    values = desk[VALUES]
    grid_evaluate(desk[TERMS], degree, values)
    is_open = 0
    for j in range(CELLS + 1):
        is_open += int(abs(values[j]) <= noise)
    if is_open > 0:
        return -1
    count = 0
    for j in range(CELLS):
        desk[BEGINS, count] = j
        count += int((values[j] > 0.0) != (values[j + 1] > 0.0))
    if count < most:
        return pairs_search(desk, degree, noise, most) if most - count <= HIDDEN_MAX else count
    for k in range(count):
        j = int(desk[BEGINS, k])
        desk[BEGINS, k], desk[ENDS, k] = GRID[j], GRID[j + 1]
        desk[INSTANTS, k] = values[j] / (values[j] - values[j + 1])
    return count


@inlined
def lane_move(
    at: float, value: float, slope: float, size: float, begin: float, end: float, rising: bool
) -> tuple[float, float, float, bool]:
    """Give where Newton's step leads, the bracket that is left, and whether it moved.

    Both sides of every choice are reckoned: nobody could foretell which it will be.
    """
    is_before = (value > 0.0) != rising
    begin, end = (at if is_before else begin), (end if is_before else at)
    new = at - value / slope
    new = new if (begin < new) & (new < end) else 0.5 * (begin + end)
    # What is left is less than rounding: further steps would go back and forth.
    new = new if abs(value) > 0.5 * CLOSE * size else at
    return new, begin, end, abs(new - at) > CLOSE * abs(new)


@inlined
def lanes_step(model: Floats, degree: int, desk: Floats, first: int, rising: bool) -> int:
    """Take one step with all lanes from the first root on; count those that still move."""
    begins, ends, instants = desk[BEGINS], desk[ENDS], desk[INSTANTS]
    a, b, c, d = instants[first], instants[first + 1], instants[first + 2], instants[first + 3]
    value_a = value_b = value_c = value_d = model[degree]
    slope_a = slope_b = slope_c = slope_d = 0.0
    size_a = size_b = size_c = size_d = abs(model[degree])
    far_a, far_b, far_c, far_d = abs(a), abs(b), abs(c), abs(d)
    for k in range(degree - 1, -1, -1):
        term = model[k]
        size = abs(term)
        slope_a, slope_b = slope_a * a + value_a, slope_b * b + value_b
        slope_c, slope_d = slope_c * c + value_c, slope_d * d + value_d
        value_a, value_b = value_a * a + term, value_b * b + term
        value_c, value_d = value_c * c + term, value_d * d + term
        size_a, size_b = size_a * far_a + size, size_b * far_b + size
        size_c, size_d = size_c * far_c + size, size_d * far_d + size
    moving = 0
    for place, at, value, slope, size, rises in (
        (first, a, value_a, slope_a, size_a, rising),
        (first + 1, b, value_b, slope_b, size_b, not rising),
        (first + 2, c, value_c, slope_c, size_c, rising),
        (first + 3, d, value_d, slope_d, size_d, not rising),
    ):
        instants[place], begins[place], ends[place], moved = lane_move(
            at, value, slope, size, begins[place], ends[place], rises
        )
        moving += int(moved)
    return moving


@tight
def grid_roots(
    model: Floats, degree: int, low: float, span: float, noise: float, most: int, roots: Floats,
    signs: Signs, desk: Floats,
) -> int:  # fmt: skip
    """Write all roots in (low, low + span), and the signs around them; -1 where that is not sure.

    There are `most` at most. `desk` has the polynomial of a share of the range in its row TERMS,
    and `signs[0]` is known: at both ends there is a sign.
    """
    count = grid_search(desk, degree, noise, most)
    if count != most:
        return -1
    begins, ends, instants = desk[BEGINS], desk[ENDS], desk[INSTANTS]
    for k in range(count):
        begins[k], ends[k] = low + span * begins[k], low + span * ends[k]
        instants[k] = begins[k] + (ends[k] - begins[k]) * instants[k]
    # Idle lanes do what others do: with the same sign, so two before.
    for k in range(count, count + LANES):
        begins[k], ends[k], instants[k] = begins[k - 2], ends[k - 2], instants[k - 2]
    rising = signs[0] < 0
    for first in range(0, count, LANES):
        moving = LANES
        for _ in range(STEPS_TOGETHER):
            if moving == 0:
                break
            moving = lanes_step(model, degree, desk, first, rising)
        for k in range(first, min(first + LANES, count)):
            rises = rising != ((k & 1) == 1)
            root = instants[k]
            if moving > 0:
                root = root_polish(model, degree, begins[k], ends[k], rises, root)
            if k > 0 and root <= roots[k - 1]:
                return -1
            roots[k] = root
            signs[k + 1] = 1 if rises else -1
    return count
