"""Systems of equalities: the instants at which several polynomials of time are 0 at once.

A system D · (1, t, t², …) = 0 has one unknown, yet its powers are solved for as if they were
independent: by the null space of D. A null vector is an instant only if its parts are the powers of
one number.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.polynomial_roots import roots_list
from penstock.kernels.polynomials import NEGLIGIBLE
from penstock.vocabulary.batches import Floats

RANK = 1e-10
"""The share of the greatest singular value below which one is 0."""
SAME = 1e-8
"""How far the parts of a null vector may be from the powers of one number, as a share."""


def equal_instants(rows: Floats, low: float, high: float) -> tuple[Floats, bool]:
    """Give the instants in [low, high) at which all rows are 0, ascending; or True: at all of them.

    `rows` are (equalities, coefficients). At a point, low and high are equal.

    >>> equal_instants(np.array([[-1.3, 1.0, 0.0], [-1.69, 0.0, 1.0]]), 0.0, 2.0)
    (array([1.3]), False)
    >>> equal_instants(np.array([[-1.3, 1.0, 0.0], [1.0, 0.0, 0.0]]), 0.0, 2.0)
    (array([], dtype=float64), False)
    """
    reach = max(1.0, abs(low), abs(high))
    # In units of the range's reach all powers are alike, and rows of any size weigh the same.
    scaled = np.atleast_2d(rows) * reach ** np.arange(np.shape(rows)[-1])
    sizes = np.abs(scaled).max(axis=1, initial=0.0)
    scaled = scaled[sizes > 0.0] / sizes[sizes > 0.0, None]
    if len(scaled) == 0:
        return np.empty(0), True
    degree = int(np.max(np.nonzero(np.abs(scaled).max(axis=0) > NEGLIGIBLE)[0]))
    scaled = scaled[:, : degree + 1]
    _, singular, right = np.linalg.svd(scaled)
    rank = int(np.sum(singular > RANK * singular[0]))
    if rank == degree + 1:
        return np.empty(0), False
    if rank == degree:
        found = _of_null_vector(right[-1])
    else:
        found = _of_rows(scaled, low / reach, high / reach)
    found = found * reach
    inside = (low <= found) & ((found < high) | ((low == high) & (found == low)))
    return found[inside], False


def _of_null_vector(vector: Floats) -> Floats:
    """Give the number whose powers a vector is a multiple of, or none."""
    if abs(vector[0]) <= RANK * np.abs(vector).max():
        return np.empty(0)
    powers = vector / vector[0]
    at = powers[1]
    meant = at ** np.arange(len(powers))
    if np.abs(powers - meant).max() > SAME * np.abs(meant).max():
        return np.empty(0)
    return np.array([at])


def _of_rows(rows: Floats, low: float, high: float) -> Floats:
    """Give the roots of the first row that are roots of all."""
    found: Floats | None = None
    for row in rows:
        degree = int(np.max(np.nonzero(np.abs(row) > NEGLIGIBLE)[0], initial=0))
        if degree == 0:
            return np.empty(0)
        if found is None:
            found, _ = roots_list(row, degree, low, max(high, float(np.nextafter(low, np.inf))))
        size = np.polynomial.polynomial.polyval(np.abs(found), np.abs(row))
        value = np.polynomial.polynomial.polyval(found, row)
        found = found[np.abs(value) <= RANK * size]
    return np.empty(0) if found is None else found
