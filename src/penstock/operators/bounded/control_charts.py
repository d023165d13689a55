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
    MEASURING_WORDS,
    SHORTS,
    WALK,
    charts_watch,
    keys_measure,
)
from penstock.operators.bounded.law_fits import Fitter
from penstock.vocabulary.batches import Floats, Ints

CHANCES = {COUNTS, HISTOGRAM}
"""Families that are nothing but chances of keys."""
FAR = 100.0
"""Distances are counted up to so many deviations."""


class Charts:
    """One chart per stream, beside its fitter."""

    def __init__(self, fitters: Sequence[Fitter]) -> None:
        self._fitters = fitters
        self._charts = np.zeros((len(fitters), CHART_WORDS))
        self._begun = [fitter.begun for fitter in fitters]

    def watch(self, streams: Ints, keys: Ints, ticks: Ints) -> int | None:
        """See arrivals, before their fitters do, to the end of the first tick that rings."""
        rests, marks = np.zeros((2, len(keys)))
        laws = np.array([_measuring(fitter) for fitter in self._fitters])
        keys_measure(laws, streams, keys, ticks, FAR, rests, marks)
        for stream, fitter in enumerate(self._fitters):
            if fitter.begun is not None and fitter.begun[1] in CHANCES:
                own = np.flatnonzero(streams == stream)
                rests[own], marks[own] = _chances(fitter, keys[own])
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


def _measuring(fitter: Fitter) -> list[float]:
    """Give the law by which keys are measured, as the words of the kernel that does it."""
    if fitter.begun is None or fitter.begun[1] in CHANCES:
        return [-1.0, *[0.0] * (MEASURING_WORDS - 1)]
    assert fitter.fit is not None
    fitted = fitter.fit.fitted
    base, unit, numbers = float(fitted.base), float(fitted.unit), fitted.numbers
    if fitted.kind in (WALK, AR1):
        pull, drift = ("phi1", "phi0") if fitted.kind == AR1 else ("", "drift")
        last = (fitter.last - fitted.base) / unit
        return [1.0, base, unit, numbers.get(pull, 1.0), numbers[drift], fitted.spread, last]
    slope, intercept = numbers.get("slope", 0.0), numbers["intercept"]
    return [0.0, base, unit, slope, intercept, fitted.spread, 0.0]


def _chances(fitter: Fitter, keys: Ints) -> tuple[Floats, Floats]:
    """Measure keys by a law that is nothing but chances: odd is what is rare."""
    assert fitter.fit is not None
    fitted = fitter.fit.fitted
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
    if not fitter.numeric:
        return np.zeros(len(keys)), marks
    mean = float(chances @ centres)
    sigma = math.sqrt(float(chances @ (centres - mean) ** 2) + 1.0)
    return np.clip((steps - mean) / sigma, -FAR, FAR), marks
