"""Workloads of the experiments with sharing: segments of one stock, and filters of its price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from penstock.algebra.models import (
    Comparator,
    ModelComparison,
    ModelCondition,
    ModelConjunction,
    ModelFilter,
    ModelStage,
)
from penstock.lab.models.queries import polynomial
from penstock.lab.models.sources import straight_motion
from penstock.models.segments import WIDTH, Segments
from penstock.models.sharing.workloads import SharedWorkload
from penstock.vocabulary.batches import Floats

ADVANCE = 10.0
"""Seconds that a segment lasts."""
ATTRIBUTES = 2
SOURCE = straight_motion()


def stock_segments(
    chance: np.random.Generator, count: int, mean: float = 77.7, first: int = 0
) -> Segments:
    """Draw segments of two attributes that are near a mean: as published of a stock's price."""
    models = np.zeros((count, ATTRIBUTES, WIDTH))
    models[:, :, 0] = chance.normal(mean, 4.0, (count, ATTRIBUTES))
    models[:, :, 1] = chance.normal(0.0, 0.14, (count, ATTRIBUTES))
    serial = np.arange(first, first + count)
    return Segments(
        np.zeros((count, 1), np.int64), serial * int(ADVANCE * 1e6), np.zeros(count),
        np.full(count, ADVANCE), models, np.ones(count, np.int8), serial,
    )  # fmt: skip


def lowest(segments: Segments, attribute: int) -> Floats:
    """Give the least value of an attribute in each segment."""
    model = segments.coefficients[:, attribute]
    found: Floats = np.minimum(model[:, 0], model[:, 0] + ADVANCE * model[:, 1])
    return found


def threshold(segments: Segments, attribute: int, selectivity: float) -> float:
    """Give the number below which an attribute falls in such a share of segments."""
    values = np.sort(lowest(segments, attribute))
    place = selectivity * len(values)
    if place >= len(values):
        return float(values[-1] + 1.0 + place)
    if place < 1:
        return float(values[0] - 1.0 - selectivity)
    return float((values[int(place) - 1] + values[int(place)]) / 2)


def compared(attribute: int, comparator: Comparator, number: float) -> ModelComparison:
    """Compare an attribute with a number."""
    powers = tuple(int(place == attribute) for place in range(ATTRIBUTES))
    terms = polynomial((1.0, powers), (-number, (0,) * ATTRIBUTES))
    return ModelComparison(polynomial=terms, comparator=comparator)


def band(attribute: int, low: float, high: float) -> ModelCondition:
    """Say that an attribute lies between two numbers."""
    return ModelConjunction(terms=(compared(attribute, ">", low), compared(attribute, "<", high)))


def filters(chains: Mapping[int, Sequence[ModelCondition]]) -> SharedWorkload:
    """Give queries, each a chain of filters."""
    plans: dict[int, ModelStage] = {}
    for query, conditions in chains.items():
        plan: ModelStage = SOURCE
        for condition in conditions:
            plan = ModelFilter(input=plan, condition=condition)
        plans[query] = plan
    return SharedWorkload.of(plans)
