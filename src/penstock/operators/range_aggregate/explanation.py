"""Explaining: how a group of range aggregates is kept, as facts for EXPLAIN."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.algebra.range_aggregates import RangeAggregateStep, RangeMeasure
from penstock.operators.shared.entries import PORT

COLUMN = re.compile(r"\bc(\d+)\b")


def explain(step: RangeAggregateStep, entries: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Say what is kept of the rows, and what a change costs."""
    queries = entries.get(PORT)
    extreme = [each for each in step.measures if not each.is_total]
    added = [each for each in step.measures if each.is_total]
    told = {
        "values": "each query its old and its new value",
        "messages": "how all ranges change, whoever asks",
    }[step.form]
    facts: dict[str, Any] = {
        "branches": [],
        "tells": told,
        "ranges_of": " and ".join(name for name, _ in step.attributes),
        "partitioned_by": [name for name, _ in step.partition],
        "rows_with": _condition(step),
        "trees_for": [_shown(each) for each in extreme],
        "sums_for": [_shown(each) for each in added],
    }
    if step.form == "values":
        facts["ranges"] = 0 if queries is None else queries.num_rows
    return facts


def _condition(step: RangeAggregateStep) -> str | None:
    """Say the condition that all queries share in terms of columns."""
    if step.condition is None:
        return None
    return COLUMN.sub(lambda each: step.condition_columns[int(each[1])], step.condition)


def _shown(measure: RangeMeasure) -> str:
    """Name a measure as its user does."""
    if measure.is_set:
        return f"count(distinct {measure.column})"
    many = "" if measure.most is None else f", {measure.most}"
    return f"{measure.function}({measure.column or '*'}{many})"
