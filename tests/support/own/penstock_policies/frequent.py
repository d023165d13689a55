"""A policy in Python that remembers: how often keys came, the latest counting most."""

from __future__ import annotations

import numpy as np

from penstock.operators.bounded.policies import Arrays, Candidates, ScoredPolicy

KEYS_MAX = 32


class Frequent(ScoredPolicy):
    """The row goes whose key came least often."""

    name = "FREQUENT"

    def __init__(self) -> None:
        self._counts: dict[int, float] = {}

    def see(self, streams: np.ndarray, keys: np.ndarray, now: int) -> None:
        for key in keys.tolist():
            self._counts[key] = self._counts.get(key, 0.0) + 1.0
        if len(self._counts) > KEYS_MAX:
            halves = {key: count / 2.0 for key, count in self._counts.items()}
            self._counts = {key: count for key, count in halves.items() if count >= 1.0}

    def scores(self, candidates: Candidates, now: int) -> np.ndarray:
        return np.array([self._counts.get(key, 0.0) for key in candidates.keys.tolist()])

    def arrays(self) -> Arrays:
        keys = sorted(self._counts)
        return {
            "keys": np.array(keys, dtype=np.int64),
            "counts": np.array([self._counts[key] for key in keys]),
        }

    def restore(self, arrays: Arrays) -> None:
        self._counts = dict(zip(arrays["keys"].tolist(), arrays["counts"].tolist(), strict=True))
