"""Choosing between policies by how they did of late."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from penstock.operators.bounded.models import Floats, Ints
from penstock.vocabulary.batches import Flags

MARGIN = 0.005
"""Who takes over must have had so many more hits, in shares,"""
DEVIATIONS = 0.5
"""and so many roots of the hits more: what chance gives."""
FAVOUR = 1.0
"""So many roots of its hits are given to a policy that there are other reasons for."""


class Choice:
    """Hits of several policies over the same references, the latest counting most.

    >>> choice = Choice(("LFU", "LRU"), memory=1000.0)
    >>> choice.record([10, 30], 100)
    >>> choice.settle(np.array([True, True])), choice.names[choice.chosen]
    (True, 'LRU')
    >>> choice.record([20, 20], 100)
    >>> choice.settle(np.array([True, True]))
    False
    """

    __slots__ = ("_hits", "_memory", "_seen", "chosen", "names")

    def __init__(self, names: Sequence[str], *, memory: float) -> None:
        self.names = tuple(names)
        self.chosen = 0
        self._memory = memory
        self._hits: Floats = np.zeros(len(self.names))
        self._seen = 0.0

    def record(self, hits: Sequence[int] | Ints, references: int) -> None:
        """Count the hits that every policy had in so many references."""
        keep = math.exp(-references / self._memory)
        self._hits = keep * self._hits + np.asarray(hits, dtype=np.float64)
        self._seen = keep * self._seen + references

    def settle(self, able: Flags, favoured: int | None = None) -> bool:
        """Let another policy take over if it did clearly better; say whether one did.

        A policy that is not able to go on gives way to the best in any case. One that is favoured
        need not be better, and must be clearly worse to be left.
        """
        hits = np.where(able, self._hits, -1.0)
        if favoured is not None and able[favoured]:
            hits[favoured] += FAVOUR * math.sqrt(hits[favoured])
        best, now = int(np.argmax(hits)), hits[self.chosen]
        clear = now * (1.0 + MARGIN) + DEVIATIONS * math.sqrt(max(now, 0.0))
        if best == self.chosen or (able[self.chosen] and hits[best] <= clear):
            return False
        self.chosen = best
        return True

    @property
    def rates(self) -> dict[str, float]:
        """Hits per reference of late."""
        return {
            name: float(hits / self._seen) if self._seen else 0.0
            for name, hits in zip(self.names, self._hits, strict=True)
        }

    def arrays(self) -> dict[str, Floats]:
        """Give all that is known."""
        return {"hits": self._hits.copy(), "seen": np.array([self._seen, float(self.chosen)])}

    def restore(self, arrays: dict[str, Floats]) -> None:
        """Become the choice that `arrays` was asked of."""
        self._hits = np.array(arrays["hits"], dtype=np.float64)
        self._seen, self.chosen = float(arrays["seen"][0]), int(arrays["seen"][1])
