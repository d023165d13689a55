"""A histogram of join keys, as the paper estimates how many rows a key has."""

from __future__ import annotations

import numpy as np

from penstock.vocabulary.batches import Floats, Ints


class KeyHistogram:
    """How many rows a join key has, as the paper estimates it: rows of its bucket per key in it.

    The engine does not need it: a run knows its own length.

    >>> KeyHistogram(np.array([1, 1, 1, 7]), 0, 9, buckets=2).read(np.array([3, 8])).tolist()
    [0.6, 0.2]
    """

    def __init__(self, keys: Ints, low: int, high: int, buckets: int = 100) -> None:
        self._edges = np.linspace(low, high + 1, buckets + 1)
        rows, _ = np.histogram(keys, self._edges)
        # Whole numbers in each bucket: the domain's values, not those that occur.
        values = np.diff(np.ceil(self._edges))
        self._means = rows / np.maximum(values, 1.0)

    def read(self, keys: Ints) -> Floats:
        """Estimate how many rows each key has."""
        places = np.searchsorted(self._edges, keys, side="right") - 1
        return np.asarray(self._means[np.clip(places, 0, len(self._means) - 1)])
