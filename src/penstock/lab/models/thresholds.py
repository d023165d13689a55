"""Thresholds: what a segment costs as standing queries with numbers of their own grow in number.

Every query asks `x < its number`. At equal output, as many queries as there are results per segment
lie in the segments' range of values, and all others where nothing ever comes. The peer solves an
equation for every query, as published. Of bands, `x BETWEEN its numbers`, one that is met always
must not make the others slower.
"""

from __future__ import annotations

from time import thread_time

import numpy as np

from penstock.algebra.models import (
    ModelComparison,
    ModelledAttribute,
    ModelQueryStep,
    ModelSource,
    Monomial,
    Polynomial,
    Threshold,
)
from penstock.lab.draws import generator
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.lab.timing import alternate, say
from penstock.models.crossings import Crossings
from penstock.models.segments import WIDTH, Segments
from penstock.operators.model_query.asked_index import AskedIndex
from penstock.vocabulary.batches import Floats

NUMBERS = sized((100, 1_000), (100, 1_000, 10_000, 100_000), (100, 1_000, 10_000, 100_000, 10**6))
SEGMENTS = sized(500, 20_000, 100_000)
RESULTS = 10
"""How many queries a segment answers, on average."""
PEER_SEGMENTS = 20
ROUNDS = 3


def run(size: Size) -> Findings:
    """Find what segments cross, with ever more thresholds beside those that they cross."""
    chance = generator(76)
    models = np.zeros((SEGMENTS[size], WIDTH))
    models[:, 0] = chance.uniform(0, 1_000, len(models))
    models[:, 1] = chance.uniform(-10, 10, len(models))
    models[:, 2] = chance.uniform(-1, 1, len(models))
    low, high = np.zeros(len(models)), np.full(len(models), 10.0)
    partition = np.zeros(len(models), np.int64)
    near = np.sort(chance.uniform(0, 1_000, 2 * RESULTS))
    sides, found = {}, {}
    for number in NUMBERS[size]:
        # Nothing is ever below these.
        far = -(10.0**6) - np.arange(number - len(near), dtype=np.float64)
        crossings = Crossings(
            np.zeros(number, np.int64), np.concatenate([near, far]), np.arange(number)
        )
        found[number] = len(crossings.find(partition, models, low, high, "<").index)
        sides[str(number)] = lambda own=crossings: own.find(partition, models, low, high, "<")
    say("model-thresholds: all numbers of queries, alternately")
    best = alternate(sides, ROUNDS, thread_time)
    peer = {number: _peer(models, near, number) for number in NUMBERS[size]}
    rows = [
        (
            number, found[number] / len(models), best[str(number)] / len(models) * 1e9,
            peer[number] * 1e9, peer[number] * len(models) / best[str(number)],
        )
        for number in NUMBERS[size]
    ]  # fmt: skip
    table = Table(
        f"{len(models):,} segments of degree 2, thresholds on one attribute",
        ("queries", "results/segment", "ns/segment", "ns/segment, one by one", "times"),
        rows,
    )
    yield table
    yield table.chart(
        "A segment against standing thresholds", "nanoseconds", "ns/segment",
        "ns/segment, one by one", log="xy",
    )  # fmt: skip
    yield at_most("Results that differ with the number of queries", len({*found.values()}) - 1, 0)
    banded, more, ratio = _bands(models, NUMBERS[size][-1], chance)
    yield banded
    yield at_most("Results beside those of the wide band, with it over without it", more, 0)
    if size != "tiny":
        grown = best["100000"] / best["100"]
        yield at_most("A segment among 100,000 thresholds over 100", grown, 3, timed=True)
        yield at_most("A segment among bands, with a wide one over without", ratio, 1.2, timed=True)
        yield at_least("Solving one by one over the index, 100,000", rows[3][4], 100, timed=True)


def _bands(models: Floats, number: int, chance: np.random.Generator) -> tuple[Table, int, float]:
    """Find which of many narrow bands segments come into, with one beside them that holds all."""
    count = len(models)
    segments = Segments(
        np.empty((count, 0), np.int64), np.zeros(count, np.int64), np.zeros(count),
        np.full(count, 10.0), models[:, None], np.ones(count, np.int8), np.arange(count),
    )  # fmt: skip
    own = Polynomial(terms=(Monomial(factor=1.0, powers=(1,)),))
    low = ModelComparison(polynomial=own, comparator=">=", parameter="low")
    high = ModelComparison(polynomial=own, comparator="<=", parameter="high")
    plan = ModelSource(
        relation="s", event_time="at", horizon_us=10**7,
        attributes=(ModelledAttribute(name="x", observed="x", coefficients=("c0",)),),
    )  # fmt: skip
    asked = Threshold(comparisons=(low, high))
    step = ModelQueryStep(plan=plan, key=(), attributes=("x",), asked=asked)
    # As many are met as there are results per segment, whatever the number.
    lows = np.sort(chance.uniform(-number, number, number) * 100 / RESULTS)
    narrow = np.stack([lows, lows + 1.0], axis=1)
    sides, found, solved = {}, {}, {}
    for name, wide in (("none", []), ("one", [(-1e9, 1e9)])):
        index = AskedIndex(step)
        bands = np.concatenate([narrow, np.array(wide).reshape(-1, 2)])
        index.put(np.arange(len(bands), dtype=np.int32), np.empty((len(bands), 0), np.int64), bands)
        found[name] = len(index.pieces(segments).slot)
        solved[name] = index.solved
        sides[name] = lambda own=index: own.pieces(segments)
    say("model-thresholds: bands with and without a wide one, alternately")
    best = alternate(sides, ROUNDS, thread_time)
    rows = [
        (name, found[name] / count, solved[name] / count, best[name] / count * 1e9)
        for name in sides
    ]  # fmt: skip
    title = f"{count:,} segments of degree 2, {number:,} bands on one attribute"
    table = Table(title, ("wide bands", "results/segment", "solved/segment", "ns/segment"), rows)
    return table, found["one"] - found["none"] - count, best["one"] / best["none"]


def _peer(models: Floats, near: Floats, number: int) -> float:
    """Give the seconds per segment of solving an equation for every query, by numpy."""
    thresholds = np.concatenate([near, np.full(number - len(near), -(10.0**6))])
    started = thread_time()
    for model in models[:PEER_SEGMENTS]:
        c, b, a = model[0] - thresholds, model[1], model[2]
        room = b * b - 4 * a * c
        root = np.sqrt(np.maximum(room, 0.0))
        for own in ((-b - root) / (2 * a), (-b + root) / (2 * a)):
            np.count_nonzero((own > 0) & (own < 10.0) & (room >= 0))
    return (thread_time() - started) / PEER_SEGMENTS
