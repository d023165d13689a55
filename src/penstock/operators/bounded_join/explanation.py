"""Explaining: what a group of bounded joins looks like, as facts for EXPLAIN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.algebra.bounded_joins import BoundedJoinStep
from penstock.algebra.inputs import WindowLength
from penstock.operators.bounded.forecast_curves import Curve
from penstock.operators.bounded.forecasts import curve_facts
from penstock.operators.bounded.law_fits import Fitter
from penstock.operators.bounded.policies_named import policy_note
from penstock.operators.bounded_join.keys import is_numeric
from penstock.operators.bounded_join.shapes import shape_of
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.input_facts import input_facts

SECOND_US = 1_000_000
NOT_FORECAST = (
    "What a memory brings that several joins share is not forecast; a run tells its recall."
)


def explain(step: BoundedJoinStep, entries: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Describe the streams of a step, its budget, and what the laws say that it will bring."""
    memory = step.memory
    note = policy_note(memory.policy, streams=len(step.inputs))
    return {
        **input_facts(step, entries, "bounded join"),
        "waiting_max": step.waiting,
        **(_shared_facts(entries) if step.shared else {}),
        "memory_rows": memory.rows,
        "policy": memory.policy,
        **({"policy_from": note} if note is not None else {}),
        "options": dict(memory.options),
        "laws": [
            {"family": law.family, **law.parameters}
            for _, law in zip(step.inputs, _laws(step), strict=True)
        ],
        "keys_count": is_numeric(step),
        "curve": forecast(step),
    }


def _shared_facts(entries: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Tell which joins share a memory, and how many ask each."""
    joins = []
    for _, table in sorted(entries.items()):
        if table.num_rows:
            facts = input_facts(shape_of(table), {PORT: table}, "bounded join")
            asked = [*facts.get("keys", ()), *facts.get("tests", ()), *facts.get("residual", ())]
            joins.append({"asks": " AND ".join(asked), "queries": table.num_rows})
    return {"queries": sum(join["queries"] for join in joins), "joins": joins}


def _laws(step: BoundedJoinStep) -> tuple[Any, ...]:
    laws = step.memory.laws
    return laws * len(step.inputs) if len(laws) == 1 else laws


def forecast(step: BoundedJoinStep, rates: Sequence[float | None] = (None, None)) -> dict[str, Any]:
    """Forecast recall against memory from the laws as they are declared.

    `rates` are rows per second of both streams: windows of time are counted in ticks by them, and
    left out of account where they are not known. Of a memory that joins share nothing is forecast.
    """
    if step.shared:
        return Curve(points=(), asked=step.memory.rows, notes=(NOT_FORECAST,)).to_json()
    numeric = is_numeric(step)
    fits = [Fitter(law, numeric=numeric).fit for law in _laws(step)]
    first, second = rates
    total = None if first is None or second is None else first + second
    per_tick = [1.0 if total is None or not own else 2.0 * own / total for own in rates]
    windows = [
        _ticks(shape.window, own, total) for shape, own in zip(step.inputs, per_tick, strict=True)
    ]
    facts = curve_facts(
        step.memory, [fit.law if fit else None for fit in fits], per_tick, tuple(windows)
    )
    if facts.get("points") and any(
        shape.window is not None and ticks is None
        for shape, ticks in zip(step.inputs, windows, strict=True)
    ):
        note = "Windows are left out of account: how many rows come in them is not known."
        facts["notes"] = [*facts.get("notes", ()), note]
    return facts


def _ticks(window: WindowLength | None, per_tick: float, total: float | None) -> float | None:
    """Give a window in ticks, of two rows each."""
    if window is None:
        return None
    if window.kind == "rows":
        return window.size / per_tick
    return None if total is None else window.size / SECOND_US * total / 2.0
