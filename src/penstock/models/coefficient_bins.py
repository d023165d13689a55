"""Bins: boxes of coefficients, each with how many models lie in it and when they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt

from penstock.vocabulary.batches import Flags, Floats, Ints


@dataclass(frozen=True, slots=True)
class CoefficientBins:
    """Some bins of one attribute; all arrays have their length.

    The models of a bin are taken to be spread evenly over its box. They hold in [begins, ends),
    seconds after their segments began.
    """

    low: Floats
    """(n, coefficients): the lower corner of each box, by ascending powers of the seconds."""
    high: Floats
    frequency: Floats
    """How many segments; of a derived bin, how many are expected."""
    begins: Floats
    ends: Floats
    key: Ints
    """The code of the segments' key; 0 where keys are not told apart."""
    correction: Floats
    """The correction factor of a derived bin; 1 of one that was counted."""
    displacement: Floats
    """How far, on the mean, models of the bin lie from its bounding contour; NaN: nobody asked."""

    def __len__(self) -> int:
        return len(self.frequency)

    @property
    def width(self) -> int:
        """How many coefficients a model has."""
        return int(self.low.shape[1])

    @property
    def total(self) -> float:
        """How many segments there are in all."""
        return float(self.frequency.sum())

    @property
    def middle(self) -> Floats:
        """The model (n, coefficients) in the middle of each box."""
        found: Floats = (self.low + self.high) / 2
        return found

    @classmethod
    def of(
        cls,
        low: npt.ArrayLike,
        high: npt.ArrayLike,
        frequency: npt.ArrayLike,
        ends: npt.ArrayLike,
        *,
        begins: npt.ArrayLike = 0.0,
        key: npt.ArrayLike = 0,
    ) -> Self:
        """Give bins as they are counted.

        >>> bins = CoefficientBins.of([[100.0, -1.0]], [[110.0, 1.0]], [20], 10.0)
        >>> len(bins), bins.total, bins.middle.tolist(), bins.ends.tolist()
        (1, 20.0, [[105.0, 0.0]], [10.0])
        """
        corner = np.ascontiguousarray(low, np.float64)
        count = len(corner)
        return cls(
            corner, np.ascontiguousarray(high, np.float64),
            np.ascontiguousarray(frequency, np.float64), _every(begins, count),
            _every(ends, count), np.broadcast_to(np.asarray(key, np.int64), (count,)).copy(),
            np.ones(count), np.full(count, np.nan),
        )  # fmt: skip

    @classmethod
    def none(cls, width: int) -> Self:
        """Give no bins, of models with so many coefficients."""
        return cls.of(np.empty((0, width)), np.empty((0, width)), np.empty(0), 0.0)

    def take(self, places: npt.NDArray[np.integer] | Flags) -> Self:
        """Give some of them."""
        return type(self)(*(getattr(self, each.name)[places] for each in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Give all bins of some parts, one after the other."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))


def _every(value: npt.ArrayLike, count: int) -> Floats:
    return np.broadcast_to(np.asarray(value, np.float64), (count,)).copy()
