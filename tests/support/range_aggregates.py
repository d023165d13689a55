"""Lives of groups of range aggregates, drawn by chance: texts, queries, rows that come and go."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.algebra.range_aggregates import StandingRangeAggregate
from penstock.kinds.binder import bind
from penstock.operators.catalogue import OPERATORS
from penstock.vocabulary.batches import QueryChanges
from tests.oracle.range_queries import known

COLUMNS: dict[str, pa.DataType] = {
    "id": pa.int64(), "k": pa.string(), "g": pa.int32(), "x": pa.float64(), "n": pa.int64(),
    "d": pa.date32(), "m": pa.decimal128(9, 2), "f": pa.float64(), "s": pa.string(),
}  # fmt: skip
CHANGE = "op"
TABLE = Relation(
    name="t",
    kind="table",
    schema=pa.schema([*COLUMNS.items(), (CHANGE, pa.string())]),
    change_column=CHANGE,
)
LISTS: tuple[tuple[tuple[str, str | None], ...], ...] = (
    (("min", "m"),),
    (("max", "f"),),
    (("min", "d"), ("max", "n"), ("count", None)),
    (("sum", "m"), ("avg", "m"), ("count", "m")),
    (("sum", "f"), ("avg", "f")),
    (("sum", "n"), ("count", "s"), ("count_distinct", "n")),
    (("min:2", "m"), ("max:3", "f"), ("count", None)),
)
"""SELECT lists: functions of columns; `min:2` is the list of the two least values."""
MEASURES: tuple[tuple[str, str | None], ...] = (
    ("min", "m"), ("max", "f"), ("count", None), ("sum", "m"), ("avg", "n"), ("count", "s"),
    ("count_distinct", "n"),
)  # fmt: skip
"""What messages may be of."""


@dataclass(frozen=True)
class RangeForm:
    """A shape of queries: what they aggregate, over ranges of what, in which partitions."""

    measures: tuple[tuple[str, str | None], ...]
    attribute: str = "x"
    partition: tuple[str, ...] = ()
    condition: str = ""
    further: str = ""
    """A second attribute of which queries have ranges, if any."""

    @property
    def sql(self) -> str:
        """The text of a query."""
        items = ", ".join(map(item, self.measures))
        terms = [f"{self.attribute} BETWEEN :low AND :high"]
        terms += [f"{self.further} BETWEEN :low1 AND :high1"] if self.further else []
        terms += [f"{name} = :{name}" for name in self.partition]
        terms += [self.condition] if self.condition else []
        return f"SELECT {items} FROM t WHERE {' AND '.join(terms)}"

    @property
    def each(self) -> pa.Schema:
        """The parameters of a query."""
        ends = [(name, COLUMNS[self.attribute]) for name in ("low", "high")]
        ends += [(name, COLUMNS[self.further]) for name in ("low1", "high1") if self.further]
        return pa.schema([*ends, *((name, COLUMNS[name]) for name in self.partition)])

    def bound(self, messages: bool = False, snapshot: bool = False) -> StandingRangeAggregate:
        """Give what the query asks."""
        catalog = {"t": TABLE}
        options: dict[str, Any] = {"snapshot": snapshot}
        if messages:
            options["messages"] = True
        found = bind(self.sql, catalog, None if messages else self.each, options)
        assert isinstance(found, StandingRangeAggregate)
        return found


def item(measure: tuple[str, str | None]) -> str:
    """Write a measure as SQL."""
    name, column = measure
    if name == "count_distinct":
        return f"count(DISTINCT {column})"
    function, _, most = name.partition(":")
    return f"{function}({column or '*'}{f', {most}' if most else ''})"


def drawn_form(chance: np.random.Generator) -> RangeForm:
    """Draw a shape; one in three has ranges of two attributes."""
    measures = LISTS[chance.integers(len(LISTS))]
    plain = all(name != "count_distinct" and ":" not in name for name, _ in measures)
    boxes = chance.random() < 0.35 and plain
    return RangeForm(
        measures=measures,
        attribute=("x", "n", "d", "m")[chance.integers(4)],
        partition=((), ("k",), ("g", "k"))[chance.integers(3)],
        condition="g <> 2" if chance.random() < 0.3 else "",
        further="f" if boxes else "",
    )


def value(chance: np.random.Generator, column: str) -> Any:
    """Draw a value: few distinct ones, so that ties are many."""
    number = int(chance.integers(0, 9))
    if chance.random() < 0.06:
        return None
    if column in {"x", "f"} and chance.random() < 0.05:
        return float("nan")
    return {
        "k": "abc"[number % 3],
        "g": number % 3,
        "x": number / 2,
        "n": number - 4,
        "d": date(2024, 1, 1) + timedelta(days=number),
        "m": Decimal(number * 25) / 100,
        "f": (number - 3) * 10.0 ** (9 * (number % 3) - 9),
        "s": "uvw"[number % 3],
    }[column]


@dataclass
class RangeSource:
    """Rows that come and go; what goes came before."""

    chance: np.random.Generator
    held: list[dict[str, Any]] = field(default_factory=list)
    number: int = 0

    def changes(self, size: int) -> list[tuple[dict[str, Any], int]]:
        """Draw changes of rows, each with its sign; a row may come and go among them."""
        found = []
        for _ in range(size):
            if self.held and self.chance.random() < 0.4:
                gone = self.held.pop(int(self.chance.integers(len(self.held))))
                found.append((gone, -1))
                continue
            self.number += 1
            row = {"id": self.number} | {
                name: value(self.chance, name) for name in COLUMNS if name != "id"
            }
            self.held.append(row)
            found.append((row, 1))
        return found


def batch_of(changes: list[tuple[dict[str, Any], int]]) -> pa.Table:
    """Give changes as the operator sees them."""
    rows = [row for row, _ in changes]
    columns = {name: pa.array([row[name] for row in rows], type_)
               for name, type_ in COLUMNS.items()}  # fmt: skip
    words = ["insert" if sign > 0 else "delete" for _, sign in changes]
    columns[CHANGE] = pa.array(words, pa.string())
    return pa.table(columns)


def drawn_range(chance: np.random.Generator, form: RangeForm) -> dict[str, Any]:
    """Draw the parameters of a query; a NULL is among them now and then."""
    found = dict(zip(("low", "high"), drawn_ends(chance, form.attribute), strict=True))
    if form.further:
        found |= zip(("low1", "high1"), drawn_ends(chance, form.further), strict=True)
    return found | {name: value(chance, name) for name in form.partition}


def drawn_ends(chance: np.random.Generator, column: str) -> list[Any]:
    """Draw the ends of a range."""
    ends = [value(chance, column) for _ in range(2)]
    ends = [end if known(end) else None for end in ends]
    return ends if None in ends else sorted(ends)


def queries_of(
    logical: StandingRangeAggregate, form: RangeForm, rows: list[dict[str, Any]], first: int,
    drops: list[int],
) -> QueryChanges:  # fmt: skip
    """Give what a version adds and drops."""
    step = logical.step()
    kind = OPERATORS[step.kind]
    table = pa.Table.from_pylist(rows, schema=form.each)
    registered = kind.register(logical, step, table, first)
    assert not registered.refusals.code
    return QueryChanges(adds=registered.adds, drops=np.array(drops, dtype=np.int64))
