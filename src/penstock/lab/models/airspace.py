"""Airspace: who comes within five nautical miles of whom, now and in the next minutes.

Positions of aircraft that really flew. At many moments, the models that stand say which pairs will
be near each other within a horizon; what then happened is read off the recorded positions, joined
by straight lines. The models stand under a bound of 50 metres, as a running query has them. The
peer extrapolates the last two positions of every aircraft.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import thread_time

import numpy as np

from penstock.algebra.models import ModelComparison, ModelJoin, ModelStage
from penstock.lab.draws import generator
from penstock.lab.models.queries import QueryRun, polynomial
from penstock.lab.models.sources import motion_rows, segmented, straight_motion
from penstock.lab.models.workload import MILES, SECOND, Motion, aircraft, aircraft_path
from penstock.lab.report import Findings, Size, Table, at_least, chart, sized
from penstock.lab.timing import say
from penstock.models.plans import SegmentPlan
from penstock.models.segments import WIDTH, Segments
from penstock.models.tolerances import SourceTolerances

NEAR_M = 5 * MILES
HORIZONS = sized((30, 120), (15, 30, 60, 90, 120), (15, 30, 60, 90, 120, 180, 300))
BOUNDS_M = sized((200.0,), (50.0, 200.0, 1_000.0), (50.0, 200.0, 1_000.0))
SHARES = sized((0.01,), (0.001, 0.01, 0.05), (0.001, 0.01, 0.05))
"""Bounds of the standing query: metres, and shares of the distance from the middle, by axis."""
MOMENTS = sized(10, 120, 600)
ROWS = sized(40_000, 400_000, 400_000)
SILENT_US = 60 * SECOND
"""Who was silent for so long is not asked about, and is not in the truth."""
BATCH = 20_000
STANDING_M = 50.0
MODELS, TOLD, POINTS = "standing models", "velocity told", "last two points"

Pairs = Mapping[tuple[int, int], float]
"""Pairs of aircraft, and the seconds until they are near."""


def near(relation: str = "aircraft") -> ModelStage:
    """Pairs of aircraft while they are within five nautical miles of each other."""
    apart = polynomial(
        (1.0, (2, 0, 0, 0)), (-2.0, (1, 0, 1, 0)), (1.0, (0, 0, 2, 0)),
        (1.0, (0, 2, 0, 0)), (-2.0, (0, 1, 0, 1)), (1.0, (0, 0, 0, 2)),
        (-(NEAR_M**2), (0, 0, 0, 0)),
    )  # fmt: skip
    horizon_us = max(HORIZONS["full"]) * SECOND
    return ModelJoin(
        left=straight_motion(horizon_us, relation=relation),
        right=straight_motion(horizon_us, relation=relation),
        condition=ModelComparison(polynomial=apart, comparator="<"), unequal=((0, 0),),
    )  # fmt: skip


def run(size: Size) -> Findings:
    """Predict at many moments, with models and with the last two points; then run the query."""
    if aircraft_path() is None:
        yield "No real aircraft are here to measure: `pip install --no-deps traffic` brings them."
        return
    flown = aircraft("quickstart").first(ROWS[size])
    first, last = int(flown.at[0]), int(flown.at[-1]) - max(HORIZONS[size]) * SECOND
    moments = np.sort(generator(83).integers(first + 600 * SECOND, last, MOMENTS[size]))
    tallies: dict[tuple[str, int], np.ndarray] = {}
    bound = SourceTolerances.absolute(STANDING_M, STANDING_M)
    horizon_us = max(HORIZONS["full"]) * SECOND
    _, made = segmented(straight_motion(horizon_us), bound, motion_rows(flown))
    made = made.take(made.sign > 0)
    for place, moment in enumerate(moments.tolist()):
        if place % 100 == 0:
            say(f"model-airspace: moment {place:,} of {len(moments):,}")
        known = flown.at <= moment
        there = _present(flown, moment)
        for horizon in HORIZONS[size]:
            true = _truth(flown, there, moment, horizon)
            lines = _predictors(flown, known, there, moment)
            asked = lines[POINTS].key[:, 0]
            for name, standing in (MODELS, _standing(made, asked, moment)), *lines.items():
                told = _predicted(standing, moment, horizon)
                _count(tallies, (name, horizon), told, true)
    scores = [_score(name, horizon, tally) for (name, horizon), tally in tallies.items()]
    table = Table.of(f"Predicted and real approaches, {len(moments):,} moments", scores)
    yield table
    yield chart(
        "Predicted approaches of real aircraft", "horizon (s)", "F1",
        {
            name: (list(HORIZONS[size]), [float(each["F1"]) for each in scores
                                          if each["by"] == name])
            for name in dict.fromkeys(str(each["by"]) for each in scores)
        },
    )  # fmt: skip
    means = {
        name: float(np.mean([float(each["F1"]) for each in scores if each["by"] == name]))
        for name in (MODELS, TOLD, POINTS)
    }
    better = means[MODELS] / max(means[POINTS], 1e-9)
    yield at_least("F1 of standing models over that of the last two points", better, 1.0)
    yield (
        "How good standing models are depends on their bound: under 200 m instead of "
        f"{STANDING_M:.0f} m they were 0.98 times as good as the last two points (seed 0, small)."
    )
    yield Table.of(f"The standing query over {len(flown):,} positions", list(_costs(flown, size)))


def _predictors(
    flown: Motion, known: np.ndarray, there: np.ndarray, moment: int
) -> dict[str, Segments]:
    """Give what each side knows at a moment: a line for every aircraft that is there."""
    newest = _newest(flown, known, there)
    before = _newest(flown, known & ~np.isin(np.arange(len(flown)), newest), there)
    both = np.isin(flown.key[newest], flown.key[before])
    newest = newest[both]
    order = np.searchsorted(flown.key[before], flown.key[newest])
    older = before[order]
    span = np.maximum((flown.at[newest] - flown.at[older]) / SECOND, 1e-3)
    lines = {
        TOLD: (flown.vx[newest], flown.vy[newest]),
        POINTS: (
            (flown.x[newest] - flown.x[older]) / span, (flown.y[newest] - flown.y[older]) / span
        ),
    }  # fmt: skip
    return {name: _lines(flown, newest, *own, moment) for name, own in lines.items()}


def _standing(made: Segments, asked: np.ndarray, moment: int) -> Segments:
    """Give what stands at a moment of the aircraft that are asked about, from then on."""
    known = np.flatnonzero((made.reference <= moment) & np.isin(made.key[:, 0], asked))
    _, first = np.unique(made.key[known[::-1], 0], return_index=True)
    standing = made.take(known[::-1][first])
    since = (moment - standing.reference) / SECOND
    standing = replace(standing, low=np.maximum(standing.low, since))
    return standing.take(standing.low < standing.high)


def _lines(
    flown: Motion, places: np.ndarray, vx: np.ndarray, vy: np.ndarray, moment: int
) -> Segments:
    coefficients = np.zeros((len(places), 2, WIDTH))
    coefficients[:, 0, 0], coefficients[:, 0, 1] = flown.x[places], vx
    coefficients[:, 1, 0], coefficients[:, 1, 1] = flown.y[places], vy
    since = (moment - flown.at[places]) / SECOND
    return Segments(
        flown.key[places][:, None].copy(), flown.at[places].copy(), since,
        since + max(HORIZONS["full"]), coefficients, np.ones(len(places), np.int8),
        np.arange(len(places)),
    )  # fmt: skip


def _newest(flown: Motion, known: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Give the newest row of every aircraft that is there, by aircraft."""
    places = np.flatnonzero(known)[::-1]
    keys, first = np.unique(flown.key[places], return_index=True)
    chosen = places[first]
    return chosen[np.isin(keys, there)]


