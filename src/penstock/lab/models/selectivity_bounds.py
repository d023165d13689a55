"""Estimates of conjunctions, joins and extremes: their bounds, and what segments really do."""

from __future__ import annotations

from typing import Literal

import numpy as np

from penstock.algebra.models import ModelConjunction, ModelEnvelope, ModelStage, ModelWindow
from penstock.lab.draws import generator
from penstock.lab.models.coefficients import (
    LENGTH_S,
    below,
    line_segments,
    normal_lines,
    uniform_lines,
)
from penstock.lab.models.queries import crossed, windowed
from penstock.lab.models.sources import straight_motion
from penstock.lab.report import Cell, Findings, Size, Table, at_least, at_most, near, sized
from penstock.models.coefficient_bins import CoefficientBins
from penstock.models.conditions import ConditionSolver
from penstock.models.plans import SegmentPlan
from penstock.models.segments import Segments
from penstock.planning.selectivity.bounds import Term, frechet, greedy
from penstock.planning.selectivity.chains import condition_estimate, stage_estimates
from penstock.planning.selectivity.extremes import instantaneous
from penstock.planning.selectivity.maps import counted
from penstock.planning.selectivity.statistics import Estimation, SegmentStatistics
from penstock.vocabulary.batches import Floats

CASES = sized(200, 2_000, 2_000)
SEGMENTS = sized(1_000, 6_000, 20_000)
STREAM = sized(300, 1_200, 3_000)
KEYS = sized((2, 5), (2, 5, 20), (2, 5, 20, 50))
WINDOWS_S = sized((40.0,), (20.0, 40.0, 120.0), (20.0, 40.0, 120.0, 300.0))
SHIFTS = sized((0.0, 20.0), (-40.0, -20.0, 0.0, 20.0, 40.0), (-40.0, -20.0, 0.0, 20.0, 40.0))


def run(size: Size) -> Findings:
    """Draw conjunctions; run joins, envelopes and windows over lines, and count."""
    yield from _drawn_bounds(size)
    yield from _dependent(size)
    yield from _joins(size)
    yield from _extremes(size)


def drawn_terms(chance: np.random.Generator) -> list[Term]:
    """Draw the bins of two to four attributes, and how many segments of each bin pass."""
    total = 1_000.0
    terms = []
    for _ in range(int(chance.integers(2, 5))):
        count = int(chance.integers(1, 12))
        held = chance.dirichlet(np.full(count, 0.5)) * total
        ratio = np.where(chance.random(count) < 0.5, chance.integers(0, 2, count),
                         chance.random(count))  # fmt: skip
        terms.append((held, held * ratio))
    return terms


def _drawn_bounds(size: Size) -> Findings:
    """Draw conjunctions at random: both bounds beside what independence gives."""
    inside = {"greedy": 0, "frechet": 0}
    widths: dict[str, list[float]] = {"greedy": [], "frechet": []}
    equal = two = 0
    chance = generator(101)
    for _ in range(CASES[size]):
        terms = drawn_terms(chance)
        shares = [float(passing.sum() / held.sum()) for held, passing in terms]
        estimate = float(np.prod(shares))
        found = {"greedy": greedy(terms), "frechet": frechet(shares, shares)}
        for name, (low, high) in found.items():
            inside[name] += low <= estimate * (1 + 1e-9) and estimate <= high * (1 + 1e-9)
            widths[name].append(high - low)
        if len(terms) == 2:
            two += 1
            equal += abs(found["greedy"][1] - found["frechet"][1]) < 1e-9
    yield Table.of(f"Bounds of {CASES[size]:,} drawn conjunctions", [
        {"bounds": name, "contain the estimate": inside[name], "mean width": float(np.mean(each))}
        for name, each in widths.items()
    ])  # fmt: skip
    yield {"two terms": two, "greedy high equals Fréchet's": equal}
    for name, count in inside.items():
        yield at_least(f"Conjunctions within their {name} bounds", count / CASES[size], 1.0)


def _dependent(size: Size) -> Findings:
    """Let two attributes depend on each other more and more: the truth, and what bounds hold it."""
    rows: list[dict[str, Cell]] = []
    condition = ModelConjunction(terms=(below(140.0, 2, 0), below(150.0, 2, 1)))
    for place, tie in enumerate((-1.0, -0.5, 0.0, 0.5, 1.0)):
        one = normal_lines(generator(102, place), SEGMENTS[size]).coefficients
        other = normal_lines(generator(103, place), SEGMENTS[size]).coefficients
        centre = np.array([150.0, 0.0])
        second = centre + tie * (one - centre) + np.sqrt(1 - tie**2) * (other - centre)
        pair = _pair(one, second)
        index, _, _ = ConditionSolver(condition, 2).solve(pair.coefficients, pair.low, pair.high)
        known = SegmentStatistics.of(*(_binned(pair.coefficients[:, k, :2]) for k in (0, 1)))
        row: dict[str, Cell] = {"correlation": tie, "true": len(index) / len(pair)}
        for method in ("greedy", "frechet"):
            found = _asked(condition, known, method)
            row |= {"estimate": found[0], f"{method} low": found[1], f"{method} high": found[2]}
        rows.append(row)
    table = Table.of("Two attributes that depend on each other", rows)
    yield table
    yield table.chart("Estimate and bounds as attributes depend", "selectivity", "true", "estimate",
                      "greedy low", "greedy high", "frechet low", "frechet high")  # fmt: skip
    beyond = max(
        max(
            _number(each["frechet low"]) - _number(each["true"]),
            _number(each["true"]) - _number(each["frechet high"]),
        )
        for each in rows
    )
    # They are certain of exact shares; bins tell the share of each term within their own error.
    yield at_most("Dependent attributes: farthest beyond Fréchet's bounds", beyond, 0.01)
    independent = rows[2]
    off = abs(_number(independent["estimate"]) - _number(independent["true"]))
    yield at_most("Independent attributes: error of the estimate", off, 0.02)


