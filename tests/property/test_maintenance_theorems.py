"""The theorems of asymmetric batch maintenance, on drawn problems that are also tried wholly."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from penstock.lab.maintenance.exhaustive import Exhaustive
from penstock.lab.maintenance.plans import sure
from penstock.lab.maintenance.workload import Arrivals, Shape, drawn_problem
from penstock.views.maintenance.optimum import hopes, optimal
from penstock.views.maintenance.policies import (
    FlushPolicy,
    Naive,
    Online,
    ReplayedSchedule,
    followed,
)
from penstock.views.maintenance.problems import Problem
from penstock.views.maintenance.rates import KnownRates, MeanRates, MovingRates
from penstock.views.maintenance.schedules import (
    Schedule,
    lazy_schedule,
    linear_schedule,
    minimal_schedule,
    shared_batches,
)

CLOSE = 1e-9
CASES = 60
SHAPES: tuple[Shape, ...] = ("linear", "concave", "any")
ARRIVALS: tuple[Arrivals, ...] = ("unit", "bernoulli", "bulk")


def drawn_schedule(problem: Problem, generator: np.random.Generator) -> Schedule:
    """A valid schedule that follows no rule."""
    pending = np.zeros(problem.arrivals.shape[1], np.int64)
    flushed = np.zeros_like(problem.arrivals)
    for moment, come in enumerate(problem.arrivals):
        pending += come
        flush = generator.integers(0, pending + 1)
        if moment == problem.last or problem.freshness.is_full(pending - flush):
            flush = pending.copy()
        flushed[moment] = flush
        pending -= flush
    return Schedule(problem=problem, flushed=flushed)


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_search_finds_what_trying_everything_finds(
    shape: Shape, arrivals: Arrivals, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    for case in range(CASES):
        problem = drawn_problem(generator, shape, arrivals, tables=1 + case % 3)
        found = sure(optimal(problem))
        assert found.cost == pytest.approx(Exhaustive(problem).cheapest_minimal().cost, abs=CLOSE)
        assert found.schedule.cost == pytest.approx(found.cost, abs=CLOSE)
        assert not found.again and not found.fell
        made = found.schedule
        assert made.is_valid and made.is_lazy and made.is_greedy and made.is_minimal


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("shape", SHAPES)
def test_hopes_are_never_too_high(shape: Shape, arrivals: Arrivals, seed: int) -> None:
    generator = np.random.default_rng(seed)
    for _ in range(CASES):
        problem = drawn_problem(generator, shape, arrivals, tables=1)
        fresh = problem.freshness
        told = hopes(fresh.curves.each[0], fresh.limit, problem.arrivals[:, 0], "safe")
        assert told[-1] <= Exhaustive(problem).cheapest_minimal().cost + CLOSE
        batch = fresh.curves.each[0].over(np.arange(len(told)))
        largest = fresh.curves.each[0].largest(fresh.limit, len(told) - 1)
        largest = min(largest + int(problem.arrivals.max()), len(told) - 1)
        for size in range(1, len(told)):
            parts = [batch[part] + told[size - part] for part in range(1, min(largest, size) + 1)]
            assert told[size] == pytest.approx(min(parts), abs=CLOSE)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_lazy_schedule_is_never_dearer(shape: Shape, seed: int) -> None:
    generator = np.random.default_rng(seed)
    for case in range(2 * CASES):
        problem = drawn_problem(generator, shape, ARRIVALS[case % 3])
        made = drawn_schedule(problem, generator)
        lazy = lazy_schedule(made)
        assert made.is_valid and lazy.is_valid and lazy.is_lazy
        assert lazy.cost <= made.cost + CLOSE


@pytest.mark.parametrize("shape", SHAPES)
def test_minimal_schedules_cost_at_most_twice(shape: Shape, seed: int) -> None:
    generator = np.random.default_rng(seed)
    for case in range(CASES):
        problem = drawn_problem(generator, shape, ARRIVALS[case % 3], last=4)
        tried = Exhaustive(problem)
        best = tried.cheapest()
        least = sure(optimal(problem)).cost
        assert tried.cheapest_lazy().cost == pytest.approx(best.cost, abs=CLOSE)
        assert best.cost - CLOSE <= least <= 2 * best.cost + CLOSE
        for given in (best, drawn_schedule(problem, generator)):
            made = minimal_schedule(given)
            assert made.is_valid and made.is_lazy and made.is_greedy and made.is_minimal
            for table, (mine, other) in enumerate(
                zip(made.table_costs, given.table_costs, strict=True)
            ):
                assert mine <= 2 * other + CLOSE
                assert_batches_are_shared(given, made, table)


def assert_batches_are_shared(given: Schedule, made: Schedule, table: int) -> None:
    """Lemmas 3 to 7: how the batches of one table in two schedules lie to each other."""
    theirs, ours = (np.flatnonzero(each.flushed[:, table]) for each in (given, made))
    came = np.repeat(np.arange(len(given.flushed)), given.problem.arrivals[:, table])
    for each, at in ((given, theirs), (made, ours)):
        for first in np.cumsum(each.flushed[at, table])[:-1].tolist():
            assert came[first - 1] <= came[first] - (each is made)
    for start, end in pairwise(theirs):
        assert ((ours >= start) & (ours < end)).sum() <= 1
    for start, end in pairwise(ours):
        assert ((theirs > start) & (theirs <= end)).sum() >= 1
    for moment, shared in zip(theirs, shared_batches(given, made, table), strict=True):
        assert (ours[shared] >= moment).sum() <= 1 and (ours[shared] < moment).sum() <= 1
    curve = given.problem.freshness.curves.each[table]
    batches = given.flushed[theirs, table]
    for number, shared in enumerate(shared_batches(made, given, table)):
        whole = curve(int(made.flushed[ours[number], table]))
        assert whole <= sum(curve(int(batches[other])) for other in shared) + CLOSE


def test_with_linear_costs_minimal_schedules_cost_no_more(seed: int) -> None:
    generator = np.random.default_rng(seed)
    for case in range(2 * CASES):
        problem = drawn_problem(generator, "linear", ARRIVALS[case % 3], last=4)
        best = Exhaustive(problem).cheapest()
        assert sure(optimal(problem)).cost == pytest.approx(best.cost, abs=CLOSE)
        made = linear_schedule(best)
        assert made.is_valid and made.is_lazy and made.is_greedy and made.is_minimal
        assert made.cost == pytest.approx(best.cost, abs=CLOSE)
        assert ((made.flushed > 0).sum(axis=0) <= (best.flushed > 0).sum(axis=0)).all()


def test_a_schedule_for_later_costs_little_more_if_the_refresh_comes_before(seed: int) -> None:
    """Theorem 5: at most one fixed cost of each table more; and sometimes that much."""
    generator = np.random.default_rng(seed)
    attained = 0
    for case in range(5 * CASES):
        whole = drawn_problem(generator, "linear", ARRIVALS[case % 3], last=8)
        plan = sure(optimal(whole)).schedule
        fixed = sum(curve.fit.fixed for curve in whole.freshness.curves.each)
        for last in range(1, 9):
            problem = whole.until(last)
            least = sure(optimal(problem)).cost
            sets = {moment: members for moment, members in plan.sets.items() if moment < last}
            assert Schedule.of_sets(problem, sets).cost - least <= fixed + CLOSE
            # As it is proved: what is planned for the last moment is paid, and then the rest.
            kept = Schedule(problem=problem, flushed=plan.flushed[: last + 1])
            more = kept.cost + problem.freshness.cost(plan.after[last]) - least
            assert more <= fixed + CLOSE
            attained += more >= fixed - CLOSE > CLOSE
            if last < whole.last:  # what is planned until then has no more fixed costs than that
                fits = [curve.fit for curve in whole.freshness.curves.each]
                planned = (plan.flushed[: last + 1] > 0).sum(axis=0) @ [own.fixed for own in fits]
                paid = least - problem.arrivals.sum(axis=0) @ [own.each for own in fits]
                assert planned <= paid + CLOSE
    assert attained


def test_a_schedule_that_is_repeated_costs_a_fixed_cost_per_round(seed: int) -> None:
    """Theorem 6, with rounds counted upwards; counted downwards it would be false."""
    generator = np.random.default_rng(seed)
    beyond = 0
    for case in range(CASES):
        period = int(generator.integers(2, 6))
        once = drawn_problem(generator, "linear", ARRIVALS[case % 3], last=period)
        plan = sure(optimal(once)).schedule
        fixed = sum(curve.fit.fixed for curve in once.freshness.curves.each)
        for last in range(1, 3 * period + 1):
            rounds = np.concatenate([np.zeros((1, 2), np.int64), *[once.arrivals[1:]] * 3])
            problem = Problem(freshness=once.freshness, arrivals=rounds[: last + 1])
            more = (
                followed(problem, ReplayedSchedule.of(plan, "time")).cost
                - sure(optimal(problem)).cost
            )
            assert more <= -(-last // period) * fixed + CLOSE
            beyond += more > last // period * fixed + CLOSE
    assert beyond


@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_every_policy_keeps_the_bound_at_every_moment(arrivals: Arrivals, seed: int) -> None:
    generator = np.random.default_rng(seed)
    for case in range(CASES):
        problem = drawn_problem(generator, SHAPES[case % 3], arrivals, tables=1 + case % 4, last=30)
        fresh, tables = problem.freshness, problem.arrivals.shape[1]
        plan = followed(problem.until(9), Naive(freshness=fresh))
        policies: list[FlushPolicy] = [
            Naive(freshness=fresh),
            Online(fresh, MeanRates(tables)),
            Online(fresh, MovingRates(tables)),
            Online(fresh, KnownRates([1.0] * tables)),
            ReplayedSchedule.of(plan, "seq"),
            ReplayedSchedule.of(plan, "time"),
        ]
        for number, policy in enumerate(policies):
            made = followed(problem, policy)
            assert made.is_valid and made.is_greedy
            if number in range(1, 4):
                assert made.is_lazy and made.is_minimal
