"""Held ranges: what was told with signs, added up to when answers hold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.vocabulary.batches import Flags, Ints

NEAR_US = 2
"""Answers that are so near each other are one: their ends are rounded."""


class HeldRanges(NamedTuple):
    """From when to when answers hold: the slot of the query, and microseconds."""

    slot: Ints
    starts: Ints
    ends: Ints


def held_ranges(
    slot: np.ndarray, key: Ints, starts: Ints, ends: Ints, sign: np.ndarray, until: int
) -> HeldRanges:
    """Add up what was told: give the longest ranges in which something is left, key by key.

    Nothing is counted behind `until`. Ranges that touch are one.

    >>> ranges = held_ranges(np.zeros(3, int), np.zeros(3, int), np.array([0, 5, 7]),
    ...     np.array([5, 9, 9]), np.array([1, 1, -1]), 100)
    >>> ranges.starts.tolist(), ranges.ends.tolist()
    ([0], [7])
    """
    here = starts <= until
    slot, key, starts, sign = slot[here], key[here], starts[here], sign[here].astype(np.int64)
    ends = np.minimum(ends[here], until)
    keys = int(key.max(initial=0)) + 1
    owner = slot.astype(np.int64) * keys + key
    points: Flags = starts == ends
    long = ~points
    moves = np.concatenate([owner[long], owner[long]])
    at = np.concatenate([starts[long], ends[long]])
    by = np.concatenate([sign[long], -sign[long]])
    of, low, high = _covered(moves, at, by)
    of_point, point, weight = _summed(owner[points], starts[points], sign[points])
    there = weight > 0
    of = np.concatenate([of, of_point[there]])
    low, high = (np.concatenate([own, point[there]]) for own in (low, high))
    of, low, high = _together(of, low, high)
    return HeldRanges(of // keys, low, high)


def _summed(owner: Ints, at: Ints, by: Ints) -> tuple[Ints, Ints, Ints]:
    """Add up what happens to an owner at one instant, in the order of owners and times."""
    order = np.lexsort((at, owner))
    owner, at, by = owner[order], at[order], by[order]
    first = np.ones(len(at), dtype=np.bool_)
    first[1:] = (owner[1:] != owner[:-1]) | (at[1:] != at[:-1])
    places = np.flatnonzero(first)
    total = np.add.reduceat(by, places) if len(by) else by
    return owner[places], at[places], total


def _covered(owner: Ints, at: Ints, by: Ints) -> tuple[Ints, Ints, Ints]:
    """Give the ranges in which sums are above zero."""
    owner, at, by = _summed(owner, at, by)
    after = np.cumsum(by) > 0
    before = np.concatenate([[False], after[:-1]])
    begins, ends = np.flatnonzero(after & ~before), np.flatnonzero(before & ~after)
    return owner[begins], at[begins], at[ends]


def _together(owner: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints, Ints]:
    """Make ranges of one owner that touch one."""
    if len(owner) == 0:
        return owner, low, high
    order = np.lexsort((high, low, owner))
    owner, low, high = owner[order], low[order], high[order]
    # A point may lie inside a range: what counts is the highest end of the owner so far. Instants
    # stand for themselves by their ranks, of which there are few however much time passes.
    _, rank = np.unique(owner, return_inverse=True)
    instants, end = np.unique(high, return_inverse=True)
    before = rank * len(instants)
    reached = instants[np.maximum.accumulate(end + before) - before]
    new = np.ones(len(owner), dtype=np.bool_)
    new[1:] = (owner[1:] != owner[:-1]) | (low[1:] > reached[:-1] + NEAR_US)
    begins = np.flatnonzero(new)
    ends = np.append(begins[1:], len(owner)) - 1
    return owner[begins], low[begins], reached[ends]
