"""What stages over segments promise, each said by itself; twins hold them to all of it at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from penstock.algebra.models import ModelEnvelope, ModelFilter, ModelJoin, ModelWindow
from penstock.models.conditions import ConditionSolver
from penstock.models.plans import SegmentPlan
from penstock.models.segments import Segments
from penstock.models.sources import SegmentSource, SourceTolerances
from tests.support.model_rows import SECOND, constant_rows, model_source
from tests.support.models import START, accumulated, compared, drawn, moved, segments, source

UNTIL = 16.0


def window(function: Any, size: int, degree: int = 1) -> ModelWindow:
    return ModelWindow(
        input=source(degree), function=function, attribute=0, name="w", size_us=size * SECOND,
        slide_us=SECOND, group=(0,), gap="fail",
    )  # fmt: skip


def chain(rng: np.random.Generator, count: int, degree: int) -> Segments:
    """Give models of one key that follow each other without pauses, and jump."""
    ends = np.concatenate(([0.0], np.cumsum(rng.uniform(0.3, 3.0, count))))
    models = rng.normal(size=(count, degree + 1)) * 0.1 ** np.arange(degree + 1)
    return segments(
        [((1,), START, ends[n], ends[n + 1], [models[n].tolist()], 1, n) for n in range(count)]
    )


def values(said: Segments, at: np.ndarray) -> np.ndarray:
    """Give what is said of the only key; NaN where nothing is."""
    found = np.full(len(at), np.nan)
    for count, own in accumulated([said], at).values():
        found = np.where(count > 0, own[:, 0], found)
    return found


def ranges(said: Segments) -> tuple[np.ndarray, np.ndarray]:
    """Give from when to when segments hold."""
    begin = (said.reference - START) * 1e-6
    return begin + said.low, begin + said.high


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_powers_of_time_are_those_of_the_inputs_or_one_more(degree: int, seed: int) -> None:
    """Property 1, and 10: a window in one model has no power more than that."""
    given = source(degree)
    below = compared("<", (-1.0, (0,)), (1.0, (1,)))
    less = compared("<=", (-1.0, (0, 1)), (1.0, (1, 0)))
    plans: dict[str, Any] = {
        "filter": ModelFilter(input=given, condition=below),
        "join": ModelJoin(left=given, right=given, condition=less),
        "least": ModelEnvelope(input=given, function="min", attribute=0, name="m"),
        "greatest": ModelEnvelope(input=given, function="max", attribute=0, name="m"),
        "window max": window("max", 2, degree),
        "sum": window("sum", 2, degree),
        "avg": window("avg", 2, degree),
    }
    told = chain(np.random.default_rng(seed), 12, degree)
    for name, node in plans.items():
        plan = SegmentPlan(node)
        said = [plan.push(number, told) for number in range(len(plan.sources))]
        more = int(name in {"sum", "avg"})
        assert sum(map(len, said)) > 0, name
        for part in said:
            assert not part.coefficients[:, :, degree + more + 1 :].any(), name
    # Two seconds lie in one model.
    alone = segments([((1,), START, 0.0, 9.0, [[1.0, -2.0, 0.5][: degree + 1]], 1, 1)])
    (total,) = SegmentPlan(plans["sum"]).push(0, alone).coefficients[:, 0]
    assert total[degree] != 0.0
    assert np.abs(total[degree + 1 :]).max() <= 1e-12


def test_a_key_has_one_model_at_an_instant_and_a_replay_says_nothing(seed: int) -> None:
    """Property 5."""
    rng = np.random.default_rng(seed)
    made = SegmentSource(model_source(horizon_us=3 * SECOND), SourceTolerances.absolute(0.7))
    at = START + np.cumsum(rng.integers(1, SECOND, 200))
    rows = constant_rows(at, np.cumsum(rng.normal(size=200)), rng.integers(0, 3, 200))
    rows.coefficients[:, 0, 1] = rng.normal(size=200)
    said = made.process(rows)
    assert (said.sign < 0).any()
    behind = (at - START) * 1e-6 + 5e-7
    dense = np.concatenate([rng.uniform(0, 120, 500), behind, behind - 1e-6])
    for count, _ in accumulated([said], dense).values():
        assert set(count.tolist()) <= {0.0, 1.0}
    assert len(made.process(rows)) == 0


def test_joins_are_the_same_from_both_sides(seed: int) -> None:
    """Property 6."""
    one, two = source(1), source(2)
    plain = ModelJoin(left=one, right=two, equal=((0, 0),),
                      condition=compared("<", (-1.0, (0, 1)), (1.0, (1, 0))))  # fmt: skip
    turned = ModelJoin(left=two, right=one, equal=((0, 0),),
                       condition=compared("<", (-1.0, (1, 0)), (1.0, (0, 1))))  # fmt: skip
    changes, _ = drawn(seed, [one, two], UNTIL)
    at = np.random.default_rng(seed).uniform(0, UNTIL, 100)
    plan, other = SegmentPlan(plain), SegmentPlan(turned)
    said = accumulated([plan.push(c.source, moved(c.segments, START)) for c in changes], at)
    back = accumulated([other.push(1 - c.source, moved(c.segments, START)) for c in changes], at)
    assert said.keys() == {(b, a) for a, b in back}
    for (a, b), (count, own) in said.items():
        np.testing.assert_array_equal(count, back[b, a][0])
        np.testing.assert_allclose(own, back[b, a][1][:, ::-1], atol=1e-9)


def test_envelopes_are_the_greatest_of_what_there_is_in_any_order(seed: int) -> None:
    """Property 7; the least is the greatest of what is turned over."""
    rng = np.random.default_rng(seed)
    rows: list[Any] = [
        ((key,), START, *np.sort(rng.uniform(0, UNTIL, 2)).tolist(), [rng.normal(size=3)], 1, key)
        for key in range(8)
    ]
    at = rng.uniform(0, UNTIL, 300)
    own = np.array([values(segments([row]), at) for row in rows])
    there = ~np.isnan(own).all(axis=0)
    most = np.where(there, np.nanmax(np.where(there, own, 0.0), axis=0), np.nan)

    def told(function: Any, given: list[Any]) -> np.ndarray:
        node = ModelEnvelope(input=source(2), function=function, attribute=0, name="m")
        plan = SegmentPlan(node)
        parts = [plan.push(0, segments([row])) for row in given]
        ((count, found),) = accumulated(parts, at).values()
        np.testing.assert_array_equal(count, there)
        return np.where(there, found[:, 0], np.nan)

    for _ in range(3):
        order = [rows[place] for place in rng.permutation(len(rows))]
        np.testing.assert_allclose(told("max", order), most, atol=1e-9)
        over = [(*row[:4], [-row[4][0]], *row[5:]) for row in order]
        np.testing.assert_allclose(-told("min", over), most, atol=1e-9)


def test_sliding_extremes_are_constant_where_a_turn_is_inside(seed: int) -> None:
    """Property 8: else they are the head or the tail of the window, and never below either."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        turn, sharp = rng.uniform(-4, 14), rng.choice([-1.0, 1.0]) * rng.uniform(0.1, 3)
        model = [sharp * turn * turn, -2 * sharp * turn, sharp]
        given = segments([((1,), START, 0.0, 10.0, [model], 1, 1)])
        said = SegmentPlan(window("max", 2, 2)).push(0, given)
        at = rng.uniform(2, 10, 60)
        head, tail = (np.polyval(model[::-1], own) for own in (at, at - 2))
        assert (values(said, at) >= np.maximum(head, tail) - 1e-9).all()
        flat = said.take(~said.coefficients[:, 0, 1:].any(axis=1) & (said.high > said.low + 1e-9))
        is_inside = sharp < 0 and 1e-6 < turn < 10 - 1e-6 and turn + 2 > 2
        assert (len(flat) > 0) == is_inside
        if is_inside:
            low, high = ranges(flat)
            assert low.min() == pytest.approx(max(turn, 2.0), abs=1e-6)
            assert high.max() == pytest.approx(min(turn + 2, 10.0), abs=1e-6)


