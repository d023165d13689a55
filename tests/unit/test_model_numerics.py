"""Numerics of models: the specification's vectors, maps, equalities and other types of models."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pytest

from penstock.algebra.models import ModelConjunction, ModelNegation, Polynomial
from penstock.kernels.comparisons import LEFT_OUT
from penstock.kernels.polynomial_roots import polynomials_bound
from penstock.kernels.polynomials import (
    ROUNDING,
    polynomial_derive,
    polynomial_evaluate,
    polynomial_integrate,
    polynomial_size,
    polynomial_slope,
    polynomials_evaluate,
    polynomials_shift,
)
from penstock.kernels.root_grids import BERNSTEIN, CELLS, TERMS, grid_roots, root_room
from penstock.kernels.root_isolation import bernstein_most, bernstein_write
from penstock.models.conditions import ConditionSolver, PolynomialMap
from penstock.models.equalities import equal_instants
from penstock.models.model_types import Model, PolynomialModel, TimePart, solve_one, solve_two
from tests.support.hard_polynomials import expanded, found_roots
from tests.support.model_conditions import attribute, compared, models, polynomial


def solved(condition: Any, rows: Any, low: float, high: float) -> list[tuple[float, float]]:
    made = models(rows)
    solver = ConditionSolver(condition, len(made))
    _, lows, highs = solver.solve(made[None], np.array([low]), np.array([high]))
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


def test_a_filter_below_a_price() -> None:
    """Vector 1."""
    below = compared(polynomial((-110.0, (0,)), (1.0, (1,))), "<")
    assert solved(below, [[100, 2]], 0, 10) == [(0, 5)]
    assert solved(ModelNegation(term=below), [[100, 2]], 0, 10) == [(5, 10)]


def test_a_join_of_a_line_and_a_parabola() -> None:
    """Check 2: the row is (3, 1, -0.5)."""
    difference = polynomial((-1.0, (0, 1)), (1.0, (1, 0)))
    rows = [[3.0, 2.0], [0.0, 1.0, 0.5]]
    made = PolynomialMap([difference], 2).models(models(rows)[None])
    assert made[0, 0, :4].tolist() == [3, 1, -0.5, 0]
    ((low, high),) = solved(compared(difference, "<"), rows, 0, 10)
    assert low == pytest.approx(1 + math.sqrt(7), rel=1e-15)
    assert high == 10


def test_slack_counts_what_does_not_hold() -> None:
    """Vector 5."""
    below = compared(polynomial((-5.0, (0,)), (1.0, (1,))), "<")
    line = models([[10, -1]])[None]
    assert ConditionSolver(below, 1).slack(line, np.zeros(1), np.full(1, 4.0)).tolist() == [1]
    both = ModelConjunction(terms=(compared(attribute(0, 2), "<"), compared(attribute(1, 2), "<")))
    solver, made = ConditionSolver(both, 2), models([[1], [-50]])[None]
    assert solver.slack(made, np.zeros(1), np.ones(1)).tolist() == [1]
    assert solver.slack(made, np.zeros(1), np.ones(1), fidelity="literal").tolist() == [50]
    # Touched, and not below: no result, and no slack.
    strict = compared(attribute(0, 1), "<")
    touched = models([[1, -2, 1]])[None]
    assert ConditionSolver(strict, 1).slack(touched, np.zeros(1), np.full(1, 3.0)).tolist() == [0]
    assert solved(strict, [[1, -2, 1]], 0, 3) == []


def test_a_system_of_equalities_has_the_instant_that_all_rows_share(seed: int) -> None:
    """Vector 12; the solver of trees, which knows nothing of null spaces, agrees."""
    rng = np.random.default_rng(seed)
    for degree in (1, 2, 3, 5):
        for count in (2, 3, 6):
            rows = rng.normal(size=(count, degree + 1))
            rows[:, 0] -= np.polynomial.polynomial.polyval(1.3, rows.T)
            found, always = equal_instants(rows, 0.0, 2.0)
            assert not always
            assert found.tolist() == pytest.approx([1.3], rel=1e-9)
            places = range(count)
            system = ModelConjunction(
                terms=tuple(compared(attribute(k, count), "=") for k in places)
            )
            ((low, high),) = solved(system, rows, 0, 2)
            assert low == high == pytest.approx(1.3, rel=1e-9)
            none, _ = equal_instants(np.vstack([rows, np.eye(1, degree + 1)]), 0.0, 2.0)
            assert none.tolist() == []
            assert equal_instants(rows, 1.4, 2.0)[0].tolist() == []
    nothing, always = equal_instants(np.zeros((2, 3)), 0.0, 1.0)
    assert always
    assert len(nothing) == 0
    # Fewer rows than powers: the roots of one that are roots of the other.
    pair = np.array([[2.0, -3.0, 1.0, 0.0], [-4.0, 4.0, 1.0, -1.0]])
    assert equal_instants(pair, 0.0, 3.0)[0].tolist() == pytest.approx([1.0, 2.0])
    assert equal_instants(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), 0.0, 3.0)[0].tolist() == [0]


def test_maps_are_products_and_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = rng.integers(-5, 5, (40, 2, 9)).astype(float)
    made[:, :, 3:] = 0
    squared = polynomial((1.0, (0, 2)), (-2.0, (1, 1)), (1.0, (2, 0)))
    mapped = PolynomialMap([squared, polynomial((7.0, (0, 0))), Polynomial(terms=())], 2)
    found = mapped.models(made)
    for i in range(40):
        apart = made[i, 0, :3] - made[i, 1, :3]
        assert found[i, 0].tolist() == [*np.convolve(apart, apart).tolist(), 0, 0, 0, 0]
    assert found[:, 1].tolist() == [[7.0] + [0.0] * 8] * 40
    assert not found[:, 2].any()
    assert (mapped.degree_of([2, 2]), mapped.degree_of([5, 0])) == (4, 10)
    made[0, 0, 5] = 1.0
    with pytest.raises(OverflowError, match="1 models have powers above 8"):
        mapped.models(made)
    # A condition has room for every power that its rows may reach.
    near = compared(polynomial((-1.0, (0,)), (1.0, (2,))), "<")
    assert solved(near, [[0] * 8 + [1]], 0, 2) == [(0, 1)]


def test_shifts_values_and_bounds_are_those_of_the_function(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = rng.normal(size=(50, 2, 9))
    later, at = rng.uniform(-1, 1, 50), rng.uniform(-1, 1, 50)
    shifted, one, two = np.empty_like(made), np.empty((50, 2)), np.empty((50, 2))
    polynomials_shift(made, later, shifted)
    polynomials_evaluate(shifted, at, one)
    polynomials_evaluate(made, at + later, two)
    np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)
    least, most = np.empty(50), np.empty(50)
    first = np.ascontiguousarray(made[:, 0])
    polynomials_bound(first, later, later + 1.5, least, most)
    grid = later[:, None] + np.linspace(0, 1.5, 301)
    values = (first[:, None, :] * grid[:, :, None] ** np.arange(9)).sum(axis=2)
    assert np.all(least <= values.min(axis=1) + 1e-12)
    assert np.all(most >= values.max(axis=1) - 1e-12)
    np.testing.assert_allclose(least, values.min(axis=1), atol=1e-2 * np.abs(values).max())
    area, back = np.empty(10), np.empty(10)
    polynomial_integrate(first[0], 8, area)
    polynomial_derive(area, 9, back)
    np.testing.assert_allclose(back[:9], first[0])
    assert polynomial_slope(area, 9, 0.3) == pytest.approx(polynomial_evaluate(first[0], 8, 0.3))


def test_what_is_no_number_holds_nowhere() -> None:
    for comparator in ("<", "<>", ">="):
        condition = compared(attribute(0, 1), comparator)
        for tree in (condition, ModelNegation(term=condition)):
            assert solved(tree, [[math.nan, 1]], 0, 1) == []
            assert solved(tree, [[0, math.inf]], 0, 1) == []


def test_leading_terms_that_are_noise_are_not_looked_at() -> None:
    """What is noise in a second may be much in a week: a range's own latest second decides."""
    equal = compared(attribute(0, 1), "=")
    assert solved(equal, [[0, 1e-13]], 0, 1) == [(0, 1)]
    assert solved(equal, [[0, 1e-13]], 0, 1e6) == [(0, 0)]
    assert solved(equal, [[1, 1e-13]], 0, 1) == []
    ((low, _),) = solved(compared(attribute(0, 1), ">"), [[-1, 0, 1e-12]], 0, 2e6)
    assert low == pytest.approx(1e6)


