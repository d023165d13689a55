"""A policy that discards dominated rows first: what HEEB must agree with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.operators.bounded.laws import History, Law
from penstock.operators.bounded.policies import Candidates, SteppedPolicy
from penstock.operators.bounded.weightings import Weighting
from penstock.vocabulary.batches import Ints
from tests.oracle.bounded_curves import dominated_subset, joining_curve
from tests.oracle.bounded_scores import direct_score


@dataclass(frozen=True, slots=True, kw_only=True)
class DominanceHeeb(SteppedPolicy):
    """Discard what is safe to discard, the dominated rows; HEEB decides on the rest.

    Two streams, independent over time; curves are compared up to `horizon` ticks ahead, beyond
    which they must be constant.
    """

    name: ClassVar[str] = "DOMINANCE+HEEB"
    laws: tuple[Law, Law]
    weighting: Weighting
    horizon: int

    def choose_victims(self, candidates: Candidates, count: int, now: int) -> Ints:
        """Name the dominated candidates, then those with the lowest scores."""
        history = History(now)
        partners = [self.laws[1 - stream] for stream in candidates.streams.tolist()]
        keys = candidates.keys.tolist()
        curves = np.stack(
            [
                joining_curve(partner, key, self.horizon, history)
                for partner, key in zip(partners, keys, strict=True)
            ]
        )
        safe = list(dominated_subset(curves, count))
        scores = np.array(
            [
                direct_score(partner, self.weighting, key, history)
                for partner, key in zip(partners, keys, strict=True)
            ]
        )
        scores[safe] = -1.0
        return np.argsort(scores, kind="stable")[:count]
