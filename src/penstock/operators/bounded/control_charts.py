"""Charts: whether a stream still is what its law says, key by key.

A contest of all families is dear. Between contests three measures of every key are watched: how far
it is from where its law expected it, how odd it is, and whether it follows the last one. Their
means over the last few keys are held against those of long before; when one leaves what is usual,
the chart rings, and a contest is due. What is usual is measured too: a stream that no law fits
rings no oftener than another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from penstock.kernels.law_fits import (
    AR1,
    CHART_WORDS,
    COUNTS,
    HISTOGRAM,
    MEASURED,
    MEASURES,
    SHORTS,
    WALK,
    charts_watch,
)
from penstock.operators.bounded.fitted_laws import FittedLaw
from penstock.operators.bounded.law_fits import Fitter
from penstock.vocabulary.batches import Floats, Ints

FAR = 100.0
"""Distances are counted up to so many deviations."""


class Charts:
    """One chart per stream, beside its fitter."""

    __slots__ = ("_begun", "_charts", "_fitters")

    def __init__(self, fitters: Sequence[Fitter]) -> None:
        self._fitters = fitters
        self._charts = np.zeros((len(fitters), CHART_WORDS))
        self._begun = [fitter.begun for fitter in fitters]

    def watch(self, streams: Ints, keys: Ints, ticks: Ints) -> int | None:
        """See arrivals, before their fitters do, to the end of the first tick that rings."""
        rests, marks = np.zeros((2, len(keys)))
        for stream, fitter in enumerate(self._fitters):
            own = np.flatnonzero(streams == stream)
            if fitter.begun is not None and len(own):
                rests[own], marks[own] = _measured(fitter, ticks[own], keys[own])
        rung = charts_watch(self._charts, streams, ticks, rests, marks, SHORTS)
        return None if rung < 0 else rung

    def settle(self) -> None:
        """Begin anew where a stream is another than before; what rang elsewhere is looked into."""
        for stream, fitter in enumerate(self._fitters):
            chart = self._charts[stream]
            if fitter.begun != self._begun[stream]:
                self._begun[stream] = fitter.begun
                chart[:] = 0.0
            else:
                chart[MEASURED:].reshape(MEASURES, -1)[:, 2::2] = 0.0

    def arrays(self) -> Floats:
        """Give the charts."""
        return self._charts.copy()

    def restore(self, charts: Floats) -> None:
        """Go on from charts, once the fitters do."""
        self._charts = np.array(charts, dtype=np.float64)
        self._begun = [fitter.begun for fitter in self._fitters]


def _measured(fitter: Fitter, ticks: Ints, keys: Ints) -> tuple[Floats, Floats]:
    """Give how far keys are from where their law expects them, and how odd they are by it."""
    assert fitter.fit is not None
    fitted = fitter.fit.fitted
    numbers = fitted.numbers
    if fitted.kind in (COUNTS, HISTOGRAM):
        return _chances(fitted, keys, fitter.numeric)
    steps = (keys - fitted.base) / fitted.unit
    if fitted.kind in (WALK, AR1):
        lasts = np.concatenate([[(fitter.last - fitted.base) / fitted.unit], steps[:-1]])
        pull, drift = ("phi1", "phi0") if fitted.kind == AR1 else ("", "drift")
        rests = steps - numbers.get(pull, 1.0) * lasts - numbers[drift]
    else:
        rests = steps - numbers.get("slope", 0.0) * ticks - numbers["intercept"]
    rests = np.clip(rests / fitted.spread, -FAR, FAR)
    return rests, np.abs(rests)


def _chances(fitted: FittedLaw, keys: Ints, numeric: bool) -> tuple[Floats, Floats]:
    """Measure keys by a law that is nothing but chances: odd is what is rare."""
    steps, rest = np.divmod(keys - fitted.base, fitted.unit)
    if fitted.kind == COUNTS:
        centres = fitted.keys.astype(np.float64)
        places = np.minimum(np.searchsorted(fitted.keys, steps), len(centres) - 1)
        known = (fitted.keys[places] == steps) & (rest == 0)
    else:
        first, width = fitted.keys.tolist()
        centres = first + width * (np.arange(len(fitted.masses)) + 0.5)
        places = (steps - first) // width
        known = (places >= 0) & (places < len(centres)) & (rest == 0)
        places = np.clip(places, 0, len(centres) - 1)
    chances = fitted.masses / fitted.masses.sum()
    # Logarithms are of the law, not of the keys: they do not depend on how keys are batched.
    odds = -np.log(chances)
    marks = np.where(known, odds[places], odds.max() + 1.0)
    if not numeric:
        return np.zeros(len(keys)), marks
    mean = float(chances @ centres)
    sigma = math.sqrt(float(chances @ (centres - mean) ** 2) + 1.0)
    return np.clip((steps - mean) / sigma, -FAR, FAR), marks
