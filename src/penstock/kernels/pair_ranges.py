"""Ranges of pairs: pairs (query, event) put side by side by ranges of query numbers.

A reader of one query then looks at the pairs of one range. A full sort would serve it little better
and costs several times as much.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Ints, Rows
from penstock.kernels.compilation import kernel, tight


@kernel
def pairs_divide(query: Ints, event: Rows, ranges: int, to_query: Ints, to_event: Rows) -> None:
    """Write pairs to their targets by ranges of query numbers, at most `ranges`, stably."""
    low = query.min()
    width = np.uint64(query.max() - low)
    shift = np.uint64(0)
    while (width >> shift) >= np.uint64(ranges):
        shift += np.uint64(1)
    _pairs_place(query, event, low, shift, np.zeros(ranges, np.int64), to_query, to_event)


@tight
def _pairs_place(
    query: Ints, event: Rows, low: int, shift: np.uint64, place: Ints,
    to_query: Ints, to_event: Rows,
) -> None:  # fmt: skip
    for i in range(len(query)):
        place[np.uint64(query[i] - low) >> shift] += 1
    total = 0
    for number in range(len(place)):
        here = place[number]
        place[number] = total
        total += here
    for i in range(len(query)):
        own = np.uint64(query[i] - low) >> shift
        to_query[place[own]] = query[i]
        to_event[place[own]] = event[i]
        place[own] += 1
