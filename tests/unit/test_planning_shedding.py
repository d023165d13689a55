"""Shedding: the specification's numbers for one plan, for chains of filters, for time windows."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from penstock.planning.geometric import most_product
from penstock.planning.model import SelectionModel
from penstock.planning.selections import chain, ranked
from penstock.planning.shedding import breakpoints, shed, shed_filters
from penstock.vocabulary.errors import PenstockError

V = [100.0, 200.0, 700.0]
A = {"a": [60.0, 120.0, 70.0], "b": [10.0, 60.0, 210.0], "c": [110.0, 20.0, 770.0]}
"""Example 1: what the inputs of its three plans give and cost, by the cost of a row."""
CHEAP = SelectionModel(input=0, selectivity=0.25, cost_s=0.0005)
DEAR = SelectionModel(input=0, part="residual", selectivity=0.5, cost_s=0.001)


@pytest.mark.parametrize(
    ("plan", "passes", "output"),
    [
        ("a", (130 / 180, 130 / 180, 1.0), 916.67),
        ("b", (1.0, 190 / 270, 190 / 270), 733.33),
        ("c", (180 / 880, 1.0, 180 / 880), 363.64),
    ],
)
def test_the_drop_settings_of_example_1(
    plan: str, passes: tuple[float, ...], output: float
) -> None:
    found = shed(A[plan], V, 200)
    assert found.passes == pytest.approx(passes, abs=1e-12)
    assert found.output == pytest.approx(output, abs=0.01)
    assert found.used == pytest.approx(200)


def test_nothing_is_dropped_where_everything_fits() -> None:
    for bound in (250.0, 250.0 * (1 - 1e-13), 300.0):
        found = shed(A["a"], V, bound)
        assert found.passes == (1.0, 1.0, 1.0)
        assert found.output == 1000


def test_minimums_come_first() -> None:
    found = shed(A["a"], V, 200, [0.5, 0.5, 0.5])
    assert found.output == pytest.approx(916.67, abs=0.01)
    held = shed(A["a"], V, 125, [0.5, 0.5, 0.5])
    assert held.passes == (0.5, 0.5, 0.5)
    floor = shed(A["a"], V, 130, [0.5, 0.0, 0.0])
    assert floor.passes == pytest.approx((0.6, 0.2, 1.0))


def test_minimums_that_do_not_fit() -> None:
    with pytest.raises(PenstockError, match=r"PLN-020.*need 225.*bound is 200") as caught:
        shed([each / 100 for each in A["a"]], V, 2.0, [0.9, 0.9, 0.9])
    assert "Lower the minimums" in caught.value.remedy


def test_weights_decide_who_is_served_first() -> None:
    found = shed(A["a"], V, 70, weights=[100.0, 1.0, 1.0])
    assert found.passes == pytest.approx((1.0, 0.0, 1 / 7))
    assert found.output == pytest.approx(200)
    assert found.worth == pytest.approx(100 * 100 + 100)


def test_rows_that_cost_nothing_pass() -> None:
    found = shed([0.0, 10.0, 0.0], [5.0, 10.0, 0.0], 1.0)
    assert found.passes == pytest.approx((1.0, 0.1, 1.0))
    assert found.ratios == (inf, 1.0, inf)
    assert breakpoints([0.0, 10.0], [5.0, 10.0])[0].output == 5.0


@pytest.mark.parametrize(
    ("plan", "corners"),
    [
        ("a", [(0, 0), (70, 700), (250, 1000)]),
        ("b", [(0, 0), (10, 100), (280, 1000)]),
        ("c", [(0, 0), (20, 200), (900, 1000)]),
    ],
)
def test_the_corners_of_the_capacity_curve(plan: str, corners: list[tuple[int, int]]) -> None:
    found = [(each.used, each.output) for each in breakpoints(A[plan], V)]
    assert np.allclose(found, corners, rtol=1e-12)
    lifted = breakpoints(A[plan], V, [0.5, 0.5, 0.5])
    assert lifted[0].used == pytest.approx(sum(A[plan]) / 2)
    assert lifted[-1].output == pytest.approx(1000)


def test_the_two_selections_of_figure_4() -> None:
    assert chain(1000, [CHEAP, DEAR]) == pytest.approx([0.5, 0.25])
    assert chain(1000, [DEAR, CHEAP]) == pytest.approx([1.0, 0.25])
    assert ranked([DEAR, CHEAP]) == [CHEAP, DEAR]
    found = shed_filters(chain(1000, [DEAR, CHEAP]), 125.0, 1.0)
    assert found.passes == pytest.approx((0.8,)) and found.output == pytest.approx(100.0)
    kept = shed_filters(chain(1000, [CHEAP, DEAR]), 125.0, 1.0)
    assert kept.passes == (1.0,) and kept.output == 125.0


def test_a_minimum_of_a_chain() -> None:
    assert shed_filters([1.0, 0.25], 125.0, 1.0, 0.7).passes == (0.8,)
    with pytest.raises(PenstockError, match="PLN-020"):
        shed_filters([1.0, 0.25], 125.0, 1.0, 0.9)


def test_selections_that_refuse_nothing_come_last() -> None:
    idle = SelectionModel(input=0, selectivity=1.0, cost_s=0.0001)
    assert ranked([idle, DEAR])[-1] is idle


@pytest.mark.parametrize(
    ("bound", "outputs"),
    [
        (200.0, (705.88, 680.00, 195.40)),
        (100.0, (173.01, 280.01, 81.16)),
        (50.0, (38.07, 94.45, 26.69)),
    ],
)
def test_shares_that_shrink_windows(bound: float, outputs: tuple[float, ...]) -> None:
    pairs = (((1, 1, 0), 150.0), ((0, 1, 1), 180.0), ((1, 0, 1), 800.0))
    for (members, rate), expected in zip(pairs, outputs, strict=True):
        exponents = np.vstack([np.eye(3), [members]])
        costs = np.array([10.0, 20.0, 70.0, rate])
        y = most_product(np.ones(3), costs, exponents, bound, np.full(3, -30.0))
        assert 1000 * np.exp(y.sum()) == pytest.approx(expected, abs=0.01)
        assert costs @ np.exp(exponents @ y) <= bound * (1 + 1e-9)


def test_a_programme_without_room_gives_its_floors() -> None:
    floors = np.log([0.5, 0.5])
    y = most_product(np.ones(2), np.ones(2), np.eye(2), 1.0, floors)
    assert y == pytest.approx(floors)
    free = most_product(np.ones(2), np.ones(2), np.eye(2), 2.0, floors)
    assert free == pytest.approx([0.0, 0.0])
    fixed = most_product(np.ones(2), np.ones(2), np.eye(2), 1.25, np.array([0.0, -9.0]))
    assert np.exp(fixed) == pytest.approx([1.0, 0.25], rel=1e-6)
