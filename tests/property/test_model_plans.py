"""Plans over segments say what dense evaluation finds, however their input is cut and divided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.models import (
    MappedAttribute,
    ModelDisjunction,
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelNegation,
    ModelWindow,
)
from penstock.models.plans import SegmentPlan
from penstock.models.segments import Segments
from tests.oracle.models import DensePlan
from tests.support.models import (
    ALWAYS,
    START,
    Change,
    accumulated,
    compared,
    drawn,
    moved,
    polynomial,
    source,
    sources_of,
)

UNTIL = 16.0
below = compared("<", (-1.0, (0,)), (1.0, (1,)))
above = compared(">", (1.0, (0,)), (1.0, (1,)))
less = compared("<", (-1.0, (0, 1)), (1.0, (1, 0)))


def window(function: Any, given: Any, size: float, **more: Any) -> ModelWindow:
    """Make a window over the first attribute, by the first key column unless it is said."""
    own: dict[str, Any] = {"group": (0,), "attribute": 0, "gap": "hold"} | more
    return ModelWindow(
        input=given, function=function, name="w", size_us=int(size * 1e6), slide_us=10**6, **own
    )


def mapped(given: Any, key: tuple[int, ...], *terms: Any, **more: Any) -> ModelMap:
    """Make a map to one attribute."""
    own = MappedAttribute(name="m", polynomial=polynomial(*terms), **more)
    return ModelMap(input=given, attributes=(own,), key=key)


def macd() -> ModelFilter:
    """Give the difference of two moving averages of one stream, where the short one is greater."""
    short, long = (window("avg", source(1), size) for size in (1.0, 3.0))
    joined = ModelJoin(left=short, right=long, condition=ALWAYS, equal=((0, 0),))
    difference = mapped(joined, (0,), (-1.0, (0, 1)), (1.0, (1, 0)))
    return ModelFilter(input=difference, condition=compared(">", (1.0, (1,))))


def vessels(limit: float = 4.0, size: float = 2.0, **more: Any) -> ModelFilter:
    """Give pairs whose average distance is small."""
    pairs = ModelJoin(
        left=source(1, attributes=2), right=source(1, attributes=2), condition=ALWAYS,
        unequal=((0, 0),),
    )  # fmt: skip
    square = [(1.0, (0, 0, 0, 2)), (-2.0, (0, 1, 0, 1)), (1.0, (0, 0, 2, 0)), (1.0, (0, 2, 0, 0)),
              (-2.0, (1, 0, 1, 0)), (1.0, (2, 0, 0, 0))]  # fmt: skip
    distance = mapped(pairs, (0, 1), *square, function="sqrt", tolerance=TOLERANCE)
    average = window("avg", distance, size, group=(0, 1), **more)
    return ModelFilter(input=average, condition=compared("<", (-limit, (0,)), (1.0, (1,))))


TOLERANCE = 0.01
PLANS: dict[str, Any] = {
    "filter": ModelFilter(input=source(2), condition=below),
    "tree": ModelFilter(
        input=source(2),
        condition=ModelDisjunction(
            terms=(ModelNegation(term=compared("<", (-2.0, (0,)), (1.0, (1,)))),
                   compared("<", (-1.0, (0,)), (1.0, (2,))))
        ),
    ),
    "join": ModelJoin(left=source(1), right=source(2), condition=less),
    "equal": ModelJoin(left=source(1), right=source(1), condition=less, equal=((0, 0),)),
    "unequal": ModelJoin(left=source(1), right=source(1), condition=ALWAYS, unequal=((0, 0),)),
    "product": mapped(ModelJoin(left=source(1), right=source(2), condition=less, equal=((0, 0),)),
                      (0,), (1.0, (0, 1)), (2.0, (1, 1))),
    "abs": mapped(source(2), (0,), (1.0, (1,)), function="abs"),
    "least": ModelEnvelope(input=source(2), function="min", attribute=0, name="m"),
    "greatest": ModelEnvelope(input=ModelFilter(input=source(1), condition=below), function="max",
                              attribute=0, name="m"),
    "window max": window("max", source(2), 1.5),
    "window min of all": window("min", source(1), 2.0, group=()),
    "window max of filtered": window("max", ModelFilter(input=source(1), condition=above), 1.0),
    "window max, zero": window("max", source(1), 1.0, gap="zero"),
    "sum": window("sum", source(2), 1.5),
    "sum, fail": window("sum", source(1), 1.5, gap="fail"),
    "sum of all, zero": window("sum", source(1), 2.0, group=(), gap="zero"),
    "avg of all": window("avg", source(1), 2.0, group=()),
    "avg of filtered": window("avg", ModelFilter(input=source(1), condition=above), 1.0),
    "envelope of averages": ModelEnvelope(input=window("avg", source(1), 1.0, gap="fail"),
                                          function="max", attribute=0, name="m"),
    "max of averages": window("max", window("avg", source(1), 1.0), 1.0),
    "macd": macd(),
    "vessels": vessels(),
    "vessels, short": vessels(1.5, 0.5),
    "vessels, fail": vessels(3.0, 1.0, gap="fail"),
}  # fmt: skip
LIMITS = {"vessels": 4.0, "vessels, short": 1.5, "vessels, fail": 3.0}
SELF = {"unequal", "macd", *LIMITS}
named = st.sampled_from(sorted(PLANS))
# A window in a window takes the twin too long.
dense = st.sampled_from(sorted(PLANS.keys() - {"max of averages"}))
seeds = st.integers(0, 2**32 - 1)


def story(name: str, seed: int) -> tuple[list[Change], list[Any]]:
    """Draw the changes of a plan's sources, and what holds in the end."""
    return drawn(seed, sources_of(PLANS[name]), UNTIL, shared=name in SELF)


