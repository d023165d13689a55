"""Approaches: which pairs will come near each other within a horizon, and what came of it.

At many moments, what is known then says which pairs will be near: the models that stand under a
bound, the velocity that everybody told last, or the last two positions. What then happened is read
off the recorded positions, joined by straight lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.algebra.models import ModelComparison, ModelJoin, ModelStage
from penstock.lab.models.queries import polynomial
from penstock.lab.models.sources import motion_rows, segmented, straight_motion
from penstock.lab.models.workload import SECOND, Motion
from penstock.lab.report import Chart, Table, chart, curves_of
from penstock.lab.timing import say
from penstock.models.plans import SegmentPlan
from penstock.models.segments import WIDTH, Segments
from penstock.models.tolerances import SourceTolerances

SILENT_US = 60 * SECOND
"""Who was silent for so long is not asked about, and is not in the truth."""
HELD_FOR = 3
TOLD, POINTS = "velocity told", "last two points"
EARLY = "told before (s, mean)"

Pairs = Mapping[tuple[int, int], float]
"""Pairs, and the seconds until they are near."""
Score = Mapping[str, float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingModels:
    """Models that stand: how far rows may be off, in metres and, if at all, in metres a second."""

    metres: float
    speed: float | None = None

    @property
    def name(self) -> str:
        """What it is called in reports."""
        speed = "" if self.speed is None else f", {self.speed:g} m/s"
        return f"models, {self.metres:g} m{speed}"

    def segments(self, motion: Motion, horizon_us: int) -> Segments:
        """Make all segments of a stream; those that stand are the newest at a moment."""
        axes = "xy" if self.speed is None else "xyuv"
        bounds = [self.metres] * 2 + ([] if self.speed is None else [self.speed] * 2)
        _, made = segmented(
            straight_motion(horizon_us, axes), SourceTolerances.absolute(*bounds),
            motion_rows(motion, axes),
        )  # fmt: skip
        made = replace(made, coefficients=np.ascontiguousarray(made.coefficients[:, :2]))
        return made.take(made.sign > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Approaches:
    """A stream, and what is asked of it."""

    motion: Motion
    near_m: float
    horizons: Sequence[int]
    """Seconds."""
    moments: Sequence[int]
    standing: Sequence[StandingModels]

    @property
    def _holds_us(self) -> int:
        """How long models hold: one that has stood for a while still says all that is asked."""
        return HELD_FOR * max(self.horizons) * SECOND

    def plan(self) -> ModelStage:
        """Pairs while they are near each other."""
        apart = polynomial(
            (1.0, (2, 0, 0, 0)), (-2.0, (1, 0, 1, 0)), (1.0, (0, 0, 2, 0)),
            (1.0, (0, 2, 0, 0)), (-2.0, (0, 1, 0, 1)), (1.0, (0, 0, 0, 2)),
            (-(self.near_m**2), (0, 0, 0, 0)),
        )  # fmt: skip
        both = straight_motion(self._holds_us)
        return ModelJoin(
            left=both, right=both, unequal=((0, 0),),
            condition=ModelComparison(polynomial=apart, comparator="<"),
        )  # fmt: skip

    def scores(self) -> list[dict[str, float | str]]:
        """Predict at all moments, in all ways; say how good that was."""
        motion = self.motion
        tallies: dict[tuple[str, int], np.ndarray] = {}
        made = {own.name: own.segments(motion, self._holds_us) for own in self.standing}
        for place, moment in enumerate(self.moments):
            if place % 50 == 0:
                say(f"approaches: moment {place:,} of {len(self.moments):,}")
            there = _present(motion, moment)
            lines = self._lines(moment, there)
            asked = lines[POINTS].key[:, 0]
            sides = {name: _standing(own, asked, moment) for name, own in made.items()} | lines
            told = {name: self._predicted(own, moment) for name, own in sides.items()}
            true = self._truth(there, moment)
            for horizon in self.horizons:
                for name, own in told.items():
                    _count(tallies, (name, horizon), _within(own, horizon), _within(true, horizon))
        return [_score(name, horizon, tally) for (name, horizon), tally in tallies.items()]

    def _lines(self, moment: int, there: np.ndarray) -> dict[str, Segments]:
        """Give what rows say at a moment: a line for everybody who is there."""
        motion = self.motion
        known = motion.at <= moment
        newest = _newest(motion, known, there)
        before = _newest(motion, known & ~np.isin(np.arange(len(motion)), newest), there)
        newest = newest[np.isin(motion.key[newest], motion.key[before])]
        older = before[np.searchsorted(motion.key[before], motion.key[newest])]
        span = np.maximum((motion.at[newest] - motion.at[older]) / SECOND, 1e-3)
        vx, vy = ((own[newest] - own[older]) / span for own in (motion.x, motion.y))
        return {
            TOLD: self._line(newest, motion.vx[newest], motion.vy[newest], moment),
            POINTS: self._line(newest, vx, vy, moment),
        }

    def _line(self, places: np.ndarray, vx: np.ndarray, vy: np.ndarray, moment: int) -> Segments:
        motion = self.motion
        coefficients = np.zeros((len(places), 2, WIDTH))
        coefficients[:, 0, 0], coefficients[:, 0, 1] = motion.x[places], vx
        coefficients[:, 1, 0], coefficients[:, 1, 1] = motion.y[places], vy
        since = (moment - motion.at[places]) / SECOND
        return Segments(
            motion.key[places][:, None].copy(), motion.at[places].copy(), since,
            since + self._holds_us / SECOND, coefficients, np.ones(len(places), np.int8),
            np.arange(len(places)),
        )  # fmt: skip

    def _truth(self, there: np.ndarray, moment: int) -> Pairs:
        """Say which pairs were near within the farthest horizon, by positions at every second."""
        motion, farthest = self.motion, max(self.horizons)
        seconds = moment + np.arange(farthest + 1) * SECOND
        tracks = np.full((len(there), 2, len(seconds)), np.nan)
        lately = np.flatnonzero(np.abs(motion.at - moment) <= (farthest + 120) * SECOND)
        for place, key in enumerate(there.tolist()):
            mine = lately[motion.key[lately] == key]
            at = motion.at[mine]
            inside = seconds <= at[-1]
            for axis, own in enumerate((motion.x[mine], motion.y[mine])):
                tracks[place, axis, inside] = np.interp(seconds[inside], at, own)
        found: dict[tuple[int, int], float] = {}
        for left in range(len(there)):
            apart = np.hypot(*(tracks[left + 1 :] - tracks[left]).transpose(1, 0, 2))
            is_near = apart < self.near_m
            for right in np.flatnonzero(is_near.any(1)).tolist():
                pair = int(there[left]), int(there[left + 1 + right])
                found[pair] = float(is_near[right].argmax())
        return found

    def _predicted(self, standing: Segments, moment: int) -> Pairs:
        """Say which pairs models let come near, and when."""
        plan = SegmentPlan(self.plan())
        plan.push(0, standing)
        found = plan.push(1, standing)
        begins = (found.reference - moment) / SECOND + found.low
        told: dict[tuple[int, int], float] = {}
        for (left, right), start in zip(found.key.tolist(), begins.tolist(), strict=True):
            if left < right:
                pair = left, right
                told[pair] = min(told.get(pair, np.inf), max(start, 0.0))
        return told


def drawn_moments(
    motion: Motion, count: int, ahead_s: int, chance: np.random.Generator
) -> list[int]:
    """Draw moments that have ten minutes before them and a horizon behind them."""
    first, last = int(motion.at[0]) + 600 * SECOND, int(motion.at[-1]) - ahead_s * SECOND
    return sorted(chance.integers(first, last, count).tolist())


def drawn_scores(title: str, scores: Sequence[Score]) -> Iterator[Table | Chart]:
    """Give scores as a table, and drawn against the horizon: how good, and how early."""
    yield Table.of(title, [dict(each) for each in scores])
    for what in ("precision", "recall", "F1", EARLY):
        drawn = curves_of((str(s["by"]), float(s["horizon (s)"]), float(s[what])) for s in scores)
        yield chart(title, "horizon (s)", what, drawn)


def mean_f1(scores: Sequence[Score], name: str) -> float:
    """Give the mean of F1 over all horizons."""
    return float(np.mean([float(each["F1"]) for each in scores if each["by"] == name]))


def _within(pairs: Pairs, horizon: int) -> Pairs:
    return {pair: start for pair, start in pairs.items() if start <= horizon}


def _standing(made: Segments, asked: np.ndarray, moment: int) -> Segments:
    """Give what stands at a moment of those who are asked about, from then on."""
    known = np.flatnonzero((made.reference <= moment) & np.isin(made.key[:, 0], asked))
    _, first = np.unique(made.key[known[::-1], 0], return_index=True)
    standing = made.take(known[::-1][first])
    since = (moment - standing.reference) / SECOND
    standing = replace(standing, low=np.maximum(standing.low, since))
    return standing.take(standing.low < standing.high)


def _newest(motion: Motion, known: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Give the newest row of everybody who is there, by key."""
    places = np.flatnonzero(known)[::-1]
    keys, first = np.unique(motion.key[places], return_index=True)
    chosen = places[first]
    return chosen[np.isin(keys, there)]


