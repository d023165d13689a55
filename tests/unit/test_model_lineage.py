"""Lineage: which inputs made an output, and bounds that follow it."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.algebra.models import (
    MappedAttribute,
    ModelComparison,
    ModelConjunction,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelWindow,
    Monomial,
    Polynomial,
)
from penstock.models.lineage import (
    Cause,
    Lineage,
    accuracy_inverted,
    plan_inverted,
    slack_inverted,
)
from penstock.models.splits import Dependency, GradientSplit
from tests.support.model_rows import SECOND, model_source

ALWAYS = ModelConjunction(terms=())
PAIR = ModelJoin(left=model_source(1), right=model_source(1), condition=ALWAYS)


def segment(key: tuple[int, ...], low: int, high: int, *models: list[float]) -> Cause:
    """Give a segment whose models begin with it; times in seconds."""
    padded = np.array([[*model, 0.0, 0.0][:3] for model in models])
    return Cause(key, low * SECOND, low * SECOND, high * SECOND, padded)


def polynomial(*terms: tuple[float, tuple[int, ...]]) -> Polynomial:
    return Polynomial(terms=tuple(Monomial(factor=f, powers=p) for f, p in terms))


def mapped(*terms: tuple[float, tuple[int, ...]], tolerance: float = 0.0) -> ModelMap:
    made = MappedAttribute(name="m", polynomial=polynomial(*terms), tolerance=tolerance)
    return ModelMap(input=PAIR, attributes=(made,), key=(0, 1))


def test_a_key_and_an_instant_have_one_cause() -> None:
    lineage = Lineage()
    one, two = segment((1,), 0, 10, [1.0]), segment((1,), 4, 12, [2.0])
    lineage.note(one, [one])
    lineage.note(two, [two])
    assert lineage.causes((1,), 3 * SECOND) == (one,)
    assert lineage.causes((1,), 4 * SECOND) == lineage.causes((1,), 11 * SECOND) == (two,)
    assert lineage.causes((1,), 12 * SECOND) == lineage.causes((2,), 3 * SECOND) == ()
    lineage.evict(4 * SECOND)
    assert (len(lineage), lineage.causes((1,), 3 * SECOND)) == (1, ())


def test_a_lineage_is_limited() -> None:
    lineage = Lineage(causes_max=10)
    for k in range(100):
        lineage.note(segment((k,), k, k + 5, [0.0]), [])
    assert 1 <= len(lineage) <= 10
    assert lineage.outputs()[-1][0].key == (99,)


def test_bounds_follow_products_by_the_values_that_there_are() -> None:
    """The other factor is at most 20 in this segment; elsewhere it may be anything."""
    left, right = segment((1,), 0, 10, [2.0]), segment((2,), 0, 10, [0.0, 2.0])
    both = segment((1, 2), 0, 10, [2.0], [0.0, 2.0])
    product = mapped((1.0, (1, 1)))
    output = segment((1, 2), 0, 10, [0.0, 4.0])
    found = accuracy_inverted(product, output, [both], {0: (-1.0, 1.0)})
    assert found == {((1, 2), 0): (-0.025, 0.025), ((1, 2), 1): (-0.25, 0.25)}
    made, paired = Lineage(), Lineage()
    made.note(output, [both])
    paired.note(both, [left, right])
    led = plan_inverted([(product, made), (PAIR, paired)], {0: (-1.0, 1.0)})
    assert led == {((1,), 0): (-0.025, 0.025), ((2,), 0): (-0.25, 0.25)}
    later = segment((1, 2), 5, 10, [0.0, 4.0])
    gradient = accuracy_inverted(product, later, [both], {0: (-1.0, 1.0)}, GradientSplit(0.0))
    assert gradient[((1, 2), 1)] == (-0.5, 0.5)


def test_keys_outside_the_lineage_are_given_nothing() -> None:
    """A pair that made nothing stands in the join all the same."""
    pairs = {
        (k, k + 1): (segment((k,), 0, 10, [1.0]), segment((k + 1,), 0, 10, [2.0])) for k in (1, 3)
    }
    told, paired = Lineage(), Lineage()
    for key, (left, right) in pairs.items():
        both = segment(key, 0, 10, [1.0], [2.0])
        paired.note(both, [left, right])
        if key == (1, 2):
            told.note(segment(key, 0, 10, [3.0]), [both])
    total = mapped((1.0, (1, 0)), (1.0, (0, 1)))
    led = plan_inverted([(total, told), (PAIR, paired)], {0: (-1.0, 1.0)})
    assert led == {((1,), 0): (-0.5, 0.5), ((2,), 0): (-0.5, 0.5)}


def test_tolerances_of_functions_are_taken_off_first() -> None:
    both = segment((1, 2), 0, 10, [2.0], [1.0])
    near = mapped((1.0, (1, 0)), (-1.0, (0, 1)), tolerance=0.2)
    output = segment((1, 2), 0, 10, [1.0])
    found = accuracy_inverted(near, output, [both], {0: (-1.0, 1.0)})
    assert found == {((1, 2), 0): (-0.4, 0.4), ((1, 2), 1): (-0.4, 0.4)}


def test_what_only_a_condition_speaks_of_has_a_part() -> None:
    below = ModelComparison(polynomial=polynomial((-5.0, (0, 0)), (1.0, (0, 1))), comparator="<")
    stage = ModelFilter(input=model_source(2), condition=below)
    given = segment((1,), 0, 10, [1.0], [2.0])
    assert accuracy_inverted(stage, given, [given], {0: (-1.0, 1.0)}) == {
        ((1,), 0): (-0.5, 0.5), ((1,), 1): (-0.5, 0.5),
    }  # fmt: skip
    both = accuracy_inverted(stage, given, [given], {0: (-1.0, 1.0), 1: (-2.0, 2.0)})
    assert both == {((1,), 0): (-1.0, 1.0), ((1,), 1): (-2.0, 2.0)}


def test_sums_of_windows_divide_among_keys_and_by_seconds() -> None:
    stage = ModelWindow(
        input=model_source(1), function="sum", attribute=0, name="w", size_us=10 * SECOND,
        slide_us=SECOND,
    )  # fmt: skip
    keys = [segment((k,), 0, 10, [1.0]) for k in (1, 2)]
    found = accuracy_inverted(stage, segment((), 0, 10, [20.0]), keys, {0: (-1.0, 1.0)})
    assert found == {((1,), 0): (-0.05, 0.05), ((2,), 0): (-0.05, 0.05)}


def test_ways_that_meet_allow_what_both_do() -> None:
    given = segment((1,), 0, 10, [1.0])
    lineage = Lineage()
    lineage.note(segment((1, 7), 0, 10, [1.0], [1.0]), [given, given])
    found = plan_inverted([(PAIR, lineage)], {0: (-1.0, 1.0), 1: (-0.5, 2.0)})
    assert found == {((1,), 0): (-0.5, 1.0)}


def test_slack_is_divided_like_bounds() -> None:
    inputs = [Dependency((k,), 0, np.array([0.0, 1.0])) for k in (1, 2)]
    found = slack_inverted(1.0, inputs, [1.0, 2.0], 0.0, 4.0)
    assert found[((1,), 0)] == (-0.5, 0.5)
    assert found[((2,), 0)] == pytest.approx((-0.25, 0.25))
