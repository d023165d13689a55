"""Real flights: what bins of their models tell of conditions, beside samples of equal cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import thread_time

import numpy as np

from penstock.algebra.models import ModelComparison, ModelCondition, ModelConjunction, ModelFilter
from penstock.lab.draws import generator
from penstock.lab.models.coefficients import SHARES, below
from penstock.lab.models.queries import QueryRun, polynomial
from penstock.lab.models.sources import motion_rows, segmented, straight_motion
from penstock.lab.models.workload import SECOND, Motion, aircraft, moving_objects
from penstock.lab.report import Cell, Findings, Size, Table, at_most, chart, sized
from penstock.lab.timing import alternate
from penstock.models.netting import netted
from penstock.models.segments import Segments
from penstock.models.source_histograms import ONE_IN, SourceHistograms
from penstock.models.sources import SourceRows
from penstock.models.tolerances import SourceTolerances
from penstock.planning.selectivity.chains import condition_estimate
from penstock.planning.selectivity.samples import baseline, segments_sampled
from penstock.planning.selectivity.statistics import SegmentStatistics
from penstock.worlds.aircraft import aircraft_path

ROWS = sized(20_000, 200_000, 400_000)
DRAWS = sized(3, 20, 20)
ROUNDS = sized(2, 15, 30)
HORIZON_S = 60
BOUND_M = 50.0
BATCH = 20_000
AREA = 20_000.0
OBJECTS, PER_SEGMENT = 500, 10
"""Made-up objects, and how many rows each moves straight on, where no real flights are here."""


def flights(size: Size) -> Findings:
    """Estimate conditions on positions of aircraft, and time what keeping the bins takes."""
    if aircraft_path() is None:
        yield "No real aircraft are here to measure: `pip install --no-deps traffic` brings them."
        yield from _upkeep(moving_objects(generator(99), OBJECTS, ROWS[size], PER_SEGMENT), size)
        return
    flown = aircraft("quickstart").first(ROWS[size])
    source = straight_motion(HORIZON_S * SECOND)
    rows = motion_rows(flown)
    _, made = segmented(source, SourceTolerances.absolute(BOUND_M, BOUND_M), rows)
    made = made.take(made.sign > 0)
    histograms = SourceHistograms((1, 1), period_us=1 << 60)
    histograms.count(made)
    bins = histograms.bins(0), histograms.bins(1)
    known = SegmentStatistics.of(*bins, seconds=histograms.seconds, keys=len(np.unique(flown.key)))
    yield Table.of("Real flights", [{
        "positions": len(flown), "segments": len(made),
        **{f"bins of {name}": len(each) for name, each in zip("xy", bins, strict=True) if each},
    }])  # fmt: skip
    yield from _compared(made, known, size)
    yield from _upkeep(flown if size == "tiny" else aircraft("quickstart"), size)


def _conditions(made: Segments) -> dict[str, list[ModelCondition]]:
    """Give thresholds of one axis, and of both, for every tenth of the segments; and an area."""
    middle = made.coefficients[:, :, 0] + made.coefficients[:, :, 1] * HORIZON_S / 2
    cuts = [[float(np.quantile(middle[:, axis], share)) for share in SHARES[:-1]]
            for axis in (0, 1)]  # fmt: skip
    away = polynomial((1.0, (2, 0)), (1.0, (0, 2)), (-(AREA**2), (0, 0)))
    return {
        "x": [below(each, 2, 0) for each in cuts[0]],
        "y": [below(each, 2, 1) for each in cuts[1]],
        "x and y": [
            ModelConjunction(terms=(below(one, 2, 0), below(other, 2, 1)))
            for one, other in zip(*cuts, strict=True)
        ],
        "within 20 km": [ModelComparison(polynomial=away, comparator="<")],
    }


def _compared(made: Segments, known: SegmentStatistics, size: Size) -> Findings:
    """Compare bins with a sample that takes as long to ask."""
    table: list[dict[str, Cell]] = []
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for place, (name, conditions) in enumerate(_conditions(made).items()):
        true = np.array([baseline(each, made) for each in conditions])
        told = np.array([condition_estimate(each, known).estimate for each in conditions])
        middle = conditions[len(conditions) // 2]
        sides: dict[str, Callable[[], object]] = {
            "bins": partial(condition_estimate, middle, known),
            "all": partial(baseline, middle, made),
        }
        took = alternate(sides, ROUNDS[size], thread_time)
        rate = min(took["bins"] / took["all"], 1.0)
        chance = generator(98, place)
        same = _sampled(conditions, made, rate, true, chance, size)
        tenth = _sampled(conditions, made, 0.1, true, chance, size)
        table.append({
            "condition": name, "bins: error": float(np.abs(told - true).mean()),
            "bins (us)": took["bins"] * 1e6, "all segments (us)": took["all"] * 1e6,
            "equal sample (%)": 100 * rate, "equal sample: error": float(same.mean()),
            "10 % sample: error": float(tenth.mean()),
        })  # fmt: skip
        if len(true) > 1:
            curves[f"{name}: bins"] = true.tolist(), np.abs(told - true).tolist()
            curves[f"{name}: 10 % sample"] = true.tolist(), tenth.tolist()
    yield Table.of("Mean error on real flights, and the sample that takes as long", table)
    yield chart("Errors on real flights", "true selectivity", "error", curves)
    own, equal = (
        float(np.mean([float(row[name] or 0.0) for row in table[:2]]))
        for name in ("bins: error", "equal sample: error")
    )
    yield at_most("Flights, one axis: error of bins over that of the equal sample",
                  own / max(equal, 1e-9), 1.0, timed=True)  # fmt: skip
    yield (
        "Where a condition asks for both axes of a flight, samples are nearer: bins take x and y "
        "to be independent, and aircraft fly along airways."
    )


def _sampled(
    conditions: list[ModelCondition], made: Segments, rate: float, true: np.ndarray,
    chance: np.random.Generator, size: Size,
) -> np.ndarray:  # fmt: skip
    """Give the mean error, condition by condition, of some samples of a rate."""
    errors = []
    for _ in range(DRAWS[size]):
        sample = segments_sampled(made, rate, chance)
        told = np.array([baseline(each, sample) for each in conditions])
        errors.append(np.abs(told - true))
    found: np.ndarray = np.mean(errors, axis=0)
    return found


def _upkeep(motion: Motion, size: Size) -> Findings:
    """Time how much of a run that filters the same positions it takes to keep the histograms."""
    rows = motion_rows(motion)
    shares, each = zip(*(_kept(rows) for _ in range(ROUNDS[size])), strict=True)
    yield {"upkeep (ns per segment and attribute)": float(min(each)) * 1e9}
    yield at_most("Upkeep of histograms, of a bare filter over models", float(np.median(shares)),
                  0.05, timed=True)  # fmt: skip
    yield (
        "The filter is bare: no engine and no Arrow around it. That leaves a segment half a "
        "microsecond, so upkeep shows at its worst. The first segments are all counted, then "
        f"one in {ONE_IN}, chosen by its key and its reference, counts for all of them."
    )


def _kept(rows: SourceRows) -> tuple[float, float]:
    """Run a filter with histograms; give what they take of its time, and of a segment's."""
    plan = ModelFilter(input=straight_motion(HORIZON_S * SECOND), condition=below(0.0, 2, 0))
    run = QueryRun(plan, SourceTolerances.absolute(BOUND_M, BOUND_M))
    histograms = SourceHistograms((1, 1))
    seconds, segments, started = 0.0, 0, thread_time()
    for start in range(0, len(rows), BATCH):
        made = netted(run.sources[0].process(rows.take(slice(start, start + BATCH))))
        before = thread_time()
        histograms.count(made)
        seconds += thread_time() - before
        segments += int((made.sign > 0).sum())
        run.plan.push(0, made)
    return seconds / (thread_time() - started), seconds / segments / 2
