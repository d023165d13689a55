"""EXPLAIN of views: what flushes cost, when which input is flushed, and at what price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.algebra.views import StandingView, ViewDefinition
from penstock.kinds.view.prices import Foretold, Price, drawn_prices, priced_bounds
from penstock.kinds.watch import Explained
from penstock.kinds.what_if import words_of
from penstock.language.assumptions import check_view_assumptions
from penstock.language.statements import Assumption
from penstock.operators.lookup.sources import masked
from penstock.operators.view.figures import (
    FLUSHED,
    FLUSHES,
    MISSES,
    PENDING,
    REFRESH_QUANTILE,
    REFRESH_WORST,
    REFRESHES,
    TURNS,
)
from penstock.planning.explanation import CHART, Explanation
from penstock.planning.figures import figure, seconds
from penstock.views.flushes import FlushStatements
from penstock.views.layout import ViewLayout
from penstock.views.maintenance.decisions import FlushPlan
from penstock.views.maintenance.schedules import Schedule
from penstock.views.postgresql_functions import indexes
from penstock.vocabulary.counts import counted
from penstock.vocabulary.figures import Tally


def plan_facts(asked: Explained, plan: FlushPlan | None, told: Tally) -> Explanation:
    """Add what is known of a view's costs and schedule; `told` are the figures of this run."""
    explanation, logical = asked.explanation, asked.logical
    if logical is None:
        return explanation
    definition = logical.definition
    names = [each.relation for each in definition.inputs]
    check_view_assumptions(asked.what_if, names)
    bound_s = next(
        (each.value for each in asked.what_if if each.what == "bound"), logical.bound_us / 1e6
    )
    facts = {
        "fresh within": seconds(bound_s),
        "store": masked(logical.store) if logical.store else "DuckDB, in the home",
        "what if": [words_of(each) for each in asked.what_if],
        **_costs(logical, plan, bound_s, asked.what_if),
        **_in_this_run(names, told),
        "maintained by": _statements(logical),
        "indexes": _lines(list(indexes(ViewLayout(definition)))) if logical.store else (),
    }
    return replace(explanation, facts={**explanation.facts, **facts})


def _costs(
    logical: StandingView, plan: FlushPlan | None, bound_s: float, what_if: Sequence[Assumption]
) -> dict[str, object]:
    """Say what flushes cost, and what a change does under a bound, and under others."""
    names = [each.relation for each in logical.definition.inputs]
    if plan is None:
        return {"cost": "not measured yet: every change is brought in at once until it is"}
    curves = []
    for name, curve in zip(names, plan.curves, strict=True):
        fit = curve.fit
        curves.append(
            f"{name}: {seconds(max(fit.fixed, 0.0))} a flush and {seconds(max(fit.each, 0.0))} a "
            f"change (a line explains {100 * max(fit.r_squared, 0.0):.0f} %)"
        )
    rates = any(each.what == "rate" for each in what_if)
    price = Price(
        plan=plan,
        foretold=Foretold.of(names, plan, what_if),
        bound_s=bound_s,
        rule=logical.policy,
        is_asked=bound_s == logical.bound_us / 1e6 and not rates,
    )
    return {
        "flush costs": _lines(curves),
        "changes come": price.foretold.words(names),
        "schedule": _lines(_every(names, price.planned)),
        "cost of a change": price.words(),
        "maintenance": price.work() and f"{price.work()} of the time, as planned",
        "worst refresh": seconds(price.worst_s),
        CHART: drawn_prices(priced_bounds(price)),
        "regret": f"{100 * plan.regret:.0f} % beyond the cheapest schedule in hindsight",
    }


def _in_this_run(names: Sequence[str], told: Tally) -> dict[str, object]:
    """Say what happened since the engine was started."""
    if not told[TURNS]:
        return {}
    inputs = enumerate(names)
    found: dict[str, object] = {
        "in this run": _lines(
            [
                f"{name}: {counted(told[FLUSHES, number], 'flush', 'flushes')} of "
                f"{counted(told[FLUSHED, number], 'change')}, "
                f"{counted(told[PENDING, number], 'waits', 'wait')}"
                for number, name in inputs
            ]
        )
    }
    if told[REFRESHES]:
        half, most = (told[REFRESH_QUANTILE, percentile] / 1e9 for percentile in (50, 99))
        times = (
            f"p50 {seconds(half)}, p99 {seconds(most)}, worst {seconds(told[REFRESH_WORST] / 1e9)}"
        )
        missed = {cause: count for cause, count in told.by(MISSES).items() if count}
        causes = ", ".join(f"{count:,} for a {cause}" for cause, count in missed.items())
        over = f"{sum(missed.values()):,} longer than the bound" + (f" ({causes})" * bool(causes))
        found["refreshes"] = f"{told[REFRESHES]:,}: {times}; {over}"
    return found


def _every(names: Sequence[str], schedule: Schedule) -> list[str]:
    """Say how often each input is flushed."""
    lines = []
    for name, flushed in zip(names, schedule.flushed[:-1].T, strict=True):
        sizes = flushed[flushed > 0]
        often = f"every {figure(sizes.mean())} changes" if len(sizes) else "when somebody asks"
        lines.append(f"{name} {often}")
    return lines


def _lines(items: Sequence[str]) -> tuple[tuple[str], ...]:
    """Give every item a line of its own."""
    return tuple((item,) for item in items)


def _statements(logical: StandingView) -> tuple[tuple[str], ...]:
    """Give the SQL that flushes each input."""
    definition: ViewDefinition = logical.definition
    layout = ViewLayout(definition)
    return _lines(
        [
            f"{each.relation}: {'; '.join(' '.join(own.split()) for own in texts)}"
            for number, each in enumerate(definition.inputs)
            if (texts := FlushStatements(layout, number).texts())
        ]
    )
