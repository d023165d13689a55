"""Explaining: what a group of joins looks like, as facts for EXPLAIN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.joins import SIDES, JoinStep
from penstock.operators.join.options import Options
from penstock.operators.join.partition import HotspotTracker, maintainer
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.keys import float_keys, whole
from penstock.operators.shared.terms import PRIMARY, side_terms
from penstock.vocabulary.batches import Ints

CLASSES = {
    "select_join": "select-join",
    "band_join": "band join",
    "window_join": "window join",
}
NAMES = ("left", "right")


def explain(step: JoinStep, entries: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Describe how the joins of a step are found.

    Stabbing groups are those of the ranges that a change on one side probes the other with: for
    changes on the left, the ranges of the right side, and the other way round.
    """
    facts: dict[str, Any] = {
        "class": CLASSES[step.kind],
        "mode": step.mode,
        "keys": [f"{a} = {b}" for a, b in _named(step.keys)],
        "band": _difference(step),
        "window": " near ".join(_named((step.window,))[0]) if step.window else None,
        "index": [text for side in range(2) for text in _indexed(step, side)],
        "verify": [text for side in range(2) for text in _further(step, side)],
        "residual": _residuals(step),
        "default_plan": step.strategy,
    }
    table = entries.get(PORT)
    if table is not None and table.num_rows:
        groups = _groups(step, table)
        facts |= {
            "stabbing_number": {name: found["groups"] for name, found in groups.items()},
            "hot_groups": {name: found["hot_groups"] for name, found in groups.items()},
            "hotspot_coverage": {name: found["coverage"] for name, found in groups.items()},
        }
    return {"branches": [], **{name: fact for name, fact in facts.items() if fact}}


def _named(pairs: Any) -> list[tuple[str, str]]:
    return [(f"l.{left}", f"r.{right}") for left, right in pairs]


def _difference(step: JoinStep) -> str | None:
    return None if step.band is None else f"r.{step.band[1]} - l.{step.band[0]}"


def _indexed(step: JoinStep, side: int) -> list[str]:
    primary = side_terms(step, side).primary
    return [] if primary is None else [f"{SIDES[side]}.{primary.column}"]


def _further(step: JoinStep, side: int) -> list[str]:
    return [f"{SIDES[side]}.{term.column}" for term in side_terms(step, side).further]


def _residuals(step: JoinStep) -> list[str]:
    texts = (step.left.branch.residual_sql, step.right.branch.residual_sql, step.residual_sql)
    return [text for text in texts if text]


def _groups(step: JoinStep, table: pa.Table) -> dict[str, dict[str, Any]]:
    """Group the ranges of each direction as the operator does by default."""
    if step.kind == "band_join":
        return {"both": _grouped(step, _keys(table, "bl"), _keys(table, "bh"))}
    return {
        f"{name} changes": _grouped(step, *(_keys(table, end) for end in PRIMARY[1 - side]))
        for side, name in enumerate(NAMES)
    }


def _keys(table: pa.Table, name: str) -> Ints:
    values = whole(table.column(name)).to_numpy()
    if values.dtype == np.float64:
        return float_keys(values)[0]
    return np.array(values, dtype=np.int64)


def _grouped(step: JoinStep, lows: Ints, highs: Ints) -> dict[str, Any]:
    options = Options.of(step.tuning)
    scattered = maintainer(options.maintainer, options.epsilon)
    tracker = HotspotTracker(options.alpha, options.epsilon, scattered)
    tracker.insert(np.arange(len(lows), dtype=np.int32), lows, highs)
    hot = len(tracker.live())
    return {
        "groups": hot + len(tracker.scattered.live()),
        "hot_groups": hot,
        "coverage": tracker.hot_members / len(lows),
    }
