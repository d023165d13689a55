"""Zipf coverage: how many queries the largest groups hold, if sizes follow rank to a power."""

from __future__ import annotations

import numpy as np

from penstock.lab.report import Findings, Size, Table, at_most, chart

GROUPS = 5_000
EXPONENTS = (1.0, 1.05, 1.1, 1.15, 1.2)
TOPS = (1, 10, 50, 100, 200, 500, 1_000, 2_000, 5_000)
EXPECTED_AT_500 = {1.0: 74.7, 1.1: 82.5, 1.2: 88.6}
TOLERANCE = 0.1


def covered(exponent: float) -> dict[int, float]:
    """Give the share, in percent, of the queries that the top k groups hold, for some k.

    >>> round(covered(1.0)[500], 1)
    74.7
    """
    sizes = np.arange(1, GROUPS + 1, dtype=np.float64) ** -exponent
    shares = 100 * np.cumsum(sizes) / sizes.sum()
    return {top: float(shares[top - 1]) for top in TOPS}


def run(_size: Size) -> Findings:
    """Compute the shares; they are exact, so every size judges them."""
    shares = {exponent: covered(exponent) for exponent in EXPONENTS}
    yield from (
        at_most(
            f"distance from {expected} % at the top 500 groups, exponent {exponent}",
            abs(shares[exponent][500] - expected),
            TOLERANCE,
        )
        for exponent, expected in EXPECTED_AT_500.items()
    )
    yield Table(
        "queries held by the largest groups",
        ("top groups", *(f"exponent {e} (%)" for e in EXPONENTS)),
        [(top, *(shares[e][top] for e in EXPONENTS)) for top in TOPS],
    )
    yield chart(
        "A few hotspots hold most queries",
        "largest groups",
        "queries held (%)",
        {f"exponent {e}": (TOPS, list(shares[e].values())) for e in EXPONENTS},
        log="x",
    )