def test_sums_go_on_where_models_jump_and_averages_lie_between_extremes(seed: int) -> None:
    """Property 9."""
    rng = np.random.default_rng(seed)
    given = chain(rng, 15, 2)
    until = float(given.high.max())
    said = {name: SegmentPlan(window(name, 2, 2)).push(0, given)
            for name in ("sum", "avg", "min", "max")}  # fmt: skip
    starts, ends = ranges(said["sum"])
    order = np.argsort(starts)
    starts, ends = starts[order], ends[order]
    assert (starts[0], ends[-1]) == pytest.approx((2.0, until))
    np.testing.assert_allclose(starts[1:], ends[:-1], atol=1e-9)
    before, behind = (values(said["sum"], starts[1:] + own) for own in (-1e-7, 1e-7))
    np.testing.assert_allclose(before, behind, atol=1e-4)
    at = rng.uniform(2, until, 300)
    low, mean, high = (values(said[name], at) for name in ("min", "avg", "max"))
    assert (low <= mean + 1e-9).all() and (mean <= high + 1e-9).all()
    np.testing.assert_allclose(values(said["sum"], at), 2 * mean, atol=1e-9)


def test_rows_inside_their_bound_solve_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Property 16 and check 9: what is solved are beginnings, violations and expiries."""
    solved: list[int] = []
    own = ConditionSolver.restrict

    def counted(solver: ConditionSolver, given: Segments) -> Segments:
        solved.append(len(given))
        return own(solver, given)

    monkeypatch.setattr(ConditionSolver, "restrict", counted)
    rng = np.random.default_rng(4)
    made = SegmentSource(
        model_source(powers=1, horizon_us=20 * SECOND), SourceTolerances.absolute(1.0)
    )
    above = compared(">", (-2.0, (0,)), (1.0, (1,)))
    plan = SegmentPlan(ModelFilter(input=replace(window("avg", 5), input=source(0)),
                                   condition=above))  # fmt: skip
    levels = np.repeat(rng.normal(0, 4, 40), 25)
    noise = rng.uniform(-0.4, 0.4, 1000)
    noise[::25] = 0.0
    for n, value in enumerate((levels + noise).tolist()):
        said = made.process(constant_rows(START + np.array([n * SECOND]), np.array([value])))
        if len(said):
            plan.push(0, said)
    counts = made.counts
    assert counts["validated"] > 900
    assert len(solved) == 1 + counts["violations"] + counts["expiries"]
