"""Conditions over models hold when their twin, exact arithmetic, says so."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.models import ModelConjunction, ModelDisjunction, ModelNegation
from penstock.kernels.comparisons import LEFT_OUT
from penstock.models import conditions
from penstock.models.conditions import ConditionSolver
from penstock.models.segments import WIDTH, Segments
from tests.oracle.model_conditions import holds, solutions, violation
from tests.support.hard_polynomials import fault, hard_polynomial
from tests.support.model_conditions import (
    COMPARATORS,
    attribute,
    built,
    compared,
    drawn_row,
    drawn_tree,
    models,
)

Pieces = list[tuple[float, float]]


def solved(tree: Any, rows: Any, low: float, high: float) -> Pieces:
    solver = ConditionSolver(built(tree, rows), len(rows))
    made = models([[float(c) for c in row] for row in rows])[None]
    _, lows, highs = solver.solve(made, np.array([low]), np.array([high]))
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


def distinct(rng: np.random.Generator, count: int) -> list[tuple[Fraction, ...]]:
    return list(dict.fromkeys(drawn_row(rng) for _ in range(count)))


def test_no_root_is_missed_that_is_certified(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(2000):
        kind, model, low, high = hard_polynomial(rng)
        told = fault(model, low, high)
        assert told is None, (kind, model.tolist(), low, high, told)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_trees_hold_when_their_exact_twin_says(drawn: int) -> None:
    """Roots at halves are exact in both: instants and flags are compared too."""
    rng = np.random.default_rng(drawn)
    rows = distinct(rng, 4)
    tree = drawn_tree(rng, rows, 3)
    low, high = sorted(rng.choice(9, 2, replace=False) / 2)
    meant = [(float(a), float(b)) for a, b in solutions(tree, Fraction(low), Fraction(high))]
    found = solved(tree, rows, low, high)
    assert len(found) == len(meant), (tree, low, high, found, meant)
    for own, other in zip(found, meant, strict=True):
        assert own == pytest.approx(other, abs=1e-6)
        assert (own[0] == own[1]) == (other[0] == other[1])
    for (_, end), (start, _) in pairwise(found):
        assert end < start
    # At a point there is one instant to be looked at.
    at = float(rng.choice([low, 0.5 * (low + high)]))
    assert solved(tree, rows, at, at) == ([(at, at)] if holds(tree, Fraction(at)) else [])


def test_ten_thousand_polynomials_agree_with_dense_sampling(seed: int) -> None:
    """Check 1: degree 1 to 5, six comparators; complements share the range between them."""
    rng = np.random.default_rng(seed)
    count = 10_000
    made = np.zeros((count, 1, WIDTH))
    degrees = rng.integers(1, 6, count)
    for k in range(6):
        made[degrees >= k, 0, k] = rng.normal(size=int(np.sum(degrees >= k)))
    lows = rng.uniform(-1, 1, count)
    highs = lows + rng.uniform(0.1, 4, count)
    shares = np.linspace(0, 1, 129)[None, :-1]
    at = lows[:, None] + shares * (highs - lows)[:, None]
    value = sum(made[:, 0, k, None] * at**k for k in range(6))
    lengths, found = {}, {}
    for comparator in COMPARATORS:
        solver = ConditionSolver(compared(attribute(0, 1), comparator), 1)
        index, low, high = solver.solve(made, lows, highs)
        assert np.all((lows[index] <= low) & (low <= high) & (high <= highs[index]))
        held = np.zeros(at.shape, bool)
        inside = (low[:, None] <= at[index]) & (at[index] < high[:, None])
        np.logical_or.at(held, index, inside)
        meant = {"<": value < 0, "<=": value < 0, "=": value * 0 > 1}
        meant |= {"<>": value != 0, ">=": value > 0, ">": value > 0}
        clear = np.abs(value) > 1e-6
        assert not np.any((held != meant[comparator]) & clear), comparator
        lengths[comparator] = np.bincount(index, high - low, count)
        # Instants come of `=`, or of what is touched.
        if comparator in {"<", ">", "<>"}:
            assert np.all(low < high)
        found[comparator] = np.bincount(index, minlength=count)
    for one, two in (("<", ">="), (">", "<=")):
        np.testing.assert_allclose(lengths[one] + lengths[two], highs - lows, rtol=1e-12)
    np.testing.assert_allclose(lengths["<>"], highs - lows - 2 * LEFT_OUT * found["="], rtol=1e-11)


def test_sets_of_time_are_combined_exactly(seed: int) -> None:
    """Property 3, with rows whose roots are anywhere: lengths obey inclusion and exclusion."""
    rng = np.random.default_rng(seed)
    made = rng.normal(size=(2000, 2, WIDTH))
    made[:, :, 4:] = 0
    low, high = np.zeros(2000), np.full(2000, 3.0)
    one, two = compared(attribute(0, 2), "<"), compared(attribute(1, 2), ">=")

    def length(condition: Any) -> Any:
        index, lows, highs = ConditionSolver(condition, 2).solve(made, low, high)
        return np.bincount(index, highs - lows, 2000)

    both, either = ModelConjunction(terms=(one, two)), ModelDisjunction(terms=(one, two))
    np.testing.assert_allclose(length(both) + length(either), length(one) + length(two), atol=1e-12)
    np.testing.assert_allclose(length(ModelNegation(term=both)), 3.0 - length(both), atol=1e-12)
    assert np.all(length(ModelConjunction(terms=())) == 3.0)
    assert np.all(length(ModelDisjunction(terms=())) == 0.0)


def test_solutions_do_not_depend_on_room_or_neighbours(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    made = rng.normal(size=(300, 2, WIDTH))
    low, high = -np.ones(300), np.full(300, 2.0)
    solver = ConditionSolver(
        ModelDisjunction(terms=(compared(attribute(0, 2), "="), compared(attribute(1, 2), "<"))), 2
    )
    meant = solver.solve(made, low, high)
    monkeypatch.setattr(conditions, "PIECES_MIN", 1)
    for part, own in zip(solver.solve(made, low, high), meant, strict=True):
        assert part.tolist() == own.tolist()
    alone = [solver.solve(made[i : i + 1], low[:1], high[:1]) for i in range(300)]
    assert [x for part in alone for x in part[1].tolist()] == meant[1].tolist()


def test_what_holds_in_the_whole_range_is_the_identical_segment(seed: int) -> None:
    """Property 4; what is touched lacks an instant, which has no length, and `<>` is divided."""
    rng = np.random.default_rng(seed)
    made = np.zeros((3, 1, WIDTH))
    made[:, 0, :3] = 1.0, -2.0, 1.0
    ranges = np.array([0.1, 0.2, 1.0]), np.array([2.3, 0.7, 1.0])
    segments = Segments(
        rng.integers(0, 9, (3, 2)), np.arange(3), *ranges, made,
        np.array([1, -1, 1], np.int8), np.array([7, 8, 9]),
    )  # fmt: skip
    for comparator in (">=", ">"):
        found = ConditionSolver(compared(attribute(0, 1), comparator), 1).restrict(segments)
        whole = 3 if comparator == ">=" else 2  # The point lies where it is touched.
        assert found.low.tolist() == segments.low[:whole].tolist()
        assert found.high.tolist() == segments.high[:whole].tolist()
    divided = ConditionSolver(compared(attribute(0, 1), "<>"), 1).restrict(segments)
    assert divided.serial.tolist() == [7, 7, 8]
    assert divided.low.tolist() == [0.1, 1 + LEFT_OUT, 0.2]
    assert divided.high.tolist() == [1 - LEFT_OUT, 2.3, 0.7]
    (point, last) = (
        ConditionSolver(compared(attribute(0, 1), each), 1).restrict(segments) for each in "=<"
    )
    assert (point.low.tolist(), point.high.tolist()) == ([1.0, 1.0], [1.0, 1.0])
    assert point.serial.tolist() == [7, 9]
    assert point.sign.tolist() == [1, 1]
    assert point.key.tolist() == segments.key[[0, 2]].tolist()
    assert len(last) == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_slack_is_the_least_violation(drawn: int) -> None:
    rng = np.random.default_rng(drawn)
    rows = [tuple(Fraction(int(c)) for c in rng.integers(-9, 9, 4)) for _ in range(3)]
    rows = list(dict.fromkeys(rows))
    comparators = [c for c in COMPARATORS if c != "<>"]
    parts = [("cmp", str(rng.choice(comparators)), row) for row in rows]
    tree = ("and", (parts[0], ("or", tuple(parts[1:])))) if len(parts) > 1 else parts[0]
    solver = ConditionSolver(built(tree, rows), len(rows))
    made = models([[float(c) for c in row] for row in rows])[None]
    (slack,) = solver.slack(made, np.zeros(1), np.full(1, 2.0)).tolist()
    sampled = [float(violation(tree, Fraction(k, 128))) for k in range(257)]
    assert slack <= min(sampled) + 1e-9
    # No row is steeper than 9 + 2 · 9 · 2 + 3 · 9 · 4, and half a step away from the samples.
    assert slack >= min(sampled) - 153 / 256
    found = solver.solve(made, np.zeros(1), np.full(1, 2.0))[0]
    if len(found):
        assert slack == 0.0


def test_perturbations_below_the_slack_never_make_a_result(seed: int) -> None:
    """Check 6: nothing is lost in 10^5 of them; the literal slack loses results."""
    rng = np.random.default_rng(seed)
    lost = {"repaired": 0, "literal": 0}
    tried = 0
    for comparators in (("<", ">="), ("<=", "<"), ("=", ">"), (">", ">=")):
        terms = tuple(compared(attribute(k, 2), c) for k, c in enumerate(comparators))
        solver = ConditionSolver(ModelConjunction(terms=terms), 2)
        made = np.zeros((2500, 2, WIDTH))
        made[:, :, :3] = rng.normal(size=(2500, 2, 3)) * (1.0, 1.0, 0.5)
        made[:, :, 0] += rng.choice([-3.0, 0.0, 3.0], (2500, 2))
        low, high = np.zeros(2500), rng.uniform(0.5, 2.0, 2500)
        for fidelity in lost:
            slack = solver.slack(made, low, high, fidelity=fidelity)  # type: ignore[arg-type]
            null = np.flatnonzero(slack > 0)
            for _ in range(25):
                moved = made[null].copy()
                # A line that stays within (-slack, slack) in the range.
                ends = rng.uniform(-1, 1, (len(null), 2, 2)) * slack[null, None, None]
                extreme = np.sign(ends) * slack[null, None, None]
                ends = np.where(rng.random(ends.shape) < 0.5, extreme, ends) * (1 - 1e-9)
                moved[:, :, 0] += ends[:, :, 0]
                moved[:, :, 1] += (ends[:, :, 1] - ends[:, :, 0]) / high[null, None]
                index, _, _ = solver.solve(moved, low[null], high[null])
                lost[fidelity] += len(np.unique(index))
                tried += len(null) * (fidelity == "repaired")
    assert tried >= 100_000
    assert lost["repaired"] == 0
    assert lost["literal"] > 0
