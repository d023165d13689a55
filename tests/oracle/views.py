"""The slow twin of view stores: prefixes as bags of rows, and the query asked anew every time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from penstock.algebra.views import Aggregate, ViewDefinition, ViewInput

Row = tuple[Any, ...]
Change = tuple[Row, int]


@cache
def database() -> duckdb.DuckDBPyConnection:
    """Give a database to ask, as plain as can be."""
    db = duckdb.connect(config={"threads": 1})
    db.execute("SET TimeZone = 'UTC'")
    return db


class ViewTwin:
    """Inputs as the view has seen them, and the changes that it has not."""

    def __init__(self, definition: ViewDefinition) -> None:
        self.definition = definition
        self.seen: list[Counter[Row]] = [Counter() for _ in definition.inputs]
        self.waiting: list[list[Change]] = [[] for _ in definition.inputs]
        self._db = database()

    def take(self, changes: Mapping[int, Sequence[Change]], chosen: Iterable[int]) -> None:
        """Let changes come, and let the view see those of some inputs."""
        for input_, found in changes.items():
            self.waiting[input_] += found
        for input_ in chosen:
            for row, weight in self.waiting[input_]:
                self.seen[input_][row] += weight
            self.waiting[input_] = []

    def pending(self) -> list[int]:
        """Count the changes that wait."""
        return [sum(abs(weight) for _, weight in each) for each in self.waiting]

    def rows(self) -> Counter[Row]:
        """Ask DuckDB for the view over what it has seen."""
        sources = []
        for number, (each, bag) in enumerate(zip(self.definition.inputs, self.seen, strict=True)):
            self._db.register(f"input{number}", as_table(each, list(bag.elements())))
            sources.append(f'input{number} AS "{each.alias}"')
        found = self._db.sql(query(self.definition, ", ".join(sources))).to_arrow_table()
        return bag_of(found.cast(self.definition.schema))


def query(definition: ViewDefinition, sources: str) -> str:
    """Give the view as one query over tables."""
    where = " AND ".join(f"({each})" for each in definition.conditions) or "true"
    outputs = ", ".join(f'{each.sql} AS "{each.name}"' for each in definition.outputs)
    if not definition.is_grouped:
        return f"SELECT {outputs} FROM {sources} WHERE {where}"
    keys = [f"{each.sql} AS {each.name}" for each in definition.keys]
    grouped = f"GROUP BY {', '.join(each.sql for each in definition.keys)}" if keys else ""
    made = ", ".join([*keys, *(f"{asked(each)} AS {each.name}" for each in definition.aggregates)])
    inner = f"SELECT {made} FROM {sources} WHERE {where} {grouped}"
    return f"SELECT {outputs} FROM ({inner}) WHERE {definition.having or 'true'}"


def asked(aggregate: Aggregate) -> str:
    """Give an aggregate as SQL has it."""
    argument = aggregate.argument or "*"
    if aggregate.function == "count_distinct":
        return f"count(DISTINCT {argument})"
    return f"{aggregate.function}({argument})"


def as_table(input_: ViewInput, rows: Sequence[Row]) -> pa.Table:
    """Give rows of an input as a table."""
    columns = list(zip(*rows, strict=True)) or [()] * len(input_.columns)
    return pa.table(
        [pa.array(own, type_) for own, (_, type_) in zip(columns, input_.columns, strict=True)],
        names=[name for name, _ in input_.columns],
    )


def as_changes(input_: ViewInput, changes: Sequence[Change]) -> pa.Table:
    """Give changes of an input as a table."""
    table = as_table(input_, [row for row, _ in changes])
    return table.append_column("_n", pa.array([weight for _, weight in changes], pa.int64()))


def bag_of(table: pa.Table) -> Counter[Row]:
    """Count the rows of a table, those that differ in rounding alone taken together."""
    return Counter(zip(*(map(_plain, each.to_pylist()) for each in table.columns), strict=True))


def changed(bag: Counter[Row], changes: pa.Table) -> Counter[Row]:
    """Give what a reader has who applied changes to its rows."""
    found = Counter(bag)
    rows = zip(*(map(_plain, each.to_pylist()) for each in changes.columns), strict=True)
    for *row, weight in rows:
        found[tuple(row)] += weight
        assert found[tuple(row)] >= 0, "a row goes that nobody was told of"
    return +found


def _plain(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return "NaN" if math.isnan(value) else float(f"{value:.12g}") + 0.0
