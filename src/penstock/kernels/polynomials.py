"""Polynomials of time: values, signs, shifts, products, integrals and ranges of values.

A polynomial is an array of coefficients by ascending powers; of it, `degree + 1` are looked at. A
value that is no farther from 0 than the rounding of its evaluation has the sign 0: nobody can say
on which side it lies, and what touches 0 exactly is found with it.
"""

from __future__ import annotations

import numpy as np  # noqa: F401 - for the examples

from penstock.kernels.arrays import Floats
from penstock.kernels.compilation import inlined, tight

ROUNDING = 2.0**-50
"""For each power, the share of the sum of all |terms| that the rounding of a value stays below."""
NEGLIGIBLE = 1e-12
"""The share of its polynomial below which a leading term is noise."""


@inlined
def polynomial_degree(model: Floats, top: int) -> int:
    """Give the highest power up to `top` whose coefficient is not 0."""
    while top > 0 and model[top] == 0.0:
        top -= 1
    return top


@inlined
def polynomial_strip(model: Floats, top: int, low: float, high: float) -> int:
    """Give the degree without leading terms that are noise; -1 if a coefficient is not finite.

    Noise is a coefficient, times the power of the latest second of [low, high] (of 1, if that is
    more), of at most 1e-12 · max(1, the greatest |coefficient|).
    """
    greatest = 1.0
    spoilt = 0.0
    for k in range(top + 1):
        spoilt += model[k] * 0.0
        greatest = max(greatest, abs(model[k]))
    if spoilt != 0.0:
        return -1
    while top > 0 and model[top] == 0.0:
        top -= 1
    reach, powered = max(1.0, abs(low), abs(high)), 1.0
    for _ in range(top):
        powered *= reach
    while top > 0 and abs(model[top]) * powered <= NEGLIGIBLE * greatest:
        top -= 1
        powered /= reach
    return top


@inlined
def polynomial_evaluate(model: Floats, degree: int, at: float) -> float:
    """Give the value at an instant."""
    value = model[degree]
    for k in range(degree - 1, -1, -1):
        value = value * at + model[k]
    return float(value)


@inlined
def polynomial_slope(model: Floats, degree: int, at: float) -> float:
    """Give the value of the derivative at an instant."""
    slope = 0.0
    for k in range(degree, 0, -1):
        slope = slope * at + k * model[k]
    return float(slope)


@inlined
def polynomial_size(model: Floats, degree: int, at: float) -> float:
    """Give the sum of the absolute values of all terms at an instant."""
    size = abs(model[degree])
    for k in range(degree - 1, -1, -1):
        size = size * abs(at) + abs(model[k])
    return float(size)


@inlined
def polynomial_noise(model: Floats, degree: int, at: float) -> float:
    """Give what the rounding of a value at an instant stays below."""
    return ROUNDING * degree * polynomial_size(model, degree, at)


@inlined
def polynomial_sign(model: Floats, degree: int, at: float) -> int:
    """Give 1, -1, or, within rounding, 0."""
    value = polynomial_evaluate(model, degree, at)
    noise = polynomial_noise(model, degree, at)
    if value > noise:
        return 1
    return -1 if value < -noise else 0


@inlined
def polynomial_derive(model: Floats, degree: int, out: Floats) -> None:
    """Write the derivative, of one power less."""
    for k in range(degree):
        out[k] = (k + 1) * model[k + 1]
    if degree == 0:
        out[0] = 0.0


@inlined
def polynomial_integrate(model: Floats, degree: int, out: Floats) -> None:
    """Write the antiderivative that is 0 at 0, of one power more; `out` may not be `model`."""
    out[0] = 0.0
    for k in range(degree + 1):
        out[k + 1] = model[k] / (k + 1)


@inlined
def polynomial_shift(model: Floats, degree: int, later: float, out: Floats) -> None:
    """Write the polynomial of `s` that has at s what the model has at s + later.

    `out` may be `model`. It has the same degree.
    """
    for k in range(degree + 1):
        out[k] = model[k]
    for i in range(degree):
        for k in range(degree - 1, i - 1, -1):
            out[k] += later * out[k + 1]


@inlined
def polynomial_multiply(
    left: Floats, left_degree: int, right: Floats, right_degree: int, out: Floats
) -> int:
    """Write the product, into an array of its own; give its degree."""
    degree = left_degree + right_degree
    for k in range(degree + 1):
        out[k] = 0.0
    for i in range(left_degree + 1):
        for k in range(right_degree + 1):
            out[i + k] += left[i] * right[k]
    return degree


@tight
def polynomials_shift(models: Floats, later: Floats, out: Floats) -> None:
    """Shift the models (n, attributes, width) of segments, each by its own seconds; in place too.

    >>> models = np.array([[[1.0, 2.0, 3.0]]])
    >>> polynomials_shift(models, np.array([10.0]), models)
    >>> models.tolist()
    [[[321.0, 62.0, 3.0]]]
    """
    width = models.shape[2]
    for i in range(models.shape[0]):
        for a in range(models.shape[1]):
            degree = polynomial_degree(models[i, a], width - 1)
            polynomial_shift(models[i, a], degree, later[i], out[i, a])
            for k in range(degree + 1, width):
                out[i, a, k] = 0.0


@tight
def polynomials_evaluate(models: Floats, at: Floats, out: Floats) -> None:
    """Write the values (n, attributes) of the models of segments, each at its own instant."""
    width = models.shape[2]
    for i in range(models.shape[0]):
        for a in range(models.shape[1]):
            degree = polynomial_degree(models[i, a], width - 1)
            out[i, a] = polynomial_evaluate(models[i, a], degree, at[i])
