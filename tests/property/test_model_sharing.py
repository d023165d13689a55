"""Shared plans tell every query what it is told alone, however stages are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.models import ModelEnvelope
from penstock.models.plans import SegmentPlan
from penstock.models.segments import Segments
from penstock.models.shapes import source_shape
from penstock.models.sharing.envelopes import SharedEnvelope
from penstock.models.sharing.fixed_plans import covered, united
from penstock.models.sharing.shared_plans import SharedPlan
from penstock.models.sharing.unions import united as unite
from tests.oracle.model_unions import hulls
from tests.support.models import START, drawn, moved, segments, source
from tests.support.sharing import (
    SHAPES,
    assert_same_functions,
    assert_same_segments,
    drawn_workload,
    story,
    told_alone,
    told_together,
)

seeds = st.integers(0, 2**32 - 1)
NEAR = 1e-9
"""A root is the same instant in a shorter range, but for rounding."""
CONSUMERS = 70
"""More than a word has bits."""
ranges = st.tuples(st.integers(0, 6), st.integers(0, 3)).map(lambda r: (r[0], r[0] + r[1]))
origins = st.tuples(
    st.integers(0, 1), st.sampled_from([1, -1]), st.integers(0, 1), st.integers(0, 1)
)
rows = st.lists(st.tuples(st.integers(0, CONSUMERS - 1), origins, ranges), min_size=1, max_size=20)


@given(seed=seeds, shape=st.sampled_from(SHAPES), queries=st.integers(1, 5))
@settings(deadline=None, max_examples=100)
def test_cover_union_and_unshared_tell_the_same(seed: int, shape: str, queries: int) -> None:
    workload = drawn_workload(seed, shape, queries)
    changes = story(workload, seed)
    alone = {query: told_alone(plan, changes) for query, plan in workload.queries.items()}
    for plan in (covered(workload), united(workload), workload.unshared()):
        together = told_together(SharedPlan(workload, plan), workload, changes)
        for query, told in alone.items():
            if shape == "min" and plan == united(workload):
                assert_same_functions(told, together[query], seed)
                continue
            for one, two in zip(told, together[query], strict=True):
                assert_same_segments(one, two, NEAR if "join" in shape else 0.0)


@given(seed=seeds, function=st.sampled_from(["min", "max"]), consumers=st.integers(2, 4))
@settings(deadline=None, max_examples=25)
def test_envelopes_of_nested_parts_are_each_its_own(
    seed: int, function: Any, consumers: int
) -> None:
    node = ModelEnvelope(input=source(2), function=function, attribute=0, name="m")
    changes, _ = drawn(seed, [source(2)], 10.0)
    shared = SharedEnvelope(node, consumers, source_shape(source(2)))
    own = [SegmentPlan(node) for _ in range(consumers)]
    told: dict[int, list[Segments]] = {place: [] for place in range(consumers)}
    alone: dict[int, list[Segments]] = {place: [] for place in range(consumers)}
    for change in changes:
        given = moved(change.segments, START)
        # All have the first key; each has one more than the one before.
        parts = {place: given.take(given.key[:, 0] <= place) for place in range(consumers)}
        parts = {place: part for place, part in parts.items() if len(part)}
        for place, made in shared.push(parts).items():
            told[place].append(made)
            alone[place].append(own[place].push(0, parts[place]))
    for place in range(consumers):
        assert_same_functions(alone[place], told[place], seed)


def test_what_is_worse_than_what_all_have_is_asked_once() -> None:
    node = ModelEnvelope(input=source(1), function="min", attribute=0, name="m")
    shared = SharedEnvelope(node, 2, source_shape(source(1)))
    low = segments([((0,), 0, 0.0, 10.0, [[1.0, 0.1]], 1, 1)])
    high = segments([((1,), 0, 1.0, 9.0, [[5.0]], 1, 2)])
    shared.push({0: low, 1: low})
    made = shared.push({0: high})
    assert (len(made[0]), shared.quiet) == (0, 1)
    # Without what all have, it is the least of the one who has it.
    back = segments([((0,), 0, 0.0, 10.0, [[1.0, 0.1]], -1, 1)])
    made = shared.push({0: back, 1: back})
    assert made[0].sign.tolist() == [-1, 1] and made[1].sign.tolist() == [-1]
    assert made[0].coefficients[1, 0, 0] == 5.0
    # What one of them takes back is no longer what all have.
    shared.push({0: low, 1: low})
    shared.push({0: back})
    higher = segments([((1,), 0, 1.0, 9.0, [[4.0]], 1, 3)])
    assert shared.push({0: higher})[0].sign.tolist() == [-1, 1]


@given(parted=rows)
@settings(deadline=None)
def test_what_is_united_is_the_same_but_for_its_range(
    parted: list[tuple[int, tuple[int, int, int, int], tuple[int, int]]],
) -> None:
    by_consumer = [[each for each in parted if each[0] == n] for n in range(CONSUMERS)]
    parts = [
        segments([((key,), 0, low, high, [[value]], sign, serial)
                  for _, (key, sign, value, serial), (low, high) in own])
        if own
        else segments([((0,), 0, 0, 1, [[0]], 1, 0)]).take(np.zeros(0, np.int64))
        for own in by_consumer
    ]  # fmt: skip
    found = unite(parts)
    told = set()
    for n in range(len(found.hulls)):
        origin = (
            int(found.hulls.key[n, 0]), int(found.hulls.sign[n]),
            int(found.hulls.coefficients[n, 0, 0]), int(found.hulls.serial[n]),
        )  # fmt: skip
        has = [c for c in range(CONSUMERS) if found.of([c])[n]]
        told.add((origin, found.hulls.low[n], found.hulls.high[n], frozenset(has)))
    assert told == hulls([[(o, low, high) for _, o, (low, high) in own] for own in by_consumer])
    everything = np.ones(len(found.hulls), np.bool_)
    for n, part in enumerate(parts):
        assert_same_segments(found.part(n, everything), part)


@given(seed=seeds, shape=st.sampled_from(SHAPES), share=st.floats(0, 1))
@settings(deadline=None, max_examples=15)
def test_a_restored_plan_goes_on(seed: int, shape: str, share: float) -> None:
    workload = drawn_workload(seed, shape, 4)
    changes = story(workload, seed)
    half = int(share * len(changes))
    for plan in (covered(workload), united(workload)):
        one, two = SharedPlan(workload, plan), SharedPlan(workload, plan)
        for change in changes[:half]:
            one.advance(START + change.at_us)
            one.push(change.source, moved(change.segments, START))
        two.restore({name: array.copy() for name, array in one.arrays().items()})
        rest = changes[half:]
        first, second = (told_together(each, workload, rest) for each in (one, two))
        for query, told in first.items():
            for left, right in zip(told, second[query], strict=True):
                assert_same_segments(left, right)