def _asked(
    condition: ModelConjunction, known: SegmentStatistics, method: Literal["greedy", "frechet"]
) -> tuple[float, float, float]:
    found = condition_estimate(condition, known, how=Estimation(bounds=method))
    return found.estimate, found.low, found.high


def _joins(size: Size) -> Findings:
    """Join two streams whose segments begin together, as far apart as is said."""
    rows: list[dict[str, Cell]] = []
    total = STREAM[size]
    seconds = total * LENGTH_S / 10
    for place, shift in enumerate(SHIFTS[size]):
        left = uniform_lines(generator(104, place), total).coefficients
        right = uniform_lines(generator(105, place), total).coefficients
        right[:, 0] += shift
        plan = SegmentPlan(crossed())
        found = 0
        for start in range(0, total, 10):
            at = int(start / 10 * LENGTH_S * 1e6)
            plan.push(0, _streamed(left[start : start + 10], at))
            found += len(plan.push(1, _streamed(right[start : start + 10], at)))
        known = [SegmentStatistics.of(_binned(each), seconds=seconds) for each in (left, right)]
        row: dict[str, Cell] = {"right above by": shift, "pairs": found}
        for fidelity in ("literal", "repaired"):
            how = Estimation(fidelity="literal" if fidelity == "literal" else "repaired",
                             aligned=True)  # fmt: skip
            estimate = stage_estimates(crossed(), known, how=how)[-1]
            row[fidelity] = estimate.selectivity.estimate * estimate.given
        rows.append(row)
    yield Table.of(f"Joins of two streams of {total:,} segments", rows)
    off = [abs(_number(each["repaired"]) / max(_number(each["pairs"]), 1) - 1) for each in rows]
    yield at_most("Joins: farthest share of an estimate from the pairs that there are", max(off),
                  0.1)  # fmt: skip


def _extremes(size: Size) -> Findings:
    """Run envelopes over keys and windows over one: pieces per segment, beside the estimates."""
    rows: list[dict[str, Cell]] = []
    total = STREAM[size]
    source = straight_motion(axes="x")
    for keys in KEYS[size]:
        plan = ModelEnvelope(input=source, function="max", attribute=0, name="most")
        rows.append(_ran("envelope", keys, plan, total, keys))
    rows += [
        _ran("window (s)", size_s, windowed(source, "max", size_s, 2), total, 1)
        for size_s in WINDOWS_S[size]
    ]
    yield Table.of("Pieces of a maximum per segment", rows)
    off = [abs(_number(each["estimate"]) / _number(each["pieces"]) - 1) for each in rows]
    yield at_most("Extremes: farthest share of an estimate from the pieces", max(off), 0.25)
    for keys in KEYS[size]:
        bins = _binned(normal_lines(generator(107, keys), SEGMENTS[size]).coefficients)
        weight = instantaneous(bins, True, keys).total / bins.total * keys
        yield near(f"Maximum of {keys} keys alike: sum of the weights", weight, 1.0, 0.2)


def _ran(kind: str, value: float, plan: ModelStage, total: int, keys: int) -> dict[str, Cell]:
    assert isinstance(plan, ModelEnvelope | ModelWindow)
    lines = normal_lines(generator(106, keys, int(value)), total).coefficients
    lines[:, 0] = 150 + (lines[:, 0] - 150) / 5
    place = np.arange(total)
    segments = line_segments(lines)
    at = (place // keys) * int(LENGTH_S * 1e6)
    segments = Segments(
        (place % keys)[:, np.newaxis], at, segments.low, segments.high, segments.coefficients,
        segments.sign, segments.serial,
    )  # fmt: skip
    made = SegmentPlan(plan).push(0, segments)
    known = SegmentStatistics.of(_binned(lines), seconds=total / keys * LENGTH_S, keys=keys)
    estimate = stage_estimates(plan, [known])[-1].selectivity.estimate
    return {
        "maximum": kind, "of": value, "pieces": int((made.sign > 0).sum()) / total,
        "estimate": estimate,
    }  # fmt: skip


def _binned(coefficients: Floats) -> CoefficientBins:
    count = len(coefficients)
    return counted(np.ascontiguousarray(coefficients), np.zeros(count), np.full(count, LENGTH_S))


def _pair(one: Floats, other: Floats) -> Segments:
    first, second = line_segments(one), line_segments(other)
    models = np.concatenate((first.coefficients, second.coefficients), axis=1)
    return Segments(
        first.key, first.reference, first.low, first.high, models, first.sign, first.serial
    )


def _streamed(coefficients: Floats, at: int) -> Segments:
    made = line_segments(coefficients)
    count = len(coefficients)
    return Segments(
        np.arange(count)[:, np.newaxis], np.full(count, at), made.low, made.high,
        made.coefficients, made.sign, made.serial + at // 1_000_000 * 10,
    )  # fmt: skip


def _number(cell: Cell) -> float:
    assert isinstance(cell, int | float)
    return float(cell)
