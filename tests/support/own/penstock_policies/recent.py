"""LRU, as somebody would write it in Python."""

from __future__ import annotations

import numpy as np

from penstock.operators.bounded.policies import Candidates, ScoredPolicy


class Recent(ScoredPolicy):
    """The row goes that was used longest ago."""

    name = "RECENT"

    def scores(self, candidates: Candidates, now: int) -> np.ndarray:
        return candidates.used
