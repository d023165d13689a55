"""Scores by the sum itself, and carried from tick to tick and from key to key.

Slow and for any law: what the tables of scores are checked against.
"""

from __future__ import annotations

import math

import numpy as np

from penstock.operators.bounded.laws import History, Law
from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.weightings import Exponential
from penstock.vocabulary.batches import Floats, Ints
from tests.oracle.bounded_curves import caching_curve, joining_curve, windowed_curve
from tests.support.laws import EPSILON, AnyWeighting, horizon_of

RENEWAL = 15.0
"""Errors grow by e^(1/alpha) per tick: after 15 alpha ticks by e^15, three million."""
EXACT = 1e-16
"""What a sum leaves out grows as an error does, so it leaves out nothing."""


def shifted_score(
    law: LinearTrend,
    weighting: Exponential,
    key: int,
    neighbour: int,
    score: float,
    now: int,
    *,
    caching: bool = False,
) -> float | None:
    """Give a key's score from that of a neighbour at the same tick; None where no tick fits.

    On a trend a key stands now as its neighbour stood, or will stand, when the trend was as far
    from it; the neighbour's score is carried to that tick.
    """
    ticks = (neighbour - key) / law.slope
    if ticks != math.floor(ticks):
        return None
    for step in range(int(abs(ticks))):
        if ticks > 0:
            mass = law.pmf(neighbour, 1, History(now=now + step))
            forward = lookup_forward if caching else score_forward
            score = forward(score, mass, 1.0 / weighting.shrink)
            if math.isnan(score):
                return None
        else:
            mass = law.pmf(neighbour, 1, History(now=now - step - 1))
            back = lookup_back if caching else score_back
            score = back(score, mass, weighting.shrink)
    return score


class IncrementalScores:
    """The scores of kept rows against one partner whose keys are independent of each other.

    >>> from penstock.operators.bounded.laws_noise import Uniform
    >>> trend = LinearTrend(slope=1, intercept=0, noise=Uniform(half_width=2))
    >>> scores = IncrementalScores(trend, Exponential(3.0))
    >>> scores.admit(4, History(now=3))
    >>> scores.advance(History(now=4))
    >>> direct = direct_score(trend, Exponential(3.0), 4, History(now=4))
    >>> abs(scores.scores.item() - direct) < 1e-9
    True
    """

    def __init__(self, law: Law, weighting: Exponential, *, caching: bool = False) -> None:
        if not law.is_independent:
            raise ValueError("keys that depend on each other cannot be carried; make a table")
        self._law = law
        self._weighting = weighting
        self._caching = caching
        self._since = 0
        self.keys: Ints = np.empty(0, dtype=np.int64)
        self.scores: Floats = np.empty(0)

    def admit(self, key: int, history: History) -> None:
        """Add a row at the end, by way of its nearest neighbour where that is less work."""
        score = self._beside(key, history)
        if score is None:
            score = self._direct(key, history)
        self.keys = np.append(self.keys, np.int64(key))
        self.scores = np.append(self.scores, score)

    def discard(self, place: int) -> None:
        """Take out a row by its place."""
        self.keys = np.delete(self.keys, place)
        self.scores = np.delete(self.scores, place)

    def advance(self, history: History) -> None:
        """Carry all scores to the tick of the history, the one after that of the last call."""
        before = History(now=history.now - 1, last=history.last)
        masses = self._law.masses(self.keys, 1, before)
        scores_advance(self.scores, masses, 1.0 / self._weighting.shrink, self._caching)
        self._since += 1
        is_due = self._since >= RENEWAL * self._weighting.alpha
        if is_due:
            self._since = 0
        for place in np.flatnonzero(np.isnan(self.scores) | is_due):
            self.scores[place] = self._direct(int(self.keys[place]), history)

    def _beside(self, key: int, history: History) -> float | None:
        law = self._law
        if not isinstance(law, LinearTrend) or law.slope == 0.0 or len(self.keys) == 0:
            return None
        place = int(np.argmin(np.abs(self.keys - key)))
        neighbour = int(self.keys[place])
        # Forwards the error grows; farther than an alpha the sum itself is better.
        if (neighbour - key) / law.slope > self._weighting.alpha:
            return None
        score = float(self.scores[place])
        return shifted_score(
            law, self._weighting, key, neighbour, score, history.now, caching=self._caching
        )

    def _direct(self, key: int, history: History) -> float:
        return direct_score(
            self._law,
            self._weighting,
            key,
            history,
            caching=self._caching,
            epsilon=EXACT,
        )


def curve_score(curve: Floats, weighting: AnyWeighting) -> float:
    """Give the score of a row from its curve.

    >>> from penstock.operators.bounded.weightings import Fixed
    >>> curve_score(np.array([0.5, 0.7, 0.8]), Fixed(2))
    0.7
    """
    return float(np.diff(curve, prepend=0.0) @ weighting.weights(len(curve)))


def direct_score(
    law: Law,
    weighting: AnyWeighting,
    key: int,
    history: History,
    *,
    caching: bool = False,
    remaining: int | None = None,
    epsilon: float = EPSILON,
) -> float:
    """Give the score of one key by the sum itself: slow, for any law and any weighting.

    `remaining` is how many ticks the row's window has left, `epsilon` what the sum may leave out.
    """
    horizon = horizon_of(weighting, epsilon)
    if remaining is not None:
        horizon = min(horizon, remaining)
        if remaining <= 0:
            return 0.0
    make = caching_curve if caching else joining_curve
    curve = make(law, key, horizon, history)
    if remaining is not None:
        curve = windowed_curve(curve, remaining)
    return curve_score(curve, weighting)


def score_forward(score: float, mass: float, growth: float) -> float:
    """Carry a joining score to the next tick, at which the key had the probability `mass`.

    `growth` is e^(1/alpha): so grows the rounding error at every step, hence the floor at 0.
    """
    return max(growth * score - mass, 0.0)


def score_back(score: float, mass: float, shrink: float) -> float:
    """Carry a joining score to the tick before: the stable direction. `shrink` is e^(-1/alpha)."""
    return shrink * (score + mass)


def lookup_forward(score: float, mass: float, growth: float) -> float:
    """Carry a caching score to the next tick; a certain reference leaves nothing to carry (NaN)."""
    if mass >= 1.0:
        return np.nan
    return max((growth * score - mass) / (1.0 - mass), 0.0)


def lookup_back(score: float, mass: float, shrink: float) -> float:
    """Carry a caching score to the tick before: the stable direction."""
    return shrink * (mass + (1.0 - mass) * score)


def scores_advance(scores: Floats, masses: Floats, growth: float, is_caching: bool) -> None:
    """Carry all scores to the next tick in place."""
    for i in range(len(scores)):
        if is_caching:
            scores[i] = lookup_forward(scores[i], masses[i], growth)
        else:
            scores[i] = score_forward(scores[i], masses[i], growth)
