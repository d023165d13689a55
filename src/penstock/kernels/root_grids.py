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
from penstock.kernels.polynomials import (
    polynomial_derive,
    polynomial_evaluate,
    polynomial_slope,
)

CELLS = 64
GRID = np.arange(CELLS + 1) / CELLS
FINER = 4
"""Into how many grids the range is divided where one is too coarse."""
POWERS = 8
"""Up to this power, polynomials are evaluated at many instants with all numbers in registers."""
LANES = 8
"""How many roots take a step together."""
STEPS_MAX = 200
"""How many steps a bracketed root may take; Newton's take about five."""
STEPS_TOGETHER = 10
TURN_STEPS = 8
"""How many instants are looked at for a turn to the other side of 0."""
HIDDEN_MAX = 4
"""How many roots may hide when pairs of them are looked for."""
CLOSE = 2.0**-52
COLUMNS = CELLS + 1
"""How long the rows of room are; there are ROWS of them, at least."""
ROWS = 9
BERNSTEIN, TERMS, VALUES, SLOPES, DERIVED, BEGINS, ENDS, INSTANTS, LANE = range(ROWS)
"""What the rows of room are for."""
AT, LOW, HIGH, SIDE = 0, LANES, 2 * LANES, 3 * LANES
"""Where, in the last of them, numbers of the lanes begin."""
Terms = tuple[float, float, float, float, float, float, float, float, float]


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
def term_read(model: Floats, degree: int, power: int) -> float:
    """Give a coefficient; 0 above the degree."""
    return float(model[power]) if power <= degree else 0.0


@inlined
def terms_read(model: Floats, degree: int) -> Terms:
    """Give the coefficients up to the power POWERS."""
    return (
        term_read(model, degree, 0), term_read(model, degree, 1), term_read(model, degree, 2),
        term_read(model, degree, 3), term_read(model, degree, 4), term_read(model, degree, 5),
        term_read(model, degree, 6), term_read(model, degree, 7), term_read(model, degree, 8),
    )  # fmt: skip


@inlined
def terms_evaluate(terms: Terms, at: float) -> float:
    """Give a value as `polynomial_evaluate` does."""
    value = terms[8] * at + terms[7]
    value = value * at + terms[6]
    value = value * at + terms[5]
    value = value * at + terms[4]
    value = value * at + terms[3]
    value = value * at + terms[2]
    value = value * at + terms[1]
    return value * at + terms[0]


@inlined
def grid_evaluate(
    model: Floats, degree: int, begin: float, width: float, values: Floats
) -> None:  # fmt: skip
    """Write the values at all instants of a grid over [begin, begin + width]."""
    if degree > POWERS:
        for j in range(CELLS + 1):
            values[j] = polynomial_evaluate(model, degree, begin + width * GRID[j])
        return
    terms = terms_read(model, degree)
    for j in range(CELLS + 1):
        values[j] = terms_evaluate(terms, begin + width * GRID[j])


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
def pairs_search(
    desk: Floats, degree: int, noise: float, most: int, begin: float, width: float, count: int
) -> int:
    """Write the shares of a grid where signs change, with those of pairs in one cell."""
    terms, values, slopes = desk[TERMS], desk[VALUES], desk[SLOPES]
    grid_evaluate(desk[DERIVED], degree - 1, begin, width, slopes)
    for j in range(CELLS):
        if count + 1 > most:
            return count
        side = 1.0 if values[j] > 0.0 else -1.0
        if values[j + 1] * side < 0.0:
            cell_write(desk, begin, width, j, count)
            count += 1
        elif slopes[j] * side < 0.0 and slopes[j + 1] * side > 0.0:
            one, two = begin + width * GRID[j], begin + width * GRID[j + 1]
            at = turn_cross(terms, degree, noise, one, two, slopes[j], slopes[j + 1], side)
            if at < 0.0:
                continue
            if count + 2 > most:
                return count
            desk[BEGINS, count], desk[ENDS, count] = one, at
            desk[BEGINS, count + 1], desk[ENDS, count + 1] = at, two
            desk[INSTANTS, count], desk[INSTANTS, count + 1] = 0.5, 0.5
            count += 2
    return count