def isolated(roots: Any, low: float, high: float) -> list[float] | None:
    """Give the roots that a grid isolates of a product of (t - root); None where it is not sure."""
    degree = len(roots)
    model = expanded(np.asarray(roots, np.float64), 1.0)
    desk, room = root_room(degree + 1), np.empty((2, degree + 2))
    bernstein_write(model, degree, low, high - low, desk[TERMS], desk[BERNSTEIN])
    noise = 4.0 * ROUNDING * degree * polynomial_size(model, degree, max(abs(low), abs(high)))
    signs = np.empty(degree + 2, np.int8)
    signs[0] = 1 if desk[BERNSTEIN, 0] > 0 else -1
    most = bernstein_most(desk[BERNSTEIN], degree, noise)
    count = grid_roots(model, degree, low, high - low, noise, most, room[0], signs, desk)
    if count < 0:
        return None
    assert all(one == -other for one, other in pairwise(signs[: count + 1].tolist()))
    return room[0, :count].tolist()


def test_a_grid_isolates_roots_that_are_all_there_are(seed: int) -> None:
    """Pairs in one cell, too; what else hides in a cell, or is no root at all, is left open."""
    rng = np.random.default_rng(seed)
    cell = 10 / CELLS
    for degree in (3, 5, 8):
        places = np.sort(rng.choice(CELLS - 2, degree, replace=False)) + 1
        meant = (places + rng.uniform(0.2, 0.8, degree)) * cell - 3.0
        found = isolated(meant, -3.0, 7.0)
        assert found == pytest.approx(meant.tolist(), rel=1e-6, abs=1e-6)
        assert found == found_roots(expanded(meant, 1.0), -3.0, 7.0)[0].tolist()
    near = [1.0, 4.02, 4.05, 8.0]
    assert isolated(near, 0.0, 10.0) == pytest.approx(near)
    # Three in one cell are in several of a finer grid; closer ones are not.
    crowd = [1.0, 4.0, 4.02, 4.05]
    assert isolated(crowd, 0.0, 10.0) == pytest.approx(crowd)
    assert isolated([1.0, 4.0, 4.002, 4.005], 0.0, 10.0) is None
    assert isolated([1.0, 4.0, 4.0, 8.0], 0.0, 10.0) is None
    # An instant of the grid is a root.
    assert isolated([1.0, 5.0, 6.0], 0.0, 10.0) is None


