"""Explaining: what a group of bounded joins looks like, as facts for EXPLAIN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.algebra.bounded_joins import BoundedJoinStep, joined_pair
from penstock.algebra.inputs import WindowLength
from penstock.operators.bounded.caches import EVERY_OTHER
from penstock.operators.bounded.forecast_curves import Curve
from penstock.operators.bounded.forecasts import curve_facts
from penstock.operators.bounded.law_fits import Fitter
from penstock.operators.bounded.policies_named import policy_note
from penstock.operators.bounded_join.keys import is_numeric
from penstock.operators.bounded_join.shapes import joins_of, shape_of
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.input_facts import input_facts

SECOND_US = 1_000_000
OF_ALL = "The forecast is of all joins that share the memory; a run tells the recall of each."
NOBODY = "Nobody asks a join of this memory: nothing is kept, and nothing is forecast."


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
        "curve": forecast(step, entries),
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


def forecast(
    step: BoundedJoinStep, entries: Mapping[str, pa.Table], rates: Sequence[float | None] = ()
) -> dict[str, Any]:
    """Forecast recall against memory from the laws as they are declared.

    `rates` are rows per second of the streams: windows of time are counted in ticks by them, and
    left out of account where they are not known. Where joins share a memory, `entries` say which.
    """
    joins = EVERY_OTHER
    if step.shared:
        shapes = [shape_of(table) for table in entries.values() if table.num_rows]
        joins = joins_of(len(step.inputs), [joined_pair(shape.crossing) for shape in shapes])
        if not joins.any():
            return Curve(points=(), asked=step.memory.rows, notes=(NOBODY,)).to_json()
    numeric, width = is_numeric(step), len(step.inputs)
    fits = [Fitter(law, numeric=numeric).fit for law in _laws(step)]
    known = [rate for rate in rates if rate is not None]
    total = (sum(known) or None) if len(known) == width else None
    per_tick = [1.0] * width if total is None else [width * own / total or 1.0 for own in known]
    windows = [
        _ticks(shape.window, own, None if total is None else total / width)
        for shape, own in zip(step.inputs, per_tick, strict=True)
    ]
    facts = curve_facts(
        step.memory, [fit.law if fit else None for fit in fits], per_tick, tuple(windows),
        joins=joins,
    )  # fmt: skip
    notes = list(facts.get("notes", ()))
    if facts.get("points") and any(
        shape.window is not None and ticks is None
        for shape, ticks in zip(step.inputs, windows, strict=True)
    ):
        notes.append("Windows are left out of account: how many rows come in them is not known.")
    if facts.get("points") and step.shared:
        notes.append(OF_ALL)
    return {**facts, "notes": notes}


def _ticks(window: WindowLength | None, per_tick: float, ticks_s: float | None) -> float | None:
    """Give a window in ticks, of which `ticks_s` pass in a second."""
    if window is None:
        return None
    if window.kind == "rows":
        return window.size / per_tick
    return None if ticks_s is None else window.size / SECOND_US * ticks_s
