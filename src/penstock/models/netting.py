"""Netting: what the changes of a batch come to, before they meet anything.

A model that is made and replaced in one batch is said twice: from its time on, and from the next
one's time on no more. Together that is one short segment. A join would meet both with everything
that the other side says of the time to come.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.models.segments import Segments


def netted(segments: Segments) -> Segments:
    """Shorten what is taken back again in the same batch; the sum at every instant stays.

    >>> from penstock.models.segments import WIDTH
    >>> key, zero = np.zeros((3, 1), np.int64), np.zeros(3)
    >>> changes = Segments(key, np.array([0, 0, 4]), np.array([0.0, 4.0, 0.0]),
    ...     np.array([10.0, 10.0, 10.0]), np.zeros((3, 1, WIDTH)), np.array([1, -1, 1], np.int8),
    ...     np.array([7, 7, 8]))
    >>> found = netted(changes)
    >>> found.low.tolist(), found.high.tolist(), found.serial.tolist()
    ([0.0, 0.0], [4.0, 10.0], [7, 8])
    """
    back = np.flatnonzero(segments.sign < 0)
    said = np.flatnonzero(segments.sign > 0)
    if not len(back) or not len(said):
        return segments
    order = said[np.argsort(segments.serial[said], kind="stable")]
    serials = segments.serial[order]
    place = np.searchsorted(serials, segments.serial[back])
    known = place < len(order)
    back, place = back[known], place[known]
    match = serials[place] == segments.serial[back]
    back, match_of = back[match], order[place[match]]
    # What is taken back up to the end shortens a segment; a part from its middle stays apart.
    fits = segments.high[back] == segments.high[match_of]
    back, match_of = back[fits], match_of[fits]
    high = segments.high.copy()
    high[match_of] = segments.low[back]
    kept = np.ones(len(segments), np.bool_)
    kept[back] = False
    kept[match_of[high[match_of] == segments.low[match_of]]] = False
    return replace(segments, high=high).take(kept)
