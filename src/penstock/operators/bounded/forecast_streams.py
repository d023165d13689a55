"""Streams for forecasts: drawn from laws, as they would arrive, and what they need at most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.operators.bounded.caches import EVERY_OTHER
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.laws_independent import (
    NOTHING,
    HistogramLaw,
    LinearTrend,
    Stationary,
)
from penstock.operators.bounded.laws_markov import Ar1
from penstock.operators.bounded.spaced_laws import Spaced, bare
from penstock.vocabulary.batches import Flags, Ints

Windows = Sequence[float | None]

FORGETTING = 20.0
"""Times that an autoregression takes to fall to a third, after which nothing is left of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnArrivals:
    """Rows of streams in their order: where from, which key, at which tick."""

    streams: Ints
    keys: Ints
    ticks: Ints

    def part(self, first: int, until: int) -> DrawnArrivals:
        """Give the arrivals of the ticks from `first` on, without `until`."""
        low, high = np.searchsorted(self.ticks, [first, until])
        return DrawnArrivals(
            streams=self.streams[low:high], keys=self.keys[low:high], ticks=self.ticks[low:high]
        )

    def picked(self, flags: Flags) -> DrawnArrivals:
        """Give some of the arrivals."""
        return DrawnArrivals(
            streams=self.streams[flags], keys=self.keys[flags], ticks=self.ticks[flags]
        )

    def nows(self, count: int) -> Ints:
        """Give the measures of so many streams, which are ticks here."""
        return np.stack([self.ticks] * count, axis=1)


def moved(law: Law, now: int) -> Law:
    """Give the law whose tick 0 is this one's tick `now`."""
    if isinstance(law, Spaced):
        return replace(law, law=moved(law.law, now))
    return replace(law, intercept=law.mean(now)) if isinstance(law, LinearTrend) else law


def is_still(law: Law) -> bool:
    """Say whether a law never changes."""
    return isinstance(bare(law), Stationary | HistogramLaw)


def settling(law: Law) -> float:
    """Say after how many ticks a stream has forgotten where it was; infinite if it never does.

    Where it has, a run that is shorter by some factor, with as much less memory, shows the same.
    """
    inner = bare(law)
    if isinstance(inner, Ar1):
        return -FORGETTING / math.log(abs(inner.phi1))
    return 0.0 if is_still(law) else math.inf


def interleaved(rates: Sequence[float], ticks: int) -> tuple[Ints, Ints]:
    """Give streams and ticks of rows that come as evenly as their rates allow.

    In a tick one row comes for each stream there is: of two streams, two.

    >>> streams, ticks = interleaved((1.0, 1.0), 2)
    >>> streams.tolist(), ticks.tolist()
    ([0, 1, 0, 1], [0, 0, 1, 1])
    >>> interleaved((0.5, 1.0), 4)[0].tolist()
    [0, 1, 1, 0, 1, 1]
    >>> interleaved((1.0, 1.0, 1.0), 2)[0].tolist()
    [0, 1, 2, 0, 1, 2]
    """
    width = len(rates)
    total = min(sum(rates), float(width))
    places = np.arange(width * ticks + 1)
    comes = np.diff(np.floor(places * (total / width) + 1e-9)) > 0
    left = np.arange(int(comes.sum()))
    streams = np.full(len(left), width - 1, dtype=np.int64)
    for stream in range(width - 1):
        share = rates[stream] / max(sum(rates[stream:]), 1e-300)
        mine = np.diff(np.ceil(np.arange(len(left) + 1) * share - 1e-9)) > 0
        streams[left[mine]] = stream
        left = left[~mine]
    return streams, places[:-1][comes] // width


def drawn(laws: Sequence[Law], rates: Sequence[float], ticks: int, seed: int) -> DrawnArrivals:
    """Draw streams; the same seed gives the same rows."""
    streams, when = interleaved(rates, ticks)
    keys = np.empty(len(streams), dtype=np.int64)
    for stream, law in enumerate(laws):
        mine = np.flatnonzero(streams == stream)
        again = np.diff(when[mine], prepend=-1) == 0
        path = law.draw(ticks, np.random.default_rng([seed, stream]))
        found = path[when[mine]]
        if again.any() and bare(law).is_independent:
            other = law.draw(ticks, np.random.default_rng([seed, stream, 1]))
            found[again] = other[when[mine][again]]
        # What joins nothing must not join what joins nothing.
        found[found == NOTHING] = NOTHING + 1 + stream
        keys[mine] = found
    return DrawnArrivals(streams=streams, keys=keys, ticks=when)


def lives(laws: Sequence[Law], windows: Windows, joins: Flags = EVERY_OTHER) -> list[float]:
    """Give the ticks after which rows of each stream join no more; infinite if nothing says so.

    Windows say it, and trends of one slope: a row is dead once all its partners have passed its
    key. Without laws only windows are looked at.
    """
    windowed = [math.inf if window is None else window for window in windows]
    passed = _passed(laws, joins) if laws else [math.inf] * len(windowed)
    return [min(one, two) for one, two in zip(windowed, passed, strict=True)]


def rows_needed(
    laws: Sequence[Law], rates: Sequence[float], windows: Windows, joins: Flags = EVERY_OTHER
) -> int | None:
    """Give the rows that suffice for every result; None if there is no such number."""
    ticks = lives(laws, windows, joins)
    if not all(math.isfinite(life) for life in ticks):
        return None
    rows = sum(math.ceil(rate * life) + 1 for rate, life in zip(rates, ticks, strict=True))
    return max(rows, 1)


def _passed(laws: Sequence[Law], joins: Flags) -> list[float]:
    """Give the ticks after which rows of each stream are dead, infinite if nothing says so."""
    ends, slopes = [], []
    for law in laws:
        inner, unit = bare(law), law.unit if isinstance(law, Spaced) else 1
        if not isinstance(inner, LinearTrend):
            return [math.inf] * len(laws)
        mean = inner.mean(1) * unit + (law.base if isinstance(law, Spaced) else 0)
        low, high = sorted((unit * inner.noise.low, unit * inner.noise.high))
        ends.append((math.floor(mean) + low, math.ceil(mean) + high))
        slopes.append(inner.slope * unit)
    slope = slopes[0]
    if slope == 0.0 or any(abs(own - slope) > 1e-3 * abs(slope) for own in slopes):
        return [math.inf] * len(laws)
    if slope < 0.0:
        ends = [(-high, -low) for low, high in ends]
    return [
        max([0.0, *(ends[p][1] - ends[q][0] for q in np.flatnonzero(joins[p]))]) / abs(slope) + 1.0
        for p in range(len(laws))
    ]