def pushed(plan: SegmentPlan, changes: list[Change], *, advance: bool = False) -> list[Segments]:
    """Push changes one by one; give what was said."""
    said = []
    for change in changes:
        if advance:
            said.append(plan.advance(START + change.at_us))
        said.append(plan.push(change.source, moved(change.segments, START)))
    return said


def assert_same(name: str, one: dict[Any, Any], two: dict[Any, Any], near: float = 1e-7) -> None:
    for key in one.keys() | two.keys():
        if key not in one or key not in two:
            only = (one if key in one else two)[key]
            assert not only[0].any(), (name, key)
            continue
        np.testing.assert_allclose(one[key][0], two[key][0], atol=0.0, err_msg=f"{name} {key}")
        np.testing.assert_allclose(one[key][1], two[key][1], atol=near, rtol=near)


@given(name=dense, seed=seeds)
@settings(deadline=None, max_examples=60)
def test_what_was_said_is_dense_evaluation(name: str, seed: int) -> None:
    changes, finals = story(name, seed)
    said = pushed(SegmentPlan(PLANS[name]), changes)
    at = np.random.default_rng(seed).uniform(0.0, UNTIL, 24)
    found = accumulated(said, at)
    twin = DensePlan(PLANS[name], finals, UNTIL + 8)
    expected = twin.values(at)
    near = TOLERANCE if name in LIMITS else 1e-6
    near = 2e-3 if name.startswith(("window m", "max")) else near
    limited = name in LIMITS
    bare = twin.values(at, PLANS[name].input) if limited else {}
    for key, own in expected.items():
        count, values = found.get(key, (np.zeros(len(at)), np.zeros(own.shape)))
        there = np.atleast_1d(~np.isnan(own).any(axis=1))
        if limited:
            clear = np.logical_not(np.abs(bare[key][:, 0] - LIMITS[name]) <= TOLERANCE)
        else:
            clear = np.ones(len(at), bool)
        np.testing.assert_array_equal(count[clear], there[clear] * 1.0, err_msg=f"{name} {key}")
        sure = there & clear
        np.testing.assert_allclose(values[sure], own[sure], atol=near, rtol=near)
    assert all(key in expected or not count.any() for key, (count, _) in found.items())


