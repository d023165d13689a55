"""Curves: the results that a row may be expected to give within 1, 2, 3... ticks.

A curve decides without any weighting: a row whose curve lies nowhere below another's is the one to
keep, if keys of different ticks are independent given the history (Xie, Yang and Chen 2005,
theorem 1; for dependent keys it can fail).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.kernels.score_tables import passages_fill
from penstock.operators.bounded.laws import History, Law
from penstock.vocabulary.batches import Floats, Ints


def joining_curves(law: Law, keys: Ints, horizon: int, history: History) -> Floats:
    """Give a line per key: the expected results with the partner within 1 to `horizon` ticks.

    >>> from penstock.operators.bounded.laws_independent import Offline
    >>> partner = Offline(keys=np.array([0, 5, 7, 5]))
    >>> joining_curves(partner, np.array([5]), 4, History(now=0))
    array([[1., 1., 2., 2.]])
    """
    return np.cumsum(_masses(law, keys, horizon, history), axis=1)


def caching_curves(law: Law, keys: Ints, horizon: int, history: History) -> Floats:
    """Give a line per key: the chance of being referenced within 1 to `horizon` ticks."""
    masses = _masses(law, keys, horizon, history)
    if law.is_independent:
        survival = np.cumprod(1.0 - masses, axis=1).astype(np.float64)
        return 1.0 - survival
    # A stream that depends on its last key alone starts anew from every reference.
    for number, key in enumerate(keys):
        alone = np.array([key], dtype=np.int64)
        returning = _masses(law, alone, horizon, History(now=history.now, last=int(key)))
        firsts = np.empty(horizon)
        passages_fill(masses[number], returning[0], firsts)
        masses[number] = firsts
    return np.cumsum(masses, axis=1)


def joining_curve(law: Law, key: int, horizon: int, history: History) -> Floats:
    """Give the curve of one key."""
    found: Floats = joining_curves(law, np.array([key], dtype=np.int64), horizon, history)[0]
    return found


def caching_curve(law: Law, key: int, horizon: int, history: History) -> Floats:
    """Give the curve of one key."""
    found: Floats = caching_curves(law, np.array([key], dtype=np.int64), horizon, history)[0]
    return found


def windowed_curve(curve: Floats, remaining: int) -> Floats:
    """Give the curve of a row that leaves its window after `remaining` ticks.

    >>> windowed_curve(np.array([1.0, 2.0, 3.0]), 2)
    array([1., 2., 2.])
    """
    if remaining <= 0:
        return np.zeros(len(curve))
    found: Floats = np.minimum(curve, curve[min(remaining, len(curve)) - 1])
    return found


def dominates(upper: Floats, lower: Floats) -> bool:
    """Say whether a curve lies nowhere below another."""
    return bool(np.all(upper >= lower))


def strongly_dominates(upper: Floats, lower: Floats) -> bool:
    """Say whether a curve lies above another everywhere."""
    return bool(np.all(upper > lower))


def comparable(one: Floats, other: Floats) -> bool:
    """Say whether one of two curves dominates the other."""
    return dominates(one, other) or dominates(other, one)


def dominance(curves: Floats) -> np.typing.NDArray[np.bool_]:
    """Say for each pair of rows whether the first dominates; of equals, the earlier one does."""
    count = len(curves)
    found = np.empty((count, count), dtype=np.bool_)
    for number in range(count):
        found[number] = np.all(curves[number] >= curves, axis=1)
    equal = found & found.T
    found[equal & (np.arange(count)[:, None] > np.arange(count)[None, :])] = False
    return found


def dominated_subset(curves: Floats | Sequence[Floats], discards: int) -> list[int]:
    """Choose rows that are safe to discard, up to a number: all others dominate each of them.

    The curves must be constant beyond their last tick. Fewer rows than asked for may be safe.

    >>> dominated_subset(np.array([[2.0, 3.0], [0.0, 1.0], [1.0, 0.5]]), 1)
    []
    >>> dominated_subset(np.array([[2.0, 3.0], [0.0, 1.0], [1.0, 1.0]]), 2)
    [1, 2]
    """
    over = dominance(np.asarray(curves, dtype=np.float64))
    count = len(over)
    # A row that does not dominate v must go with v.
    must = ~over.T
    np.fill_diagonal(must, val=True)
    for middle in range(count):
        must |= must[:, middle : middle + 1] & must[middle : middle + 1, :]
    chosen: set[int] = set()
    for row in sorted(range(count), key=lambda row: (int(must[row].sum()), row)):
        together = chosen | {int(each) for each in np.flatnonzero(must[row])}
        if len(together) <= discards:
            chosen = together
    return sorted(chosen)


def uniform_category(
    is_narrow: bool, key: int, now: int, narrow: int, wide: int
) -> tuple[str, int, float]:
    """Place a row in the table for two streams with slope 1 and uniform noise.

    R is the stream with the half-width `narrow`, S the one with `wide`. Gives the category, the
    ticks until the partner has passed the key, and the rate of results meanwhile.
    """
    half = wide if is_narrow else narrow
    left = key - (now - half)
    rate = 1.0 / (2 * half + 1)
    if left <= 0:
        return ("R1" if is_narrow else "S1"), left, 0.0
    if is_narrow:
        return "R2", left, rate
    return ("S2" if key <= now + narrow + 1 else "S3"), left, rate


def uniform_curve(
    is_narrow: bool, key: int, now: int, narrow: int, wide: int, horizon: int
) -> Floats:
    """Give the curve of such a row in closed form."""
    category, left, rate = uniform_category(is_narrow, key, now, narrow, wide)
    ticks = np.arange(1, horizon + 1)
    earned = np.minimum(ticks, max(left, 0))
    if category == "S3":
        wait = key - (now + narrow)
        earned = np.clip(ticks, wait - 1, left) - wait + 1
    return rate * earned.astype(np.float64)


def uniform_lookup_curve(key: int, mean: Sequence[int], half_width: int, horizon: int) -> Floats:
    """Give the caching curve for a trend that never falls, with uniform noise, in closed form.

    `mean[n]` is the trend n ticks from now; the key lies within the noise or behind it, since
    larger ones cannot have been seen.
    """
    passed = (n for n in range(len(mean)) if key < mean[n] - half_width)
    left = next(passed, len(mean))
    ticks = np.minimum(np.arange(1, horizon + 1), max(left - 1, 0))
    found: Floats = 1.0 - (1.0 - 1.0 / (2 * half_width + 1)) ** ticks
    return found


def _masses(law: Law, keys: Ints, horizon: int, history: History) -> Floats:
    lines = [law.masses(keys, ahead, history) for ahead in range(1, horizon + 1)]
    return np.ascontiguousarray(np.array(lines).T)
