"""Curves: the function of one group as windows see it, with its gaps filled."""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomials import polynomial_degree, polynomial_evaluate
from penstock.kernels.segment_pieces import SAME, Course, Zones, models_equal
from penstock.kernels.segment_stores import INSTANT, MICRO, Stored, key_mix, keys_agree

FAIL, HOLD, ZERO = 0, 1, 2
"""What fills a gap: nothing, the last value before it, 0."""
JOINED = SAME * 1e-2
"""The share of a model by which neighbours may differ that windows take for one."""


@tight
def ranges_widen(
    stored: Stored, columns: Ints, asked: Zones, own: Ints, size: float, gap: int
) -> None:
    """Widen where segments changed to where windows may have changed, group by group.

    A gap that is filled begins with the segment before it and ends with the one behind it.
    """
    for g in range(len(asked.base)):
        begin, end = asked.begin[g], asked.end[g]
        before, behind = -np.inf, np.inf
        slot = stored.first[key_mix(asked.key[g], own) & np.uint64(len(stored.first) - 1)]
        while slot >= 0:
            if stored.alive[slot] and keys_agree(stored.key[slot], columns, asked.key[g], own):
                later = (stored.reference[slot] - asked.base[g]) * MICRO
                low, high = stored.low[slot] + later, stored.high[slot] + later
                if high <= begin + INSTANT:
                    before = max(before, high)
                if low >= end - INSTANT:
                    behind = min(behind, low)
            slot = stored.follower[slot]
        if gap != FAIL and begin - before < size:
            asked.begin[g] = min(begin, before)
        if gap != FAIL and behind - end < size:
            end = max(end, behind)
        asked.end[g] = end + size


@inlined
def curve_build(
    stored: Stored, base: int, slots: Ints, starts: Floats, found: int, size: float, gap: int,
    curve: Course, room: Floats,
) -> int:  # fmt: skip
    """Write the ranges of some slots as a curve, in order; give how many models it has."""
    width = stored.models.shape[2]
    count = 0
    run = 0
    for s in range(found):
        slot = slots[s]
        if stored.low[slot] == stored.high[slot]:
            continue
        origin = (stored.reference[slot] - base) * MICRO
        begin, end = starts[s], stored.high[slot] + origin
        model = stored.models[slot, 0]
        if count > 0:
            last = count - 1
            apart = begin - curve.end[last]
            if apart > INSTANT:
                if gap == FAIL or apart >= size:
                    run += 1
                else:
                    value = 0.0
                    if gap == HOLD:
                        degree = polynomial_degree(curve.models[last], width - 1)
                        at = curve.end[last] - curve.origin[last]
                        value = polynomial_evaluate(curve.models[last], degree, at)
                    curve.begin[count], curve.end[count] = curve.end[last], begin
                    curve.origin[count], curve.run[count] = curve.end[last], run
                    for k in range(width):
                        curve.models[count, k] = 0.0
                    curve.models[count, 0] = value
                    count += 1
            else:
                begin = curve.end[last]
                if end - begin <= INSTANT:
                    continue
                span = max(end - begin, begin - curve.begin[last])
                later = curve.origin[last] - origin
                if models_equal(model, later, curve.models[last], span, JOINED, room):
                    curve.end[last] = end
                    continue
        curve.begin[count], curve.end[count] = begin, end
        curve.origin[count], curve.run[count] = origin, run
        for k in range(width):
            curve.models[count, k] = model[k]
        count += 1
    return count