@given(name=named, seed=seeds, data=st.data())
@settings(deadline=None, max_examples=40)
def test_pushes_may_be_divided_in_any_way(name: str, seed: int, data: st.DataObject) -> None:
    changes, _ = story(name, seed)
    at = np.random.default_rng(seed).uniform(0.0, UNTIL, 60)
    one = accumulated(pushed(SegmentPlan(PLANS[name]), changes), at)
    plan = SegmentPlan(PLANS[name])
    said = []
    # Sources one after the other, each in a few pushes.
    for number in range(len(plan.sources)):
        own = [moved(c.segments, START) for c in changes if c.source == number]
        size = data.draw(st.integers(1, max(len(own), 1)))
        parts = [Segments.joined(own[n : n + size]) for n in range(0, len(own), size)]
        said += [plan.push(number, part) for part in parts]
    assert_same(name, one, accumulated(said, at))


@given(name=named, seed=seeds)
@settings(deadline=None, max_examples=40)
def test_segments_may_be_cut_into_pieces(name: str, seed: int) -> None:
    changes, _ = story(name, seed)
    rng = np.random.default_rng(seed)
    at = rng.uniform(0.0, UNTIL, 60)
    one = accumulated(pushed(SegmentPlan(PLANS[name]), changes), at)
    cut = []
    for change in changes:
        given, share = change.segments, rng.uniform(0.1, 0.9, len(change.segments))
        middle = given.low + share * (given.high - given.low)
        first = Segments(given.key, given.reference, given.low, middle, given.coefficients,
                         given.sign, given.serial)  # fmt: skip
        last = Segments(given.key, given.reference, middle, given.high, given.coefficients,
                        given.sign, given.serial)  # fmt: skip
        cut.append(Change(change.source, change.at_us, Segments.joined([first, last])))
    assert_same(name, one, accumulated(pushed(SegmentPlan(PLANS[name]), cut), at))


@given(name=named, seed=seeds, share=st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=40)
def test_a_restored_plan_goes_on_bit_by_bit(name: str, seed: int, share: float) -> None:
    changes, _ = story(name, seed)
    half = int(share * len(changes))
    plan, other = SegmentPlan(PLANS[name]), SegmentPlan(PLANS[name])
    pushed(plan, changes[:half], advance=True)
    other.restore({each: array.copy() for each, array in plan.arrays().items()})
    assert other.sizes() == plan.sizes()
    for one, two in zip(pushed(plan, changes[half:]), pushed(other, changes[half:]), strict=True):
        for field in ("key", "reference", "low", "high", "coefficients", "sign", "serial"):
            np.testing.assert_array_equal(getattr(one, field), getattr(two, field))


@given(name=named, seed=seeds)
@settings(deadline=None, max_examples=40)
def test_what_is_forgotten_changes_nothing(name: str, seed: int) -> None:
    changes, _ = story(name, seed)
    at = np.random.default_rng(seed).uniform(0.0, UNTIL, 60)
    one = accumulated(pushed(SegmentPlan(PLANS[name]), changes), at)
    plan = SegmentPlan(PLANS[name])
    assert_same(name, one, accumulated(pushed(plan, changes, advance=True), at))
    plan.advance(START + 10**9)
    assert not any(plan.sizes().values())


@pytest.mark.parametrize("name", ["equal", "unequal", "window max", "sum of all, zero", "macd"])
def test_state_is_bounded(name: str) -> None:
    changes, _ = drawn(5, sources_of(PLANS[name]), 400.0, shared=name in SELF)
    plan = SegmentPlan(PLANS[name])
    most = 0
    for change in changes:
        plan.advance(START + change.at_us)
        plan.push(change.source, moved(change.segments, START))
        most = max(most, sum(plan.sizes().values()))
    assert most < 800, most