@dataclass(frozen=True, slots=True)
class Wave:
    """A model of another type: sin(turn · t) + lift; it has differences with constants alone."""

    turn: float
    lift: float
    low: float
    high: float

    def pieces(self) -> Iterator[TimePart]:
        cuts = [self.low]
        if abs(self.lift) <= 1:
            base = math.asin(-self.lift)
            angles = [a + 2 * math.pi * k for k in range(-9, 9) for a in (base, math.pi - base)]
            times = sorted(angle / self.turn for angle in angles)
            cuts += [at for at in times if self.low < at < self.high]
        for low, high in pairwise([*cuts, self.high]):
            yield TimePart(low, low)
            yield TimePart(low, high)

    def value(self, at: float) -> float:
        return math.sin(self.turn * at) + self.lift

    def holds(self, piece: TimePart, comparator: Any) -> bool:
        value = self.value(0.5 * (piece.low + piece.high))
        value = 0.0 if abs(value) < 1e-12 else value
        return {"<": value < 0, "<=": value <= 0, "=": value == 0, "<>": value != 0,
                ">=": value >= 0, ">": value > 0}[comparator]  # fmt: skip

    def restricted(self, low: float, high: float) -> Self:
        return replace(self, low=low, high=high)

    def minus(self, other: Model) -> Model | None:
        if isinstance(other, PolynomialModel) and len(other.coefficients) == 1:
            low, high = max(self.low, other.low), min(self.high, other.high)
            return Wave(self.turn, self.lift - other.coefficients[0], low, high)
        return None


