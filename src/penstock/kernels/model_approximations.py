"""Approximations: lines that stay within a tolerance of a root or a ratio of models, certified.

Time is cut into cells by halving, from a grid that hangs on the segment's reference. Whether a cell
has a line depends on the models alone, never on the segment's range: so what takes back a part of a
segment takes back the same lines. That a line is near enough is shown by the signs of polynomials,
not by samples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Floats, Ints, Signs
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomial_roots import roots_find
from penstock.kernels.polynomials import (
    polynomial_degree,
    polynomial_derive,
    polynomial_evaluate,
    polynomial_shift,
    polynomial_size,
    polynomial_strip,
)

EXACT, SQRT, ABS, RATIO = 0, 1, 2, 3
FAR, NEAR, UNDEFINED = 0, 1, -1
"""What is said of a cell: it must be halved, it has a line, the function has no value in it."""
CELL_MAX = 4096.0
CELL_MIN = 2.0**-20
"""Seconds of the widest and of the narrowest cells."""
LEVELS = 33
SLACK = 1e-11
"""The share of a value that rounding may take from it."""
NODE = np.sqrt(0.5)


class Tangents(NamedTuple):
    """What approximating writes into."""

    own: Floats
    other: Floats
    test: Floats
    slope: Floats
    roots: Floats
    signs: Signs
    chain: Floats
    turns: Floats
    cuts: Floats
    lines: Floats
    """(attributes, 2): the value in the middle of a cell, and the slope."""
    stack: Floats


@inlined
def polynomial_least(model: Floats, top: int, low: float, high: float, desk: Tangents) -> float:
    """Give the least value in [low, high]."""
    degree = polynomial_degree(model, top)
    least = min(polynomial_evaluate(model, degree, low), polynomial_evaluate(model, degree, high))
    if degree == 2:
        turn = -0.5 * model[1] / model[2]
        if low < turn < high:
            least = min(least, polynomial_evaluate(model, degree, turn))
    elif degree > 2:
        polynomial_derive(model, degree, desk.slope)
        own = polynomial_strip(desk.slope, degree - 1, low, high)
        if own > 0:
            count = roots_find(
                desk.slope, own, low, high, desk.roots, desk.signs, desk.chain, desk.turns
            )
            for k in range(count):
                least = min(least, polynomial_evaluate(model, degree, desk.roots[k]))
    return float(least)


@inlined
def root_approximate(
    model: Floats, low: float, high: float, tolerance: float, desk: Tangents, line: Floats
) -> int:
    """Find a line near the square root in a cell; below 0 by more than rounding it has no value."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    own, test = desk.own, desk.test
    degree = polynomial_degree(model, len(model) - 1)
    polynomial_shift(model, degree, middle, own)
    size = polynomial_size(own, degree, half)
    floor = tolerance * tolerance + SLACK * size
    for k in range(degree + 1):
        test[k] = -own[k]
    if polynomial_least(test, degree, -half, half, desk) > floor:
        return UNDEFINED
    before = np.sqrt(max(polynomial_evaluate(own, degree, -half * NODE), 0.0))
    behind = np.sqrt(max(polynomial_evaluate(own, degree, half * NODE), 0.0))
    line[0] = 0.5 * (before + behind)
    line[1] = (behind - before) / (2.0 * half * NODE)
    if polynomial_least(own, degree, -half, half, desk) < -floor:
        return FAR
    top = max(degree, 2)
    # The line raised by the tolerance lies above the root: its square is above the model.
    raised = line[0] + tolerance
    if raised - abs(line[1]) * half < 0.0:
        return FAR
    for k in range(top + 1):
        test[k] = -own[k] if k <= degree else 0.0
    test[0] += raised * raised
    test[1] += 2.0 * raised * line[1]
    test[2] += line[1] * line[1]
    if polynomial_least(test, top, -half, half, desk) < -SLACK * size:
        return FAR
    # The line lowered by it lies below, where it is above 0.
    lowered = line[0] - tolerance
    begin, end = -half, half
    if line[1] > 0.0:
        begin = max(begin, -lowered / line[1])
    elif line[1] < 0.0:
        end = min(end, -lowered / line[1])
    elif lowered <= 0.0:
        return NEAR
    if begin >= end:
        return NEAR
    for k in range(top + 1):
        test[k] = own[k] if k <= degree else 0.0
    test[0] -= lowered * lowered
    test[1] -= 2.0 * lowered * line[1]
    test[2] -= line[1] * line[1]
    return NEAR if polynomial_least(test, top, begin, end, desk) >= -SLACK * size else FAR


