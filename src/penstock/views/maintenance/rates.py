"""Rates: how many changes of each table are expected per moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from penstock.vocabulary.batches import Floats, Ints

EWMA_WEIGHT = 0.02
"""How much the newest moment counts in a moving average, unless told."""


class RateEstimate(Protocol):
    """What is thought to come, learnt from what came."""

    def observe(self, come: Ints) -> None:
        """Take one moment's arrivals."""

    @property
    def rates(self) -> Floats:
        """Changes of each table per moment."""


class KnownRates:
    """Rates that are told, and never learnt."""

    def __init__(self, rates: Sequence[float]) -> None:
        self.rates = np.asarray(rates, np.float64)

    def observe(self, come: Ints) -> None:
        """Learn nothing."""


class MeanRates:
    """The mean of all moments since the beginning.

    >>> mean = MeanRates(1)
    >>> for come in (1, 3):
    ...     mean.observe(np.array([come]))
    >>> mean.rates.tolist()
    [2.0]
    """

    def __init__(self, tables: int) -> None:
        self._come = np.zeros(tables)
        self._moments = 0

    def observe(self, come: Ints) -> None:
        """Count one more moment."""
        self._come += come
        self._moments += 1

    @property
    def rates(self) -> Floats:
        """What came, over the moments in which it did."""
        return self._come / max(self._moments, 1)


class MovingRates:
    """A moving average, in which old moments count exponentially less.

    The weights of all moments seen sum to one, so that the first ones are not taken for silence.
    """

    def __init__(self, tables: int, weight: float = EWMA_WEIGHT) -> None:
        self._weight = weight
        self._sum = np.zeros(tables)
        self._weights = 0.0

    def observe(self, come: Ints) -> None:
        """Let one more moment count most."""
        self._sum += self._weight * (come - self._sum)
        self._weights += self._weight * (1.0 - self._weights)

    @property
    def rates(self) -> Floats:
        """The average."""
        return self._sum / max(self._weights, 1e-300)

    def to_json(self) -> dict[str, Any]:
        """Give what is known, to be remembered."""
        return {"sum": self._sum.tolist(), "weights": self._weights}

    def recall(self, known: Mapping[str, Any]) -> None:
        """Know again what was remembered."""
        self._sum = np.array(known["sum"], np.float64)
        self._weights = float(known["weights"])
