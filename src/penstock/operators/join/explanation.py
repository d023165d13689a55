"""Explaining: what a group of joins looks like, as facts for EXPLAIN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.joins import JoinStep
from penstock.operators.join.options import Options
from penstock.operators.join.partition import HotspotTracker, maintainer
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.input_facts import input_names
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
    names = input_names(step)
    terms = [(name, side_terms(step, side)) for side, name in enumerate(names)]
    facts: dict[str, Any] = {
        "class": CLASSES[step.kind],
        "mode": step.mode,
        "keys": [" = ".join(_columns(names, pair)) for pair in step.keys],
        "band": " - ".join(reversed(_columns(names, step.band))) if step.band else None,
        "window": " near ".join(_columns(names, step.window)) if step.window else None,
        "index": [f"{name}.{own.primary.column}" for name, own in terms if own.primary],
        "verify": [f"{name}.{term.column}" for name, own in terms for term in own.further],
        "residual": [text for text in step.residuals if text],
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


def _columns(names: Sequence[str], pair: tuple[str, str]) -> list[str]:
    return [f"{name}.{column}" for name, column in zip(names, pair, strict=True)]


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
