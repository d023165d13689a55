"""What a tuple costs under each strategy: coefficients times terms over its own estimates.

There are S rows on the probed side and Q queries, of which Qs are scattered and Qi are in hot group
i of G. The tuple joins m rows; n queries, of them ns scattered, have a range that holds its value.

    term      join      selection  scan     hot
    base      1         1          1        1
    data      log S     log S      log S    log S
    queries   -         log Q      -        log Qs
    matches   -         n log m    Q log m  ns log m
    probes    m sqrt Q  -          -        sum of sqrt Qi
    visits    m         n          Q        ns
    overlaps  m sqrt n  n log n    n log m  probes M / G
    hits      m n       -          -        H min(m, G) / G
    groups    -         -          -        M

H = n - ns hot queries accept the value. M = min(m, G) (1 - exp(-H / G)) hot groups, about, have a
row near and a query that accepts. Output is left out: it costs the same everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.operators.join.routing.constants import CHOICES, TERMS, WARM, CostConstants
from penstock.vocabulary.batches import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What is known at run time: rows, queries, scattered queries, hot groups, sum of roots."""

    rows: int
    queries: int
    scattered: int
    groups: int
    roots: float

    def drifted(self, since: Sizes, share: float) -> bool:
        """Say whether some size has changed by more than a share since.

        >>> before = Sizes(rows=100, queries=10, scattered=0, groups=1, roots=3.0)
        >>> before.drifted(before, 0.1)
        False
        """
        pairs = (
            (self.rows, since.rows),
            (self.queries, since.queries),
            (self.scattered, since.scattered),
            (self.roots, since.roots),
        )
        return any(abs(now - then) > share * max(then, 1) for now, then in pairs)


def terms(
    choice: str, sizes: Sizes, rows: Floats, accepted: Floats, scattered: Floats, shift: float
) -> Floats:
    """Give what a strategy's coefficients are multiplied with: one row per tuple.

    `rows`, `accepted` and `scattered` are the tuples' m', n' and n''.
    """
    ones, none = np.ones_like(rows), np.zeros_like(rows)
    run = np.log(shift + np.maximum(rows, 1.0))
    columns = {"base": ones, "data": ones * np.log(shift + max(sizes.rows, 1))}
    if choice == "join":
        columns["probes"] = rows * np.sqrt(sizes.queries)
        columns["visits"] = rows
        columns["overlaps"] = rows * np.sqrt(accepted)
        columns["hits"] = rows * accepted
    elif choice == "selection":
        columns["queries"] = ones * np.log(shift + max(sizes.queries, 1))
        columns["matches"] = accepted * run
        columns["visits"] = accepted
        columns["overlaps"] = accepted * np.log(1.0 + accepted)
    elif choice == "scan":
        columns["matches"] = sizes.queries * run
        columns["visits"] = ones * sizes.queries
        columns["overlaps"] = accepted * run
    else:
        groups = max(sizes.groups, 1)
        hot = np.maximum(accepted - scattered, 0.0)
        near = np.minimum(rows, sizes.groups)
        met = near * (1.0 - np.exp(-hot / groups))
        columns["queries"] = ones * np.log(shift + max(sizes.scattered, 1))
        columns["matches"] = scattered * run
        columns["probes"] = ones * sizes.roots
        columns["visits"] = scattered
        columns["overlaps"] = sizes.roots * met / groups
        columns["hits"] = hot * near / groups
        columns["groups"] = met
    return np.stack([columns.get(name, none) for name in TERMS], axis=1)


def costs(
    constants: CostConstants, sizes: Sizes, rows: Floats, accepted: Floats, scattered: Floats
) -> Floats:
    """Give the cost of each strategy (in the order of CHOICES) for each tuple.

    >>> from penstock.operators.join.routing.constants import PAPER
    >>> sizes = Sizes(rows=100_000, queries=100, scattered=100, groups=0, roots=0.0)
    >>> one = lambda value: np.array([value])
    >>> costs(PAPER, sizes, one(1000.0), one(60.0), one(60.0)).round(2).ravel().tolist()
    [43402.88, 696.26, 121.58, 810.35]
    """
    out = np.empty((len(CHOICES), len(rows)))
    for number, choice in enumerate(CHOICES):
        coefficients = constants.of(choice)
        weights = np.array([getattr(coefficients, name) for name in TERMS])
        out[number] = terms(choice, sizes, rows, accepted, scattered, constants.shift) @ weights
        out[number] *= coldness(coefficients.cold, sizes.queries)
    return out


def coldness(cold: float, queries: int) -> float:
    """Give what a cost is multiplied with where the queries no longer lie in the cache.

    >>> coldness(0.15, 50_000), coldness(0.15, 400_000)
    (1.0, 1.3)
    """
    return 1.0 + cold * math.log2(max(queries / WARM, 1.0))
