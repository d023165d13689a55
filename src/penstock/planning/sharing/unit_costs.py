"""Unit costs that serve where none were measured, in seconds per segment.

As `penstock lab sharing-risk` calibrates them for filters, in batches of 2,000 segments of lines;
what plans are compared by are their ratios. Of the other stages it was measured how many times a
filter they cost, where a segment meets a few others; who measures its own stages knows better.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.models.sharing.workloads import ExpressionKind
from penstock.planning.sharing.statistics import UnitCosts

FILTER = UnitCosts(cover=6.3e-8, compensation=7.4e-8, union=6e-9, duplicates=6e-9, alone=5.6e-8)


def _times(times: float) -> UnitCosts:
    """Give the costs of a stage that costs so many times what a filter does."""
    return UnitCosts(
        cover=FILTER.cover * times, compensation=FILTER.compensation, union=FILTER.union,
        duplicates=FILTER.duplicates, alone=FILTER.alone * times,
    )  # fmt: skip


BUILT_IN: Mapping[ExpressionKind, UnitCosts] = {
    "filter": FILTER,
    "join": _times(3.0),
    "map": _times(0.5),
    "envelope": _times(4.0),
    "window": _times(7.0),
}
