"""Isolation of roots by the signs of Bernstein coefficients: quick, and sure where it answers.

In a range a polynomial is a mean of its Bernstein coefficients: where these have one sign there is
no root, and where their signs change once there is exactly one. Else the range is halved. Whoever
asks is told where rounding leaves a sign open, and has to look more closely: near double roots,
and roots at the ends.
"""

from __future__ import annotations

from penstock.kernels.arrays import Floats, Signs
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomials import ROUNDING, polynomial_shift, polynomial_size
from penstock.kernels.root_grids import BERNSTEIN, TERMS, grid_roots, root_polish

GRID_MIN = 3
"""From how many roots on a grid is tried."""
HALVINGS_MAX = 8
"""How often a range is halved: rounding adds up."""
OPEN = -1
"""What is said where rounding leaves open how often signs change."""


@inlined
def bernstein_write(
    model: Floats, degree: int, low: float, span: float, terms: Floats, out: Floats
) -> None:
    """Write a polynomial of the share of [low, low + span]: by its powers, and by Bernstein's."""
    if low == 0.0:  # Time is mostly counted from where a range begins.
        for k in range(degree + 1):
            terms[k] = model[k]
    else:
        polynomial_shift(model, degree, low, terms)
    power, share = 1.0, 1.0
    out[0] = terms[0]
    for k in range(1, degree + 1):
        power *= span
        share *= k / (degree - k + 1)
        terms[k] *= power
        out[k] = terms[k] * share
    for i in range(1, degree + 1):
        for k in range(degree, i - 1, -1):
            out[k] += out[k - 1]


@inlined
def bernstein_most(row: Floats, degree: int, noise: float) -> int:
    """Give how often the sign changes at most, whatever signs are within the noise.

    The ends are not within it. There are no more roots in the range.
    """
    changes, hidden = 0, 0
    before = row[0] > 0.0
    for k in range(1, degree + 1):
        if abs(row[k]) <= noise:
            hidden += 1
            continue
        sign = row[k] > 0.0
        changes += hidden + ((hidden + int(sign != before)) & 1)
        before = sign
        hidden = 0
    return changes


@inlined
def bernstein_changes(row: Floats, degree: int, noise: float) -> int:
    """Count the changes of sign, up to 2: 2 stands for more as well; OPEN if rounding hides one.

    The ends are not within the noise.
    """
    changes, hidden, is_open = 0, 0, False
    before = row[0] > 0.0
    for k in range(1, degree + 1):
        if abs(row[k]) <= noise:
            hidden += 1
            continue
        sign = row[k] > 0.0
        # What is hidden between different signs changes once, whatever its own sign is.
        is_open = is_open or (hidden > 0 and (sign == before or hidden > 1))
        changes += int(sign != before)
        before = sign
        hidden = 0
    if is_open and changes < 2:
        return OPEN
    return min(changes, 2)


@inlined
def bernstein_halve(row: Floats, degree: int, right: Floats) -> None:
    """Write the coefficients of the right half apart, and those of the left half in their place."""
    for i in range(degree, 0, -1):
        right[i] = row[degree]
        for k in range(degree, degree - i, -1):
            row[k] = 0.5 * (row[k] + row[k - 1])
    right[0] = row[degree]


@inlined
def bernstein_start(row: Floats, degree: int) -> float:
    """Give where the control polygon crosses 0, as a share of the range."""
    before = row[0] > 0.0
    for k in range(1, degree + 1):
        if (row[k] > 0.0) != before:
            share = row[k - 1] / (row[k - 1] - row[k])
            return float((k - 1 + share) / degree)
    return 0.5


@tight
def roots_isolate(
    model: Floats, degree: int, low: float, high: float, roots: Floats, signs: Signs,
    rows: Floats, starts: Floats,
) -> int:  # fmt: skip
    """Write the roots in (low, high) and the signs around them; -1 where that is not sure.

    `rows`, see `root_room`, and `starts` (degree + 2) are room: what is left to look at.
    """
    span = high - low
    noise = 4.0 * ROUNDING * degree * polynomial_size(model, degree, abs(low) + span)
    row = rows[BERNSTEIN]
    bernstein_write(model, degree, low, span, rows[TERMS], row)
    if not (abs(row[0]) > noise and abs(row[degree]) > noise):
        return -1
    signs[0] = 1 if row[0] > 0.0 else -1
    most = bernstein_most(row, degree, noise)
    if most >= GRID_MIN:
        count = grid_roots(model, degree, low, span, noise, most, roots, signs, rows)
        if count >= 0:
            return count
    return halves_search(model, degree, low, span, noise, roots, signs, rows, starts)


@inlined
def halves_search(
    model: Floats, degree: int, low: float, span: float, noise: float, roots: Floats, signs: Signs,
    rows: Floats, starts: Floats,
) -> int:  # fmt: skip
    """Write the roots as `roots_isolate` does, by halving the range of the Bernstein row."""
    row = rows[BERNSTEIN]
    count, waiting = 0, 0
    begin, end = 0.0, 1.0
    while True:
        changes = bernstein_changes(row, degree, noise)
        if 0 <= changes <= 1:
            if changes == 1:
                rising = row[degree] > 0.0
                one, two = low + span * begin, low + span * end
                at = one + (two - one) * bernstein_start(row, degree)
                found = root_polish(model, degree, one, two, rising, at)
                if count > 0 and found <= roots[count - 1]:
                    return -1
                roots[count] = found
                count += 1
                signs[count] = 1 if rising else -1
            if waiting == 0:
                return count
            begin = starts[waiting]
            for k in range(degree + 1):
                row[k] = rows[waiting, k]
            waiting -= 1
            end = starts[waiting] if waiting > 0 else 1.0
            continue
        if waiting + 1 >= min(degree, HALVINGS_MAX):
            return -1
        waiting += 1
        bernstein_halve(row, degree, rows[waiting])
        if not abs(row[degree]) > noise:
            return -1
        starts[waiting] = 0.5 * (begin + end)
        end = starts[waiting]
