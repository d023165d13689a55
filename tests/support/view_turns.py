"""A small view and somebody who takes its turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.algebra.views import (
    Aggregate,
    AggregateFunction,
    ViewColumn,
    ViewDefinition,
    ViewInput,
)
from penstock.views.protocol import ViewStore
from tests.oracle.views import Change, as_changes

R = ViewInput(relation="r", alias="r", columns=(("k", pa.int64()), ("x", pa.float64())))
S = ViewInput(relation="s", alias="s", columns=(("k", pa.int64()), ("t", pa.string())))
JOIN = '"r"."k" = "s"."k"'
X, T = '"r"."x"', '"s"."t"'


def aggregate(function: AggregateFunction, number: int = 0) -> Aggregate:
    """Give an aggregate of r.x."""
    counts = function in {"count", "count_distinct"}
    return Aggregate(
        name=f"a{number}", function=function, argument=X, argument_type=pa.float64(),
        type=pa.int64() if counts else pa.float64(),
    )  # fmt: skip


def grouped(*functions: AggregateFunction, keyed: bool = True, **more: Any) -> ViewDefinition:
    """Give a view of r joined with s that aggregates r.x, by s.t if it is keyed."""
    keys = (ViewColumn(name="g0", sql=T, type=pa.string()),) if keyed else ()
    found = tuple(aggregate(each, number) for number, each in enumerate(functions))
    outputs = tuple(
        ViewColumn(name=each.name.upper(), sql=each.name, type=each.type)
        for each in (*keys, *found)
    )
    given = {"name": "v", "dialect": "duckdb", "outputs": outputs, **more}
    return ViewDefinition(
        inputs=(R, S), conditions=(JOIN,), is_grouped=True, keys=keys, aggregates=found, **given
    )


class Driver:
    """Takes turns that flush what they are told to."""

    def __init__(self, store: ViewStore) -> None:
        self.store = store
        store.create()

    def turn(self, *changes: Sequence[Change], flush: Sequence[int] | None = None) -> list[Any]:
        """Take the next turn; give what it tells."""
        inputs = self.store.definition.inputs
        tables = {
            number: as_changes(inputs[number], list(own)) for number, own in enumerate(changes)
        }
        chosen = range(len(inputs)) if flush is None else flush
        turn = self.store.turn(self.store.taken() + 1, tables, lambda _, memo: (chosen, memo))
        return as_rows(turn.changes)

    def rows(self) -> list[Any]:
        """Give the rows of the view."""
        return as_rows(self.store.rows())


def as_rows(table: pa.Table) -> list[Any]:
    """Give rows as tuples, in some order that is always the same."""
    return sorted(zip(*(each.to_pylist() for each in table.columns), strict=True), key=repr)
