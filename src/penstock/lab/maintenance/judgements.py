"""Judgements: policies followed in a real store, held to their plans and to each other."""

from __future__ import annotations

from statistics import median

from penstock.lab.maintenance.bounds import PlannedBound
from penstock.lab.maintenance.measured import MeasuredView, PolicyRun, followed_for_real
from penstock.lab.maintenance.tpch import Updates
from penstock.lab.report import Findings, Table, at_least, at_most, timed
from penstock.lab.timing import say
from penstock.views.maintenance.policies import followed

AT_ONCE_SHARE = 5
"""Maintenance at once pays the same at every moment: a fifth of them are run."""
AT_ONCE = 5.0
WITHIN = 0.15
Taken = dict[str, list[PolicyRun]]
"""By policy, every time that it was followed."""


def by_turns(view: MeasuredView, plan: PlannedBound, moments: list[Updates], rounds: int) -> Taken:
    """Follow every policy once per round."""
    taken: Taken = {}
    for number in range(rounds):
        bound = 1000 * plan.freshness.bound
        say(f"{view.name}: bound {bound:.1f} ms, round {number + 1}")
        for name, policy in plan.policies().items():
            own = moments[: len(moments) // AT_ONCE_SHARE] if name == "immediate" else moments
            taken.setdefault(name, []).append(followed_for_real(view, own, policy))
    return taken


def judged(
    name: str, inputs: tuple[str, str], plan: PlannedBound, taken: Taken, least: float | None
) -> Findings:
    """Say what each policy took, and hold it to what was planned and to the others.

    `least` is what NAIVE must cost over ONLINE; None: whatever it does.
    """
    planned = {own: followed(plan.problem, each) for own, each in plan.policies().items()}
    shares = {own: AT_ONCE_SHARE if own == "immediate" else 1 for own in taken}
    took = {own: median(run.seconds for run in runs) * shares[own] for own, runs in taken.items()}
    yield Table.of(
        f"{name}: {plan.problem.last} updates of each table, bound "
        f"{1000 * plan.freshness.bound:.1f} ms",
        [
            {
                "policy": own,
                **{
                    table: shares[own] * runs[0].count(number)
                    for number, table in enumerate(inputs)
                },
                "planned_s": planned[own].cost,
                "flushes_s": took[own],
                "turns_s": shares[own] * median(run.turns for run in runs),
                "over_plan": took[own] / planned[own].cost,
                "naive_over": took["naive"] / took[own],
                "at_once_over": took["immediate"] / took[own],
                "regret": took[own] / took["optimum"] - 1,
            }
            for own, runs in taken.items()
        ],
    )
    differ = sum(
        run.count(table) != int((planned[own].flushed[:, table] > 0).sum())
        for own, runs in taken.items()
        for run in runs
        for table in range(len(inputs))
        if own != "immediate"
    )
    yield at_most(f"{name}: runs that flushed otherwise than planned", differ, 0)
    apart = took["naive"] / took["online"]
    off = {own: took[own] / each.cost - 1 for own, each in planned.items()}
    worst = max(("naive", "online", "simulate", "optimum"), key=lambda own: abs(off[own]))
    if least is not None:
        yield from timed(at_least(f"{name}: NAIVE over ONLINE", apart, least))
    yield from timed(
        at_least(f"{name}: at once over ONLINE", took["immediate"] / took["online"], AT_ONCE),
        at_most(f"{name}: measured off the plan, at most ({worst})", abs(off[worst]), WITHIN),
    )
    yield _explained(name, inputs, plan, apart)


def _explained(name: str, inputs: tuple[str, str], plan: PlannedBound, apart: float) -> str:
    """Say what the curves have to do with it."""
    one, other = (curve.fit for curve in plan.freshness.curves.each)
    changes = plan.problem.arrivals.sum(axis=0)
    each = float(one.each * changes[0] + other.each * changes[1])
    return (
        f"{name}: a flush of {inputs[0]} costs {1000 * one.fixed:.1f} ms and "
        f"{1000 * one.each:.3f} ms per change, one of {inputs[1]} {1000 * other.fixed:.1f} ms "
        f"and {1000 * other.each:.3f} ms. What flushing apart saves are fixed costs of the "
        f"table that waits: by these curves NAIVE costs {plan.naive.cost / plan.floor:.2f} times "
        "what no lazy, greedy, minimal schedule is below; without any fixed cost it would be "
        f"{plan.naive.cost / each:.2f} times the rest. Planned NAIVE over OPT is "
        f"{plan.gain:.2f}, measured NAIVE over ONLINE {apart:.2f}."
    )
