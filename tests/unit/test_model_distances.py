"""Joins that want a distance to be small make nothing of pairs that stay apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.algebra.models import ModelConjunction, ModelJoin
from penstock.models import joins
from penstock.models.conditions import ConditionSolver, PolynomialMap
from penstock.models.differences import differences_of, over_differences
from penstock.models.distances import distance_asked
from penstock.models.joins import LEFT, RIGHT, JoinStage, Side
from penstock.models.segments import WIDTH, Segments
from penstock.models.shapes import SegmentShape
from tests.support.model_conditions import attribute, compared, polynomial
from tests.support.model_queries import source

LINES = SegmentShape(key=1, degrees=(1, 1))
LIMIT = 5.0
APART = polynomial(
    (-(LIMIT**2), (0, 0, 0, 0)),
    *((1.0, tuple(2 * (k == own) for k in range(4))) for own in range(4)),
    (-2.0, (1, 0, 1, 0)), (-2.0, (0, 1, 0, 1)),
)  # fmt: skip


def join_of(condition: Any) -> ModelJoin:
    return ModelJoin(left=source(), right=source(), condition=condition)


def sailing(chance: np.random.Generator, count: int, far: float) -> Segments:
    """Draw lines; many are at rest, or pass at the limit exactly."""
    models = np.zeros((count, 2, WIDTH))
    models[:, :, 0] = far + chance.integers(-30, 31, (count, 2))
    models[:, :, 1] = (
        chance.integers(-3, 4, (count, 2)) * chance.choice([0.0, 1.0, 1e-7], count)[:, None]
    )
    low = chance.integers(0, 5, count).astype(float)
    high = low + chance.integers(0, 9, count).astype(float)
    reference = chance.integers(0, 3, count) * 1_000_000
    sign = chance.choice([-1, 1], count).astype(np.int8)
    return Segments(np.arange(count)[:, None], reference, low, high, models, sign, np.arange(count))


@pytest.mark.parametrize("comparator", ["<", "<="])
@pytest.mark.parametrize("far", [0.0, 1e4, 1e9])
def test_pairs_that_stay_apart_change_nothing(
    comparator: str, far: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(seed)
    near = compared(APART, comparator)
    rising = compared(attribute(0, 4), ">")
    node = join_of(ModelConjunction(terms=(rising, near)))
    quick = JoinStage(node, LINES, LINES)
    monkeypatch.setattr(joins, "distance_asked", lambda *_: None)
    plain = JoinStage(node, LINES, LINES)
    solved = {"quick": 0, "plain": 0}
    for name, stage in (("quick", quick), ("plain", plain)):

        def counted(pairs: Segments, own: Any = stage._restricted, name: str = name) -> Segments:
            solved[name] += len(pairs)
            return own(pairs)

        monkeypatch.setattr(stage, "_restricted", counted)
    standing = sailing(chance, 150, far)
    standing.sign[:] = 1
    told = 0
    arriving: tuple[tuple[Side, Segments], ...] = (
        (LEFT, standing), (RIGHT, sailing(chance, 150, far)),
    )  # fmt: skip
    for side, segments in arriving:
        one, two = (stage.push(side, segments) for stage in (quick, plain))
        for name in ("key", "reference", "low", "high", "coefficients", "sign", "serial"):
            assert np.array_equal(getattr(one, name), getattr(two, name)), name
        told += len(one)
    assert told > 100
    if far < 1e9:  # Farther away, rounding hides how far apart they are.
        assert solved["quick"] < 0.6 * solved["plain"]


@pytest.mark.parametrize("far", [0.0, 5e6, 1e9, 1e14])
def test_a_distance_far_from_zero_loses_no_digits(far: float) -> None:
    """Of `(a - b)²` as `a² - 2ab + b²` nothing would be left of two positions that are near."""
    apart = polynomial(*((each.factor, each.powers) for each in APART.terms if any(each.powers)))
    models = np.zeros((1, 4, WIDTH))
    models[0, :, 0] = far, -far, far + 3.0, -far + 4.0
    models[0, :, 1] = 0.25, 0.5, 0.25, 0.5
    found = PolynomialMap([apart], 4).models(models)[0, 0]
    assert found.tolist() == [25.0, *[0.0] * (WIDTH - 1)]
    solver = ConditionSolver(compared(apart, "<=", "n"), 4, ["n"])
    one, two = np.zeros(1), np.ones(1)
    for number, holds in ((24.9, 0), (25.0, 1)):
        assert len(solver.solve(models, one, two, np.array([[number]]))[0]) == holds


def test_pairs_that_a_polynomial_tells_apart() -> None:
    """Only where both may be moved by one amount is their difference all that it knows."""
    assert differences_of(APART) == ((0, 2), (1, 3))
    kept = over_differences(APART, differences_of(APART))
    assert {each.powers for each in kept.terms} == {(0, 0, 0, 0), (2, 0, 0, 0), (0, 2, 0, 0)}
    product = polynomial((1.0, (1, 1)))
    sum_squared = polynomial((1.0, (2, 0)), (2.0, (1, 1)), (1.0, (0, 2)))
    line = polynomial((1.0, (1, 0)), (-1.0, (0, 1)))
    cube = polynomial((1.0, (3, 0)), (-3.0, (2, 1)), (3.0, (1, 2)), (-1.0, (0, 3)))
    assert [differences_of(each) for each in (product, sum_squared, line)] == [(), (), ()]
    assert over_differences(cube, differences_of(cube)).terms == polynomial((1.0, (3, 0))).terms


def test_other_conditions_ask_for_no_distance() -> None:
    near = compared(APART, "<")
    assert distance_asked(join_of(near), LINES, LINES) is not None
    curves = SegmentShape(key=1, degrees=(2, 1))
    assert distance_asked(join_of(near), curves, LINES) is None
    assert distance_asked(join_of(compared(APART, ">")), LINES, LINES) is None
    # Both attributes are of one side.
    own = polynomial((1.0, (2, 0, 0, 0)), (1.0, (0, 2, 0, 0)), (-2.0, (1, 1, 0, 0)))
    assert distance_asked(join_of(compared(own, "<")), LINES, LINES) is None
