"""Slack of conditions: by how much rows must move at least before a condition holds somewhere.

At an instant, a test that does not hold is violated by the absolute value of its row; an AND by the
most that a term is, an OR by the least. The slack is the least violation in the range. It lies at
an end, at a root or a turning point of a row, or where two rows have equal absolute values: all of
these are tried.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.comparisons import sign_allowed
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.condition_solutions import (
    AND,
    OR,
    TRUE,
    Flags,
    Floats,
    Program,
    Room,
    tests_prepare,
)
from penstock.kernels.polynomial_roots import roots_find
from penstock.kernels.polynomials import (
    polynomial_derive,
    polynomial_evaluate,
    polynomial_noise,
    polynomial_strip,
)


@inlined
def violation_find(program: Program, room: Room, at: float, literal: bool) -> float:
    """Give by how much the tree is violated at an instant; `literal`: also by tests that hold."""
    values = room.values
    depth = 0
    for word in program.words:
        if word >= 0:
            row, degree = room.rows[word], room.degrees[word]
            value = np.inf
            if degree >= 0:
                value = polynomial_evaluate(row, degree, at)
                noise = polynomial_noise(row, degree, at)
                sign = 1 if value > noise else (-1 if value < -noise else 0)
                if sign == 0 or (not literal and sign_allowed(program.test_allows[word], sign)):
                    value = 0.0
            values[depth] = abs(value)
            depth += 1
        elif word == AND:
            depth -= 1
            values[depth - 1] = max(values[depth - 1], values[depth])
        elif word == OR:
            depth -= 1
            values[depth - 1] = min(values[depth - 1], values[depth])
        else:
            values[depth] = 0.0 if word == TRUE else np.inf
            depth += 1
    return float(values[0])


@inlined
def violation_least(
    program: Program, room: Room, row: Floats, top: int, low: float, high: float,
    least: float, literal: bool,
) -> float:  # fmt: skip
    """Give the least violation at the roots of a polynomial, or `least` if that is less."""
    degree = polynomial_strip(row, top, low, high)
    if degree < 1 or low == high:
        return least
    last = len(room.roots) - 1
    roots, signs = room.roots[last], room.signs[last]
    count = roots_find(row, degree, low, high, roots, signs, room.chain, room.turns)
    for k in range(count):
        least = min(least, violation_find(program, room, roots[k], literal))
    return least


@tight
def slacks_find(
    program: Program, room: Room, models: Floats, numbers: Floats, lows: Floats, highs: Floats,
    holds: Flags, literal: bool, out: Floats,
) -> None:  # fmt: skip
    """Write the slack of every segment; it is 0 where the condition holds somewhere."""
    tests = len(program.test_rows)
    row = room.product[0]
    for i in range(len(lows)):
        out[i] = 0.0
        if holds[i]:
            continue
        low, high = lows[i], highs[i]
        tests_prepare(program, room, models[i], numbers[i], low, high)
        least = violation_find(program, room, low, literal)
        least = min(least, violation_find(program, room, high, literal))
        for test in range(tests):
            for k in range(room.counts[test]):
                least = min(least, violation_find(program, room, room.roots[test, k], literal))
            degree = room.degrees[test]
            if degree > 1:
                polynomial_derive(room.rows[test], degree, row)
                least = violation_least(program, room, row, degree - 1, low, high, least, literal)
            for other in range(test):
                if degree < 0 or room.degrees[other] < 0:
                    continue
                top = max(degree, room.degrees[other])
                for sign in (1.0, -1.0):
                    for k in range(top + 1):
                        one = room.rows[test, k] if k <= degree else 0.0
                        two = room.rows[other, k] if k <= room.degrees[other] else 0.0
                        row[k] = one + sign * two
                    least = violation_least(program, room, row, top, low, high, least, literal)
        out[i] = least
