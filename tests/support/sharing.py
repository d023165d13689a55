"""Workloads of model queries that share, drawn, and what each query is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.algebra.models import (
    ModelCondition,
    ModelConjunction,
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelStage,
    ModelWindow,
)
from penstock.models.plans import SegmentPlan
from penstock.models.segments import Segments
from penstock.models.sharing.shared_plans import SharedPlan
from penstock.models.sharing.workloads import SharedWorkload
from tests.support.models import START, Change, accumulated, compared, drawn, moved, source

SHAPES = (
    "filters",
    "pairs",
    "bands",
    "chain",
    "join",
    "join behind filters",
    "min",
    "max of joins",
)
COMPARATORS: tuple[Any, ...] = ("<", "<=", ">", ">=")


def limit(place: int, comparator: Any, number: float, attributes: int = 2) -> ModelCondition:
    """Compare an attribute with a number."""
    powers = tuple(int(n == place) for n in range(attributes))
    return compared(comparator, (-number, (0,) * attributes), (1.0, powers))


def scaled(comparator: Any, one: float, other: float) -> ModelCondition:
    """Compare a multiple of the first attribute with one of the second."""
    return compared(comparator, (-other, (0, 1)), (one, (1, 0)))


def drawn_condition(rng: np.random.Generator, shape: str) -> ModelCondition:
    """Draw a condition of the first attribute, or of both."""
    number = float(np.round(rng.normal(0, 2), 1))
    comparator = rng.choice(COMPARATORS)
    if shape == "pairs":
        return scaled(comparator, float(rng.choice([-2, 1, 2, 3])), float(rng.integers(-2, 4)))
    if shape == "bands":
        wide = float(rng.uniform(0.2, 2))
        return ModelConjunction(terms=(limit(0, ">", number - wide), limit(0, "<=", number + wide)))
    one_sided = rng.random() < 0.7
    return limit(0, "<" if one_sided else comparator, number)


def drawn_query(rng: np.random.Generator, shape: str) -> ModelStage:
    """Draw a query of a shape."""
    plan: ModelStage = source(2, attributes=2)
    if shape != "join":
        plan = ModelFilter(input=plan, condition=drawn_condition(rng, shape))
    if shape == "chain":
        number = float(np.round(rng.normal(0, 2), 1))
        plan = ModelFilter(input=plan, condition=limit(1, "<", number))
    if "join" in shape:
        number = float(np.round(rng.normal(0, 3), 1))
        near = compared("<", (-number, (0, 0, 0)), (1.0, (1, 0, 0)), (-1.0, (0, 0, 1)))
        plan = ModelJoin(left=plan, right=source(1), condition=near, unequal=((0, 0),))
    if shape == "min":
        return ModelEnvelope(input=plan, function="min", attribute=1, name="m")
    if shape == "max of joins":
        return ModelWindow(
            input=plan, function="max", attribute=0, name="w", size_us=10**6, slide_us=10**6,
            group=(0,),
        )  # fmt: skip
    return plan


def drawn_workload(seed: int, shape: str, queries: int) -> SharedWorkload:
    """Draw queries of one shape; some ask the same."""
    rng = np.random.default_rng(seed)
    plans: list[ModelStage] = []
    for _ in range(queries):
        repeat = plans and rng.random() < 0.25
        plans.append(plans[int(rng.integers(len(plans)))] if repeat else drawn_query(rng, shape))
    return SharedWorkload.of(dict(enumerate(plans, start=3)))


def story(workload: SharedWorkload, seed: int) -> list[Change]:
    """Draw changes of the trunk's source (0) and of the joins' right side (1)."""
    joins = any(each.kind == "join" for each in workload.expressions)
    sources = [workload.source, source(1)] if joins else [workload.source]
    changes, _ = drawn(seed, sources, 8.0)
    return changes


def told_alone(plan: ModelStage, changes: Sequence[Change]) -> list[Segments]:
    """Give what a query is told by a plan of its own, change by change."""
    own = SegmentPlan(plan)
    return [own.push(each.source, moved(each.segments, START)) for each in changes]


def told_together(
    shared: SharedPlan, workload: SharedWorkload, changes: Sequence[Change]
) -> Mapping[int, list[Segments]]:
    """Give what each query is told by a shared plan, change by change."""
    found: dict[int, list[Segments]] = {query: [] for query in workload.queries}
    for change in changes:
        made = shared.push(change.source, moved(change.segments, START))
        for query, told in found.items():
            if query in made:
                told.append(made[query])
            else:
                told.append(_nothing(workload.queries[query]))
    return found


def _nothing(plan: ModelStage) -> Segments:
    shape = SegmentPlan(plan).shape
    return Segments.none(shape.key, len(shape.degrees))


def ordered(segments: Segments) -> Segments:
    """Give segments in an order that tells nothing."""
    keys = (segments.high, segments.low, segments.serial, segments.sign, segments.reference)
    order = np.lexsort((*keys, *segments.key.T))
    return segments.take(order)


def assert_same_segments(one: Segments, two: Segments, near: float = 0.0) -> None:
    """Hold two sets of segments to be the same; ranges may differ by a little."""
    one, two = ordered(one), ordered(two)
    assert len(one) == len(two)
    for name in ("key", "reference", "coefficients", "sign", "serial"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), name)
    for name in ("low", "high"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=0, atol=near)


def assert_same_functions(one: Sequence[Segments], two: Sequence[Segments], seed: int) -> None:
    """Hold what was said in all to be the same at instants, whatever pieces it was said in."""
    at = np.random.default_rng(seed).uniform(0.0, 10.0, 80)
    first, second = accumulated(one, at), accumulated(two, at)
    for key in first.keys() | second.keys():
        blank = np.zeros(len(at)), np.zeros((len(at), 1))
        (count, values), (other, others) = first.get(key, blank), second.get(key, blank)
        np.testing.assert_array_equal(count, other)
        np.testing.assert_allclose(values, others, rtol=0, atol=1e-7)