@inlined
def ratio_approximate(
    model: Floats, divisor: Floats, low: float, high: float, tolerance: float, desk: Tangents,
    line: Floats,
) -> int:  # fmt: skip
    """Find a line near a ratio in a cell; where the divisor is 0 there is none."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    own, other, test = desk.own, desk.other, desk.test
    degree = polynomial_degree(model, len(model) - 1)
    below = polynomial_degree(divisor, len(divisor) - 1)
    if below == 0 and divisor[0] == 0.0:
        return UNDEFINED
    polynomial_shift(model, degree, middle, own)
    polynomial_shift(divisor, below, middle, other)
    if other[0] < 0.0:
        for k in range(degree + 1):
            own[k] = -own[k]
        for k in range(below + 1):
            other[k] = -other[k]
    if polynomial_least(other, below, -half, half, desk) <= 0.0:
        return FAR
    here, there = -half * NODE, half * NODE
    before = polynomial_evaluate(own, degree, here) / polynomial_evaluate(other, below, here)
    behind = polynomial_evaluate(own, degree, there) / polynomial_evaluate(other, below, there)
    line[0] = 0.5 * (before + behind)
    line[1] = (behind - before) / (2.0 * half * NODE)
    top = max(degree, below + 1)
    size = polynomial_size(own, degree, half)
    for side in (1.0, -1.0):
        # With the tolerance added or taken away, line · divisor - model has one sign.
        for k in range(top + 1):
            test[k] = -side * own[k] if k <= degree else 0.0
        for k in range(below + 1):
            test[k] += (side * line[0] + tolerance) * other[k]
            test[k + 1] += side * line[1] * other[k]
        if polynomial_least(test, top, -half, half, desk) < -SLACK * size:
            return FAR
    return NEAR


@inlined
def cell_approximate(
    kinds: Ints, tolerances: Floats, models: Floats, divisors: Floats, low: float, high: float,
    desk: Tangents,
) -> int:  # fmt: skip
    """Find lines for all attributes in a cell."""
    verdict = NEAR
    for a in range(len(kinds)):
        found = NEAR
        if kinds[a] == SQRT:
            found = root_approximate(models[a], low, high, tolerances[a], desk, desk.lines[a])
        elif kinds[a] == RATIO:
            found = ratio_approximate(
                models[a], divisors[a], low, high, tolerances[a], desk, desk.lines[a]
            )
        if found == UNDEFINED:
            return UNDEFINED
        if found == FAR:
            verdict = FAR
            if high - low <= CELL_MIN and kinds[a] == RATIO:
                return UNDEFINED
    return NEAR if verdict == FAR and high - low <= CELL_MIN else verdict


@inlined
def signs_cut(kinds: Ints, models: Floats, low: float, high: float, desk: Tangents) -> int:
    """Write where absolute values turn, between the ends; count the stretches."""
    cuts = desk.cuts
    cuts[0] = low
    count = 1
    for a in range(len(kinds)):
        degree = polynomial_degree(models[a], models.shape[1] - 1)
        if kinds[a] != ABS or low == high:
            continue
        degree = polynomial_strip(models[a], degree, low, high)
        if degree <= 0:
            continue
        found = roots_find(
            models[a], degree, low, high, desk.roots, desk.signs, desk.chain, desk.turns
        )
        for k in range(found):
            at = count
            while at > 0 and cuts[at - 1] >= desk.roots[k]:
                cuts[at] = cuts[at - 1]
                at -= 1
            cuts[at] = desk.roots[k]
            count += 1
    cuts[count] = high
    return count


@inlined
def piece_write(
    kinds: Ints,
    models: Floats,
    desk: Tangents,
    low: float,
    high: float,
    middle: float,
    out: Floats,
) -> None:
    """Write the models of a piece."""
    width = models.shape[1]
    at = 0.5 * (low + high)
    for a in range(len(kinds)):
        turns = kinds[a] == ABS and polynomial_evaluate(models[a], width - 1, at) < 0.0
        for k in range(width):
            if kinds[a] == EXACT or kinds[a] == ABS:
                out[a, k] = -models[a, k] if turns else models[a, k]
            else:
                out[a, k] = 0.0
        if kinds[a] == SQRT or kinds[a] == RATIO:
            out[a, 0] = desk.lines[a, 0] - desk.lines[a, 1] * middle
            out[a, 1] = desk.lines[a, 1]


@tight
def models_approximate(
    kinds: Ints, tolerances: Floats, models: Floats, divisors: Floats, lows: Floats,
    highs: Floats, desk: Tangents, state: Ints, index: Ints, out_low: Floats, out_high: Floats,
    out: Floats,
) -> int:  # fmt: skip
    """Write the pieces of segments, from number state[0] on, until there is no room for one's own.

    Returns
    -------
    int
        How many pieces were written, all of those of the segments before state[0].
    """
    halves = False
    for a in range(len(kinds)):
        halves = halves or kinds[a] == SQRT or kinds[a] == RATIO
    done = 0
    stack = desk.stack
    for i in range(state[0], len(lows)):
        count = done
        stretches = signs_cut(kinds, models[i], lows[i], highs[i], desk)
        for s in range(stretches):
            low, high = desk.cuts[s], desk.cuts[s + 1]
            if low == high and lows[i] < highs[i]:
                continue
            cell = np.floor(low / CELL_MAX) * CELL_MAX
            while cell < high or cell <= low:
                depth = 1
                stack[0, 0], stack[0, 1] = cell, cell + CELL_MAX
                while depth > 0:
                    depth -= 1
                    begin, end = stack[depth, 0], stack[depth, 1]
                    if end <= low or (begin >= high and begin > low):
                        continue
                    verdict = NEAR
                    if halves:
                        verdict = cell_approximate(
                            kinds, tolerances, models[i], divisors[i], begin, end, desk
                        )
                    if verdict == UNDEFINED:
                        continue
                    middle = 0.5 * (begin + end)
                    if verdict == FAR:
                        stack[depth, 0], stack[depth, 1] = middle, end
                        stack[depth + 1, 0], stack[depth + 1, 1] = begin, middle
                        depth += 2
                        continue
                    if count == len(index):
                        state[0] = i
                        return done
                    index[count] = i
                    out_low[count] = max(begin, low) if halves else low
                    out_high[count] = min(end, high) if halves else high
                    piece_write(
                        kinds, models[i], desk, out_low[count], out_high[count], middle, out[count]
                    )
                    count += 1
                cell = high + CELL_MAX if not halves else cell + CELL_MAX
        done = count
    state[0] = len(lows)
    return done
