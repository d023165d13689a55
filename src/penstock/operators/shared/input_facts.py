"""Facts for EXPLAIN of everything that joins inputs: what they are, and what is asked of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.algebra.crossings import CrossedShape, key_classes
from penstock.algebra.inputs import InputShape, InputsShape, Place
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.inputs import key_of_all


def input_facts(step: CrossedShape, entries: Mapping[str, pa.Table], class_: str) -> dict[str, Any]:
    """Describe the inputs of a step, what is asked of them, and how many ask."""
    names = input_names(step)
    key, table = key_of_all(step), entries.get(PORT)
    facts: dict[str, Any] = {
        "class": class_,
        "inputs": [_input(name, shape) for name, shape in zip(names, step.inputs, strict=True)],
        "keys": [
            " = ".join(_column(names, place) for place in places)
            for places in key_classes(step.crossing.equalities)
        ],
        "tests": _tests(step, names),
        "residual": [text for text in step.residuals if text],
        "shards": _column(names, (0, key[0])) if key else "one",
        "queries": table.num_rows if table is not None else 0,
    }
    return {"branches": [], **{name: fact for name, fact in facts.items() if fact}}


def input_names(step: InputsShape) -> list[str]:
    """Name the inputs by their relations; of those that are named twice, with their numbers."""
    often = Counter(shape.relation for shape in step.inputs)
    return [
        shape.relation if often[shape.relation] == 1 else f"{shape.relation}#{number}"
        for number, shape in enumerate(step.inputs)
    ]


def _input(name: str, shape: InputShape) -> dict[str, Any]:
    window = shape.window
    facts: dict[str, Any] = {
        "name": name,
        "relation": shape.relation,
        "window": _window(window.kind, window.size) if window else None,
        "event_time": shape.event_time,
        "lateness_us": shape.lateness_us,
        "equalities": [column for column, _ in shape.branch.equalities],
        "ranges": [column for column, _ in shape.branch.ranges],
        "residual": shape.branch.residual_sql,
    }
    return {name: fact for name, fact in facts.items() if fact}


def _window(kind: str, size: int) -> str:
    return f"ROWS {size}" if kind == "rows" else f"RANGE {size} MICROSECONDS"


def _column(names: list[str], place: Place) -> str:
    return f"{names[place[0]]}.{place[1]}"


def _tests(step: CrossedShape, names: list[str]) -> list[str]:
    crossing = step.crossing
    compared = [
        f"{_column(names, each.left)} {each.op} {_column(names, each.right)}"
        for each in crossing.comparisons
    ]
    apart = [
        f"{each.low} <= {_column(names, each.right)} - {_column(names, each.left)} <= {each.high}"
        for each in crossing.differences
    ]
    return [*compared, *apart]