def _present(flown: Motion, moment: int) -> np.ndarray:
    """Give the aircraft that were heard of shortly before and after a moment."""
    lately = (flown.at > moment - SILENT_US) & (flown.at <= moment)
    soon = (flown.at > moment) & (flown.at <= moment + SILENT_US)
    return np.intersect1d(flown.key[lately], flown.key[soon])


def _truth(flown: Motion, there: np.ndarray, moment: int, horizon: int) -> Pairs:
    """Say which pairs were near within a horizon, by their positions at every second."""
    seconds = moment + np.arange(horizon + 1) * SECOND
    tracks = np.full((len(there), 2, len(seconds)), np.nan)
    for place, key in enumerate(there.tolist()):
        mine = (flown.key == key) & (np.abs(flown.at - moment) <= (horizon + 120) * SECOND)
        at = flown.at[mine]
        inside = seconds <= at[-1]
        for axis, own in enumerate((flown.x[mine], flown.y[mine])):
            tracks[place, axis, inside] = np.interp(seconds[inside], at, own)
    found: dict[tuple[int, int], float] = {}
    for left in range(len(there)):
        apart = np.hypot(*(tracks[left + 1 :] - tracks[left]).transpose(1, 0, 2))
        is_near = apart < NEAR_M
        for right in np.flatnonzero(is_near.any(1)).tolist():
            pair = int(there[left]), int(there[left + 1 + right])
            found[pair] = float(is_near[right].argmax())
    return found


def _predicted(standing: Segments, moment: int, horizon: int) -> Pairs:
    """Say which pairs models let come near within a horizon."""
    plan = SegmentPlan(near())
    plan.push(0, standing)
    found = plan.push(1, standing)
    begins = (found.reference - moment) / SECOND + found.low
    told: dict[tuple[int, int], float] = {}
    for (left, right), start in zip(found.key.tolist(), begins.tolist(), strict=True):
        if left < right and start <= horizon:
            pair = left, right
            told[pair] = min(told.get(pair, np.inf), max(start, 0.0))
    return told


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
        "told before (s, mean)": early / max(both, 1), "time off (s, mean)": off / max(both, 1),
    }  # fmt: skip


def _costs(flown: Motion, size: Size) -> Iterator[dict[str, float | str]]:
    """Run the standing query over all positions, under several bounds."""
    rows = motion_rows(flown)
    bounds = {f"{own:.0f} m": SourceTolerances.absolute(own, own) for own in BOUNDS_M[size]}
    bounds |= {f"{own:.1%}": SourceTolerances.relative(own, own) for own in SHARES[size]}
    for bound, tolerances in bounds.items():
        source, _ = segmented(straight_motion(max(HORIZONS["full"]) * SECOND), tolerances, rows)
        ran = QueryRun(near(), tolerances)
        started = thread_time()
        ran.run([rows], BATCH)
        seconds = thread_time() - started
        yield {
            "bound": bound, "inside (%)": 100 * source.counts["validated"] / len(rows),
            "rows/segment": len(rows) / source.counts["segments"], "answers": ran.answers,
            "rows/s": len(rows) / seconds,
        }  # fmt: skip
