"""Verdicts on filters: whether all standing filters of one shape keep up with their stream.

A group of filters is the planner's case of one input: its rows come at a rate, each takes so long,
and one drop box, at the source, is best (Ayad and Naughton 2004, Observation 2). What a row takes
is measured while the group runs; before, a built-in figure serves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.algebra.catalog import Relation
from penstock.kinds.planner_figures import RATE, Modelled, Origin, best_figure
from penstock.kinds.statistics import Statistics
from penstock.kinds.what_if import assume
from penstock.language.statements import Assumption
from penstock.planning.costs import Constant
from penstock.planning.figures import figure, percent, seconds
from penstock.planning.model import InputModel, JoinModel, SelectionModel
from penstock.planning.optimiser import Choices, Resources, optimise
from penstock.planning.planned import Planned

ROW_S = 0.6e-6
"""What a row takes, if nothing was measured: a million filters of two comparisons took so long."""
FREE = Constant(0.0)
"""What a row takes is all in the selection."""
LEAST = 1e-9
MATCHES = 1.0
"""How many results a row brings does not change the verdict: what it takes includes them."""


def planned_filter(
    relation: Relation,
    group: str,
    statistics: Statistics,
    options: Mapping[str, Any],
    what_if: Sequence[Assumption] = (),
) -> tuple[Planned, dict[str, Any]]:
    """Judge a group of filters; give the verdict and what it is based on, for EXPLAIN."""
    measured = statistics.filters.get(group, {})
    tags: dict[str, Origin] = {}
    rate, tags[f"rate({relation.name})"] = best_figure(
        statistics.rates.get(relation.name, measured.get("rate")), relation.rate, RATE
    )
    row_s, cost_from = measured.get("row_s", ROW_S), "measured" if measured else "built-in"
    minimum = float(options.get("minimum", 0.0))
    stream = InputModel(name=relation.name, rate=max(rate, LEAST), rows=1.0, minimum=minimum)
    model = JoinModel(inputs=(stream,), selections=(_asked(row_s),))
    assumed = assume(Modelled(model=model, tags=tags), options, what_if)
    if assumed.constant_s is not None:
        model = JoinModel(inputs=assumed.model.inputs, selections=(_asked(assumed.constant_s),))
        cost_from, row_s = "what if", assumed.constant_s
    else:
        model = assumed.model
    choices = Choices(shedding="subset" if options.get("shedding") == "subset" else "off")
    planned = optimise(model, FREE, resources_of(assumed.options), choices)
    return planned, {
        "verdict": _words(planned),
        "rate": f"{figure(model.inputs[0].rate)} rows/s [{assumed.tags[f'rate({relation.name})']}]",
        "cost": f"{seconds(row_s)} for a row and all filters of the group [{cost_from}]",
    }


def resources_of(options: Mapping[str, Any]) -> Resources:
    """Give what a group of filters may use."""
    given = {name: options[name] for name in ("processors", "headroom") if name in options}
    return Resources(**given)


def _asked(row_s: float) -> SelectionModel:
    return SelectionModel(input=0, selectivity=MATCHES, cost_s=row_s)


def _words(planned: Planned) -> str:
    """Say the verdict in a sentence."""
    needs = f"it needs {percent(planned.cpu)} of one processor"
    needs += f", and {percent(planned.bound)} may be used"
    if planned.verdict != "INSUFFICIENT":
        return f"{planned.verdict}: {needs}."
    if planned.shedding is None:
        return f"{planned.verdict}: {needs}; nothing may be dropped, so rows will wait ever longer."
    dropped = percent(1.0 - planned.shedding.passes[0])
    return f"{planned.verdict}: {needs}; once it is seen to fall behind, {dropped} of the rows go."
