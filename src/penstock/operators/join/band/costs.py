"""What a tuple costs under each strategy of band joins."""

from __future__ import annotations

from dataclasses import dataclass
from math import log


@dataclass(frozen=True, slots=True, kw_only=True)
class BandConstants:
    """Nanoseconds per unit of work, output left out.

    With |Q| queries, |S| rows and t groups:

    queries
        `scan` |Q| log |S|
    data
        `probe` |S| log |Q|
    merge
        `step` min(|S|, |Q|) + `range_` |Q|: the merge gallops over the longer side
    ssi
        `group` t log |S|
    hot
        `group` |hot groups| log |S|, and merge on the scattered queries
    """

    scan: float = 2.0
    probe: float = 3.0
    step: float = 6.0
    range_: float = 2.0
    group: float = 0.6


DEFAULTS = BandConstants()
"""Chosen by hand from timings, to a factor of about two; not fitted."""


def costs(
    constants: BandConstants, queries: int, rows: int, groups: int, hot: int, scattered: int
) -> dict[str, float]:
    """Give the cost of each strategy, for a tuple.

    >>> found = costs(DEFAULTS, queries=100_000, rows=100_000, groups=60, hot=60, scattered=0)
    >>> min(found, key=found.__getitem__)
    'ssi'
    """

    def merge(ranges: int) -> float:
        return constants.step * min(rows, ranges) + constants.range_ * ranges

    deep = log(1 + max(rows, 1))
    return {
        "ssi": constants.group * groups * deep,
        "hot": constants.group * hot * deep + merge(scattered),
        "merge": merge(queries),
        "queries": constants.scan * queries * deep,
        "data": constants.probe * rows * log(1 + max(queries, 1)),
    }
