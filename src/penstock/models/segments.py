"""Segments: models with their time ranges, as arrays.

Changes are weights. A segment with sign 1 says: from now on the model holds in this range; one with
sign -1 takes that back for its range (a tombstone), and has the coefficients and the serial of what
it takes back. The function of a key at an instant is the sum of what was said of it, so filters,
maps and joins pass signs on, and aggregates say again what changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt

from penstock.algebra.models import DEGREE_MAX
from penstock.vocabulary.batches import Flags, Floats, Ints

WIDTH = DEGREE_MAX + 1
"""How many coefficients a model has."""
Signs = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Segments:
    """Some segments; all arrays have their length.

    Time is counted in seconds after `reference`, an event time in microseconds. A segment holds in
    [low, high); where both are equal it is a point, and holds at that instant.
    """

    key: Ints
    """(n, key columns): a code for every value."""
    reference: Ints
    low: Floats
    high: Floats
    coefficients: Floats
    """(n, attributes, WIDTH): ascending powers of the seconds after `reference`."""
    sign: Signs
    serial: Ints
    """The number of the segment that it is a part of; what takes it back has the same."""

    def __len__(self) -> int:
        return len(self.reference)

    @property
    def points(self) -> Flags:
        """Which of them are points."""
        found: Flags = self.low == self.high
        return found

    @classmethod
    def none(cls, key: int, attributes: int) -> Self:
        """Give no segments, of so many key columns and attributes.

        >>> len(Segments.none(1, 2)), Segments.none(1, 2).coefficients.shape
        (0, (0, 2, 9))
        """
        return cls(
            np.empty((0, key), np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0),
            np.empty((0, attributes, WIDTH)), np.empty(0, np.int8), np.empty(0, np.int64),
        )  # fmt: skip

    def take(self, places: npt.NDArray[np.integer] | Flags) -> Self:
        """Give some of them."""
        flagged = places.dtype == np.bool_
        chosen = np.asarray(np.flatnonzero(places) if flagged else places, np.int64)
        return self.parts(chosen, self.low.take(chosen), self.high.take(chosen))

    def parts(self, places: npt.NDArray[np.integer], low: Floats, high: Floats) -> Self:
        """Give parts of some of them: from when to when each holds."""
        # Several times as fast as an index, where an element is a row or a matrix.
        return type(self)(
            self.key.take(places, axis=0), self.reference.take(places), low, high,
            self.coefficients.take(places, axis=0), self.sign.take(places),
            self.serial.take(places),
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Give all segments of some parts, one after the other."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))