@dataclass(frozen=True, slots=True)
class Steps:
    """A model of a third type: a value for each second; it has no differences."""

    values: tuple[float, ...]
    low: float
    high: float

    def pieces(self) -> Iterator[TimePart]:
        for second in range(math.floor(self.low), math.ceil(self.high)):
            yield TimePart(max(second, self.low), min(second + 1, self.high))

    def value(self, at: float) -> float:
        return self.values[math.floor(at)]

    def holds(self, piece: TimePart, comparator: Any) -> bool:
        return PolynomialModel((self.value(piece.low),), 0, 1).holds(piece, comparator)

    def restricted(self, low: float, high: float) -> Self:
        return replace(self, low=low, high=high)

    def minus(self, other: Model) -> Model | None:
        return None


def test_other_types_of_models_are_solved_by_the_same_loops() -> None:
    wave = Wave(math.pi, 0.0, 0.0, 3.0)
    assert solve_one(wave, ">") == [TimePart(0, 1), TimePart(2, 3)]
    assert [p.low for p in solve_one(wave, "=") if p.is_instant] == pytest.approx([0, 1, 2])
    # It is compared with a number by their difference.
    half = solve_two(wave, PolynomialModel((0.5,), 0.0, 2.0), ">=")
    assert [(p.low, p.high) for p in half] == [pytest.approx((1 / 6, 5 / 6))]
    # Without a difference, the other is asked at the first one's own instants.
    steps = Steps((1.0, 3.0, 2.0, 9.0), 0.0, 4.0)
    assert solve_two(steps, PolynomialModel((0.0, 1.5), 0.0, 3.5), ">") == [
        TimePart(0, 2),
        TimePart(3, 3.5),
    ]
    assert solve_one(steps, "<") == []


def test_polynomials_are_solved_alike_by_loops_and_by_kernels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(100):
        one, two = (tuple(rng.integers(-4, 5, 3).astype(float).tolist()) for _ in range(2))
        for comparator in ("<", "<=", "=", "<>", ">=", ">"):
            pieces = solve_two(
                PolynomialModel(one, 0.0, 3.0), PolynomialModel(two, 0.5, 4.0), comparator
            )
            row = polynomial((-1.0, (0, 1)), (1.0, (1, 0)))
            found = solved(compared(row, comparator), [one, two], 0.5, 3.0)
            if comparator != "<>":
                assert [(p.low, p.high) for p in pieces] == found
                continue
            # The instants that lie between parts are left out with a little on both sides.
            ends = [[p.low for p in pieces], [p.high for p in pieces]]
            for own, meant in zip(zip(*found, strict=True), ends, strict=False):
                assert own == pytest.approx(meant, rel=0, abs=2 * LEFT_OUT)
            assert len(found) == len(pieces)
    assert solve_one(PolynomialModel((1.0, -1.0), 1.0, 1.0), "=") == [TimePart(1, 1)]
