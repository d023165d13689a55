"""Standing segments: what a plan has said and not taken back, as far as it speaks of the future.

Who comes later begins with them, and what was predicted is found in them again.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from penstock.kernels.comparisons import LEFT_OUT
from penstock.kernels.model_tellings import segments_stay
from penstock.models.segments import Segments
from penstock.operators.shared.codec import Arrays
from penstock.vocabulary.batches import Flags, Ints

SECOND_US = 1_000_000
SEGMENTS_MAX = 1 << 22
"""Segments that are held at most; of more, those that end first are forgotten."""
FARTHEST_US = 1 << 62


def microseconds(reference: Ints, seconds: np.ndarray) -> Ints:
    """Give instants, which are seconds after a reference, in whole microseconds.

    >>> microseconds(np.array([1_000_000]), np.array([0.25])).tolist()
    [1250000]
    """
    ahead = np.clip(np.rint(seconds * SECOND_US), -FARTHEST_US, FARTHEST_US)
    found: Ints = np.clip(reference + ahead, -FARTHEST_US, FARTHEST_US).astype(np.int64)
    return found


def not_before(reference: Ints, seconds: np.ndarray) -> Ints:
    """Give the first whole microsecond that is not before an instant, but for rounding.

    So an instant that `<>` takes out of a range is in neither of its parts.

    >>> not_before(np.zeros(4, int), np.array([0.2499996, 0.25 - 1e-9, 0.25, 0.25 + 1e-9])).tolist()
    [250000, 250000, 250000, 250001]
    """
    ahead = seconds * SECOND_US
    rounding = np.maximum(0.5e6 * LEFT_OUT, 2.0**-50 * np.abs(ahead))
    ahead = np.clip(np.ceil(ahead - rounding), -FARTHEST_US, FARTHEST_US)
    found: Ints = np.clip(reference + ahead, -FARTHEST_US, FARTHEST_US).astype(np.int64)
    return found


def starts_of(segments: Segments) -> Ints:
    """Give when segments begin, in microseconds."""
    return microseconds(segments.reference, segments.low)


def ends_of(segments: Segments) -> Ints:
    """Give when segments end, in microseconds."""
    return microseconds(segments.reference, segments.high)


class StandingSegments:
    """Segments of the plan's output whose end has not come, each with its sign."""

    def __init__(self, key: int, attributes: int) -> None:
        self.segments = Segments.none(key, attributes)

    def __len__(self) -> int:
        return len(self.segments)

    def take(self, segments: Segments, now: int) -> int:
        """Take what the plan said, let go of what is over; give how many had no room."""
        if len(segments):
            self.segments = Segments.joined([self.segments, segments])
        held = self.segments
        if len(held) == 0:
            return 0
        stays = np.empty(len(held), dtype=np.bool_)
        if _stay(held, now, stays) < len(held):
            self.segments = held.take(np.flatnonzero(stays))
        lost = len(self.segments) - SEGMENTS_MAX
        if lost > 0:
            late = np.argsort(-ends_of(self.segments), kind="stable")[:SEGMENTS_MAX]
            self.segments = self.segments.take(np.sort(late))
        return max(lost, 0)

    def arrays(self) -> Arrays:
        """Give the segments for a snapshot."""
        return {each.name: getattr(self.segments, each.name) for each in fields(Segments)}

    def restore(self, arrays: Arrays) -> None:
        """Take what `arrays` gave."""
        self.segments = Segments(*(arrays[each.name] for each in fields(Segments)))


def _stay(held: Segments, now: int, stays: Flags) -> int:
    """Say which segments are left for the time from now on, and count them."""
    count, takers = len(held), int(np.count_nonzero(held.sign < 0))
    cells = 1 << (2 * takers).bit_length() if takers else 0
    high, models = np.ascontiguousarray(held.high), np.ascontiguousarray(held.coefficients)
    return segments_stay(
        np.ascontiguousarray(held.key), held.reference, held.low, high, high.view(np.int64),
        models.reshape(count, -1).view(np.int64), held.sign, held.serial, now,
        np.empty(cells, np.int64), np.empty((4, count if takers else 0), np.int64), stays,
    )  # fmt: skip
