"""What a tuple costs under each strategy of window joins."""

from __future__ import annotations

from dataclasses import dataclass
from math import log


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowConstants:
    """Nanoseconds per unit of work, output left out.

    With |Q| queries, n' of them accepting the tuple, m rows of its key, s of them in skylines:

    join
        `probe` m |Q|^(2/3)
    selection
        `hit` n' log m
    ssi
        `probe` s |Q|^(2/3) + `read` m
    hot
        the same with the hot queries, and selection with the scattered ones
    """

    probe: float = 8.0
    hit: float = 25.0
    read: float = 1.0


DEFAULTS = WindowConstants()
"""Chosen by hand from timings at 20,000 queries; not fitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSizes:
    """What a choice depends on, for the mean tuple of a batch.

    Attributes
    ----------
    queries, accepting
        How many stand, and how many accept the tuple.
    rows
        How many rows its key has.
    shared
        How many tuples of the batch have its key, and share what is read of it.
    groups, hot_groups, hot
        Stabbing groups of all queries, hot ones, and the queries in hot ones.
    """

    queries: float
    accepting: float
    rows: float
    shared: float
    groups: float
    hot_groups: float
    hot: float


def skyline_size(rows: float, groups: float) -> float:
    """Estimate how many rows skylines hold: each of two per group grows with a logarithm.

    >>> skyline_size(10.0, 30.0), round(skyline_size(100_000.0, 30.0))
    (10.0, 545)
    """
    return min(rows, 2 * groups * (1 + log(1 + rows / (groups + 1))))


def costs(constants: WindowConstants, sizes: WindowSizes) -> dict[str, float]:
    """Give the cost of each strategy, for the mean tuple.

    >>> few = WindowSizes(queries=1e5, accepting=10, rows=1e4, shared=1, groups=30, hot_groups=30,
    ...                   hot=1e5)
    >>> found = costs(DEFAULTS, few)
    >>> min(found, key=found.__getitem__)
    'selection'
    """

    def probing(points: float, queries: float) -> float:
        return constants.probe * points * float(queries ** (2 / 3))

    def stabbing(groups: float, queries: float) -> float:
        read = constants.read * sizes.rows / max(sizes.shared, 1)
        return probing(skyline_size(sizes.rows, groups), queries) + read

    deep = log(1 + max(sizes.rows, 1))
    scattered = sizes.accepting * (1 - sizes.hot / max(sizes.queries, 1))
    return {
        "join": probing(sizes.rows, sizes.queries),
        "selection": constants.hit * sizes.accepting * deep,
        "ssi": stabbing(sizes.groups, sizes.queries),
        "hot": stabbing(sizes.hot_groups, sizes.hot) + constants.hit * scattered * deep,
    }
