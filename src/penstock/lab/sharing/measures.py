"""Measures of sharing: what plans answer, what a segment costs in every part of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from time import thread_time

import numpy as np

from penstock.algebra.sharing import SharingPlan
from penstock.lab.sharing.workload import compared, filters, stock_segments, threshold
from penstock.lab.timing import alternate
from penstock.models.plans import SegmentPlan
from penstock.models.segments import Segments
from penstock.models.sharing.fixed_plans import covered
from penstock.models.sharing.shared_plans import SharedPlan
from penstock.models.sharing.unions import united
from penstock.models.sharing.workloads import SharedWorkload
from penstock.planning.sharing.statistics import UnitCosts

BATCH = 2_000
CALIBRATED = 10
"""How many queries unit costs are measured with."""


def differing(workload: SharedWorkload, plan: SharingPlan, segments: Segments) -> int:
    """Count the queries that a plan answers otherwise than they are answered alone."""
    made = SharedPlan(workload, plan).push(0, segments)
    count = 0
    for query, own in workload.queries.items():
        alone = SegmentPlan(own).push(0, segments)
        found = made.get(query, alone.take(np.zeros(0, np.int64)))
        same = len(found) == len(alone) and all(
            np.array_equal(getattr(found, name), getattr(alone, name))
            for name in ("serial", "sign", "low", "high")
        )
        count += not same
    return count


def seconds(
    workload: SharedWorkload, plans: Mapping[str, SharingPlan], segments: Segments, rounds: int
) -> dict[str, float]:
    """Give the best processor time of every plan for segments, the plans taking turns."""
    sides: dict[str, Callable[[], object]] = {}
    for name, plan in plans.items():
        sides[name] = partial(_pushed, SharedPlan(workload, plan), segments)
    return alternate(sides, rounds, thread_time)


def _pushed(plan: SharedPlan, segments: Segments) -> None:
    """Push segments batch by batch, as they come."""
    for begin in range(0, len(segments), BATCH):
        plan.push(0, segments.take(np.arange(begin, min(begin + BATCH, len(segments)))))


def calibrated(chance: np.random.Generator, count: int, rounds: int) -> UnitCosts:
    """Measure what a segment costs in a filter's parts, on this processor.

    A covering stage is measured where nothing passes; compensation is what it costs more where half
    of the segments pass, for each consumer. What is alone is measured where half passes at most.
    """
    segments = stock_segments(chance, count)
    half, none = (_nested(segments, share) for share in (0.5, 1e-6))
    alone = seconds(half, {"alone": half.unshared()}, segments, rounds)["alone"]
    some = seconds(half, {"cover": covered(half)}, segments, rounds)["cover"]
    cover = seconds(none, {"cover": covered(none)}, segments, rounds)["cover"]
    compensation = max(some - cover, 0.0) / (0.5 * CALIBRATED * count)
    some_segments = segments.take(np.arange(min(count, BATCH)))
    parts = [some_segments] * CALIBRATED
    union = alternate({"union": lambda: united(parts, 2)}, 3 * rounds, thread_time)["union"]
    each = union / sum(map(len, parts))
    return UnitCosts(
        cover=cover / count, compensation=compensation, union=each / 2, duplicates=each / 2,
        alone=alone / CALIBRATED / count,
    )  # fmt: skip


def _nested(segments: Segments, share: float) -> SharedWorkload:
    """Give filters of which the weakest lets a share through."""
    shares = np.linspace(0.1, 1.0, CALIBRATED) * share
    return filters(
        {
            query: (compared(0, "<", threshold(segments, 0, float(own))),)
            for query, own in enumerate(shares)
        }
    )
