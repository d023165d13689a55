"""Polynomials whose roots are hard to find, and roots that are certified.

Run it for many more cases than tests have time for:
`python -m tests.support.hard_polynomials 100000 7`.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import numpy.typing as npt

from penstock.kernels.polynomial_roots import roots_list

Floats = npt.NDArray[np.float64]

DEGREE_MAX = 8
KINDS = (
    "dense", "double", "cluster", "ends", "wide", "whole", "offset", "tiny", "chebyshev", "inside",
    "pairs",
)  # fmt: skip
ZONE = 4.0
"""How many times the rounding of a value the value at a root may be."""
NEAR = 1e-12


def expanded(roots: Floats, factor: float) -> Floats:
    """Give the coefficients of a product of (t - root), ascending."""
    found = np.array([factor])
    for root in roots:
        found = np.convolve(found, [-root, 1.0])
    return found


def hard_polynomial(rng: np.random.Generator) -> tuple[str, Floats, float, float]:
    """Draw a kind, a polynomial that is no constant, and a range."""
    kind = KINDS[int(rng.integers(len(KINDS)))]
    degree = int(rng.integers(1, DEGREE_MAX + 1))
    low = float(rng.choice([0.0, 0.0, 1.0, -1.0, rng.uniform(-3, 3)]))
    high = low + float(rng.choice([1.0, 2.0, 10.0, 10.0 ** rng.uniform(-4, 4)]))
    roots = rng.uniform(low - 0.2 * (high - low), high + 0.2 * (high - low), degree)
    factor = float(rng.choice([1.0, -1.0, 10.0 ** rng.uniform(-6, 6)]))
    if kind == "dense":
        return kind, rng.normal(size=degree + 1), low, high
    if kind == "wide":
        signs = rng.choice([-1.0, 1.0], degree + 1)
        return kind, signs * 10.0 ** rng.uniform(-9, 9, degree + 1), low, high
    if kind == "double":
        roots[: degree // 2 * 2 : 2] = roots[1::2][: degree // 2]
    elif kind == "cluster":
        roots = roots[0] + rng.normal(size=degree) * 10.0 ** rng.uniform(-12, -1)
    elif kind == "ends":
        roots[0] = low
        roots[-1] = rng.choice([high, low, high - 1e-15, low + 1e-15])
    elif kind == "whole":
        roots = rng.integers(-3, 12, degree).astype(float)
        low, high = float(rng.integers(-3, 3)), float(rng.integers(4, 12))
        factor = float(rng.choice([1.0, -2.0, 3.0]))
    elif kind == "offset":
        low, high, roots = low + 1000.0, high + 1000.0, roots + 1000.0
    elif kind in {"inside", "pairs"}:
        roots = rng.uniform(low, high, degree)
        if kind == "pairs":
            near = (high - low) * 10.0 ** rng.uniform(-6, -1, degree // 2)
            roots[1::2] = roots[: degree // 2 * 2 : 2] + near
    elif kind == "tiny":
        roots *= 10.0 ** rng.uniform(-12, 0, degree)
    else:
        places = np.cos(np.pi * (np.arange(degree) + 0.5) / degree)
        roots = low + (high - low) * 0.5 * (places + 1.0)
    return kind, expanded(roots, factor), low, high


def found_roots(model: Floats, low: float, high: float) -> tuple[Floats, list[int]]:
    """Give the roots that the kernel finds, and the signs between them."""
    roots, signs = roots_list(model, len(model) - 1, low, high)
    return roots, [int(sign) for sign in signs]


def exact_value(model: Floats, at: Fraction | float) -> Fraction:
    """Give the exact value of a polynomial whose coefficients are what the numbers are."""
    value, at = Fraction(0), Fraction(at)
    for coefficient in model[::-1]:
        value = value * at + Fraction(float(coefficient))
    return value


def noise(model: Floats, at: float) -> float:
    """Give what a value cannot be told from 0 below."""
    size = sum(abs(c) * abs(at) ** k for k, c in enumerate(model.tolist()))
    return float(ZONE * 2.0**-50 * (len(model) - 1) * size)


def certified_roots(model: Floats) -> list[float]:
    """Give all real roots, proven and isolated by exact arithmetic."""
    exact = [Fraction(float(c)) for c in model]
    common = max(each.denominator for each in exact)
    whole = flint.fmpz_poly([int(each * common) for each in exact])
    proven: Any = whole.complex_roots()
    return sorted(float(root.real.mid()) for root, _ in proven if root.imag.is_zero())


def fault(model: Floats, low: float, high: float) -> str | None:
    """Say what is wrong with the roots that are found, or nothing."""
    roots, signs = found_roots(model, low, high)
    if not all(low <= r < high for r in roots) or not np.all(np.diff(roots) > 0):
        return f"not ascending in the range: {roots}"
    for root in roots.tolist():
        if abs(exact_value(model, root)) > noise(model, root):
            return f"{root} is no root"
    for proven in certified_roots(model):
        places = [*roots.tolist(), high]
        if low < proven < high and not any(_same(model, proven, place) for place in places):
            return f"{proven} is missed"
    cuts = [low, *roots.tolist(), high]
    for k, sign in enumerate(signs):
        for share in (0.1, 0.5, 0.9):
            at = cuts[k] + share * (cuts[k + 1] - cuts[k])
            value = exact_value(model, at)
            if value * sign <= 0 and abs(value) > noise(model, at) and cuts[k] < cuts[k + 1]:
                return f"the sign at {at} is not {sign}"
    return None


def _same(model: Floats, proven: float, root: float) -> bool:
    """Say whether two instants are one, but for rounding: close, or with no value between them."""
    if abs(proven - root) <= NEAR * abs(proven):
        return True
    return all(
        abs(exact_value(model, at)) <= noise(model, at)
        for at in np.linspace(proven, root, 7).tolist()
    )


def main() -> None:
    """Look for a fault in many cases."""
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    rng = np.random.default_rng(seed)
    proven = dict.fromkeys(KINDS, 0)
    cases = dict.fromkeys(KINDS, 0)
    faults = close = 0
    for _ in range(count):
        kind, model, low, high = hard_polynomial(rng)
        cases[kind] += 1
        found, _ = found_roots(model, low, high)
        for root in certified_roots(model):
            if low <= root < high:
                proven[kind] += 1
                close += bool(np.any(np.abs(found - root) <= NEAR * abs(root)))
        if told := fault(model, low, high):
            faults += 1
            if faults < 10:
                print(kind, [*model.tolist()], low, high, told)
    total = sum(proven.values())
    print(f"{count} polynomials, {total} certified roots, {faults} faults")
    print(f"{close} found to {NEAR} of themselves, the others to where no value is beyond rounding")
    print({kind: (cases[kind], proven[kind]) for kind in KINDS})


if __name__ == "__main__":
    main()