@inlined
def cell_write(desk: Floats, begin: float, width: float, j: int, place: int) -> None:
    """Write a cell of a grid in which signs change, and where in it a line would cross 0."""
    values = desk[VALUES]
    desk[BEGINS, place] = begin + width * GRID[j]
    desk[ENDS, place] = begin + width * GRID[j + 1]
    desk[INSTANTS, place] = values[j] / (values[j] - values[j + 1])


@inlined
def values_open(values: Floats, noise: float) -> bool:
    """Say whether a value of a grid may be 0."""
    found = 0
    for j in range(CELLS + 1):
        found += int(abs(values[j]) <= noise)
    return found > 0


@inlined
def grid_search(desk: Floats, degree: int, noise: float, most: int) -> int:
    """Write the shares of the range between which signs change; count them, -1: one is open.

    `most`: how many roots there may be. Where a grid does not find as many, finer ones are laid.
    """
    values = desk[VALUES]
    grid_evaluate(desk[TERMS], degree, 0.0, 1.0, values)
    if values_open(values, noise):
        return -1
    count = 0
    for j in range(CELLS):
        desk[BEGINS, count] = j
        count += int((values[j] > 0.0) != (values[j + 1] > 0.0))
    if count == most:
        for k in range(count):
            cell_write(desk, 0.0, 1.0, int(desk[BEGINS, k]), k)
        return count
    if most - count > HIDDEN_MAX:
        return count
    polynomial_derive(desk[TERMS], degree, desk[DERIVED])
    count = pairs_search(desk, degree, noise, most, 0.0, 1.0, 0)
    if count == most:
        return count
    count = 0
    for part in range(FINER):
        grid_evaluate(desk[TERMS], degree, part / FINER, 1.0 / FINER, values)
        if values_open(values, noise):
            return -1
        count = pairs_search(desk, degree, noise, most, part / FINER, 1.0 / FINER, count)
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
def horner(
    value: float, slope: float, size: float, at: float, term: float
) -> tuple[float, float, float]:
    """Go on to the next lower power: of a value, of its slope and of the sum of all |terms|."""
    return value * at + term, slope * at + value, size * abs(at) + abs(term)


@inlined
def lanes_step(terms: Terms, lanes: Floats) -> int:
    """Take one step with all lanes; count those that still move."""
    moving = 0
    for j in range(LANES):
        at = lanes[AT + j]
        value, slope, size = terms[8], 0.0, abs(terms[8])
        value, slope, size = horner(value, slope, size, at, terms[7])
        value, slope, size = horner(value, slope, size, at, terms[6])
        value, slope, size = horner(value, slope, size, at, terms[5])
        value, slope, size = horner(value, slope, size, at, terms[4])
        value, slope, size = horner(value, slope, size, at, terms[3])
        value, slope, size = horner(value, slope, size, at, terms[2])
        value, slope, size = horner(value, slope, size, at, terms[1])
        value, slope, size = horner(value, slope, size, at, terms[0])
        lanes[AT + j], lanes[LOW + j], lanes[HIGH + j], moved = lane_move(
            at, value, slope, size, lanes[LOW + j], lanes[HIGH + j], lanes[SIDE + j] > 0.0
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
    begins, ends, instants, lanes = desk[BEGINS], desk[ENDS], desk[INSTANTS], desk[LANE]
    terms = terms_read(model, degree)
    first_side = 1.0 if signs[0] < 0 else -1.0
    for first in range(0, count, LANES):
        for j in range(LANES):
            k = min(first + j, count - 1)  # Idle lanes do what the last one does.
            begin, end = low + span * begins[k], low + span * ends[k]
            lanes[AT + j], lanes[LOW + j] = begin + (end - begin) * instants[k], begin
            lanes[HIGH + j] = end
            lanes[SIDE + j] = first_side if (k & 1) == 0 else -first_side
        moving = LANES
        for _ in range(STEPS_TOGETHER if degree <= POWERS else 0):
            if moving == 0:
                break
            moving = lanes_step(terms, lanes)
        for j in range(min(LANES, count - first)):
            k = first + j
            rises = lanes[SIDE + j] > 0.0
            root = lanes[AT + j]
            if moving > 0:
                root = root_polish(model, degree, lanes[LOW + j], lanes[HIGH + j], rises, root)
            if k > 0 and root <= roots[k - 1]:
                return -1
            roots[k] = root
            signs[k + 1] = 1 if rises else -1
    return count
