"""Pairs that may come near each other: of those that stay apart nothing has to be made."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.compilation import inlined, tight
from penstock.kernels.near_pairs import Nearby
from penstock.kernels.segment_stores import MICRO, Came, Stored

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MARGIN = 1e-10
"""The share of what is squared that rounding, and what solvers neglect, stay below by far."""


@inlined
def pair_comes_near(
    one: Floats, own: float, other: Floats, others: float, axes: Ints, other_axes: Ints,
    limit: float, low: float, high: float,
) -> bool:  # fmt: skip
    """Say whether two lines may be nearer than a limit in [low, high]; sure where it denies that.

    Times are as in `near_find`. Whoever solves for the distance, rounded as it may be, finds
    nothing where this is denied.
    """
    apart, meets, moves, size = 0.0, 0.0, 0.0, 1.0
    span, latest = high - low, max(1.0, abs(low), abs(high))
    for axis in range(len(axes)):
        a, b = one[axes[axis]], other[other_axes[axis]]
        speed = a[1] - b[1]
        at, there = a[0] + a[1] * (own + low), b[0] + b[1] * (others + low)
        apart += (at - there) * (at - there)
        meets += (at - there) * speed
        moves += speed * speed
        reached = abs(at) + abs(there) + (abs(a[1]) + abs(b[1])) * latest
        size += reached * reached
    nearest = 0.0
    if meets < 0.0 < moves:
        nearest = min(-meets / moves, span)
    least = apart + (2.0 * meets + moves * nearest) * nearest
    return bool(least <= limit * limit * (1.0 + MARGIN) + MARGIN * size)


@tight
def pairs_stay(
    stored: Stored, came: Came, came_left: bool, near: Nearby, rows: Ints, slots: Ints, count: int
) -> int:
    """Keep, of pairs of what comes and what is stored, those that may come near; count them."""
    kept = 0
    axes, other_axes = near.left, near.right
    if not came_left:
        axes, other_axes = other_axes, axes
    for p in range(count):
        i, slot = rows[p], slots[p]
        reference = max(came.reference[i], stored.reference[slot])
        own = (reference - came.reference[i]) * MICRO
        other = (reference - stored.reference[slot]) * MICRO
        low = max(came.low[i] - own, stored.low[slot] - other)
        high = min(came.high[i] - own, stored.high[slot] - other)
        if pair_comes_near(
            came.models[i], own, stored.models[slot], other, axes, other_axes, near.limit,
            low, max(low, high),
        ):  # fmt: skip
            rows[kept], slots[kept] = i, slot
            kept += 1
    return kept
