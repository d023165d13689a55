"""Unions: what several consumers have, each segment once, and who has which part of it.

Segments are the same if key, reference, models, sign and serial are: then one range may lie in
another. What is found on the range that they cover together holds for each of them inside its own;
where nothing is found, none of them has anything. What is said and what is taken back are never one
segment, so signs need no care.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from penstock.kernels.segment_unions import (
    FULL,
    MERGING,
    NONE,
    Hulls,
    hulls_add,
    ranges_merge,
)
from penstock.models.segments import WIDTH, Segments
from penstock.models.stores import came
from penstock.vocabulary.batches import Flags, Ints, Words


@dataclass(frozen=True, slots=True)
class United:
    """Segments of several consumers."""

    hulls: Segments
    """Each once, with the range that its members cover together."""
    marks: Words
    """(hulls, words): bit i of a row says whether consumer i has a member of the hull."""
    parts: Sequence[Segments]
    """The segments of every consumer."""
    members: Sequence[Ints]
    """By consumer: the hull of each of its segments."""

    def of(self, consumers: Sequence[int]) -> Flags:
        """Say which hulls have a member of one of some consumers, by place.

        >>> united([Segments.none(1, 1)]).of([0]).tolist()
        []
        """
        if len(consumers) == len(self.parts):
            return np.ones(len(self.hulls), np.bool_)  # Each has a member of somebody.
        mask = np.zeros(self.marks.shape[1], np.uint64)
        for each in consumers:
            mask[each >> 6] |= np.uint64(1 << (each & 63))
        return np.asarray((self.marks & mask).any(axis=1), np.bool_)

    def part(self, consumer: int, kept: Flags) -> Segments:
        """Give the segments of a consumer, by place, whose hulls are kept."""
        own = self.parts[consumer]
        flags = kept.take(self.members[consumer])
        return own if flags.all() else own.take(flags)


def united(parts: Sequence[Segments], powers: int = WIDTH) -> United:
    """Unite the segments of consumers, one part for each.

    Hulls come in the order in which their first members did: what is taken back behind what it
    takes back. Models have at most so many powers.
    """
    found = _hulls(parts, powers)
    if found is None:
        # One segment overlaps two that have nothing in common: give all three one range.
        found = _hulls(_widened(parts), powers)
    assert found is not None, "ranges of one origin are equal, or have nothing in common"
    hulls, marks, members = found
    return United(hulls, marks, parts, members)


def _hulls(parts: Sequence[Segments], powers: int) -> tuple[Segments, Words, list[Ints]] | None:
    """Give hulls, their marks, and by part the hull of each segment; None: hulls would merge."""
    # Mostly consumers have the same segments, or some of those that another one has.
    room = max(map(len, parts))
    made = [came(part) for part in parts]
    while True:
        hulls = _room(room, parts)
        members = [np.empty(len(part), np.int64) for part in parts]
        count = 0
        for consumer, (arrived, own) in enumerate(zip(made, members, strict=True)):
            bits = arrived.models.view(np.int64)
            count = hulls_add(hulls, count, arrived, bits, powers, consumer, own)
            if count < 0:
                break
        if count == MERGING:
            return None
        if count != FULL:
            break
        room = 4 * room
    found = Segments(
        hulls.key[:count], hulls.reference[:count], hulls.low[:count], hulls.high[:count],
        hulls.bits[:count].view(np.float64), hulls.sign[:count], hulls.serial[:count],
    )  # fmt: skip
    return found, hulls.marks[:count], members


def _room(size: int, parts: Sequence[Segments]) -> Hulls:
    """Make room for at least so many hulls."""
    slots = 1 << (2 * size).bit_length()
    total, attributes = slots // 2, parts[0].coefficients.shape[1]
    return Hulls(
        np.empty((total, parts[0].key.shape[1]), np.int64), np.empty(total, np.int64),
        np.empty(total), np.empty(total), np.empty((total, attributes, WIDTH), np.int64),
        np.empty(total, np.int8), np.empty(total, np.int64),
        np.zeros((total, (len(parts) + 63) // 64), np.uint64),
        np.full(slots, NONE, np.int64), np.empty(total, np.int64),
    )  # fmt: skip


def _widened(parts: Sequence[Segments]) -> list[Segments]:
    """Give every segment the range that those cover together which it overlaps, and they others."""
    every = Segments.joined(parts)
    bits = np.ascontiguousarray(every.coefficients).view(np.int64).reshape(len(every), -1)
    rows = np.column_stack([every.key, every.reference, every.sign, every.serial, bits])
    _, origin = np.unique(rows, axis=0, return_inverse=True)
    order = np.lexsort((-every.high, every.low, origin.reshape(-1)))
    low, high = np.empty(len(every)), np.empty(len(every))
    ranges_merge(order, origin.reshape(-1), every.low, every.high, low, high)
    every = replace(every, low=low, high=high)
    ends = np.cumsum([0, *(len(part) for part in parts)])
    return [every.take(np.arange(begin, end)) for begin, end in pairwise(ends)]