def _present(motion: Motion, moment: int) -> np.ndarray:
    """Give those that were heard of shortly before and after a moment."""
    lately = (motion.at > moment - SILENT_US) & (motion.at <= moment)
    soon = (motion.at > moment) & (motion.at <= moment + SILENT_US)
    return np.intersect1d(motion.key[lately], motion.key[soon])


def _count(
    tallies: dict[tuple[str, int], np.ndarray], of: tuple[str, int], told: Pairs, true: Pairs
) -> None:
    """Count pairs that are not near yet: told and true, told only, true only, and how early."""
    fresh = {pair for pair, start in true.items() if start > 0}
    said = {pair for pair, start in told.items() if start > 0} - {
        pair for pair, start in true.items() if start == 0
    }
    both = fresh & said
    off = sum(abs(told[pair] - true[pair]) for pair in both)
    early = sum(true[pair] for pair in both)
    own = tallies.setdefault(of, np.zeros(5))
    own += (len(both), len(said - fresh), len(fresh - said), off, early)


def _score(name: str, horizon: int, tally: np.ndarray) -> dict[str, float | str]:
    both, false, missed, off, early = tally.tolist()
    precision = both / max(both + false, 1)
    recall = both / max(both + missed, 1)
    return {
        "by": name, "horizon (s)": horizon, "real": int(both + missed),
        "precision": precision, "recall": recall,
        "F1": 2 * precision * recall / max(precision + recall, 1e-9),
        EARLY: early / max(both, 1), "time off (s, mean)": off / max(both, 1),
    }  # fmt: skip
