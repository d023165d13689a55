"""Views to try stores on: drawn definitions, in SQL that DuckDB and PostgreSQL read alike."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from penstock.algebra.views import (
    Aggregate,
    AggregateFunction,
    StoreDialect,
    ViewColumn,
    ViewDefinition,
    ViewInput,
)
from tests.oracle.views import Change, Row

NAN = float("nan")
"""The one that rows are made of: bags tell NaNs apart by what they are."""
COLUMNS: tuple[tuple[str, pa.DataType], ...] = (
    ("i", pa.int64()),
    ("_n", pa.float64()),
    ("The text", pa.string()),
    ("d", pa.decimal128(12, 2)),
    ('b"b', pa.bool_()),
    ("at", pa.timestamp("us")),
    ("w", pa.int64()),
)
VALUES: dict[str, list[Any]] = {
    "i": [0, 0, 0, 1, None, 2**62],
    "_n": [0.25, 0.25, -3.5, 0.0, -0.0, None, NAN, float("inf"), float("-inf")],
    "The text": ["a", "a", "B", "", "ä", "it's", None],
    "d": [Decimal("1.50"), Decimal("0.00"), Decimal("-9999999999.99"), None],
    'b"b': [True, False, None],
    "at": [None, dt.datetime(2026, 1, 2, 3, 4, 5, 6), dt.datetime(1969, 12, 31)],  # noqa: DTZ001
    "w": [*range(20), None],
}
ADDED = {
    "i": pa.decimal128(38, 0), "_n": pa.float64(), "d": pa.decimal128(38, 2),
    "w": pa.decimal128(38, 0),
}  # fmt: skip
FUNCTIONS: tuple[AggregateFunction, ...] = (
    "min", "max", "sum", "count_distinct", "avg", "count", "min", "max",
)  # fmt: skip


def quoted(name: str) -> str:
    """Quote a name as both stores do."""
    return '"' + name.replace('"', '""') + '"'


@st.composite
def aggregates(draw: st.DrawFn, name: str, aliases: list[str]) -> Aggregate:
    """Draw an aggregate over one of the inputs."""
    function = draw(st.sampled_from(FUNCTIONS))
    if function == "count" and draw(st.booleans()):
        return Aggregate(
            name=name, function="count", argument=None, argument_type=None, type=pa.int64()
        )
    is_number = function in {"sum", "avg"}
    columns = ["w", *ADDED] if is_number else ["w", "w", "w", *(own for own, _ in COLUMNS)]
    column = draw(st.sampled_from(columns))
    own = dict(COLUMNS)[column]
    type_ = {
        "count": pa.int64(),
        "count_distinct": pa.int64(),
        "sum": ADDED.get(column),
        "avg": pa.float64(),
    }.get(function, own)
    argument = f"{quoted(draw(st.sampled_from(aliases)))}.{quoted(column)}"
    return Aggregate(name=name, function=function, argument=argument, argument_type=own, type=type_)


@st.composite
def conditions(draw: st.DrawFn, aliases: list[str]) -> list[str]:
    """Draw how the inputs join, and what else holds of their rows."""
    found = []
    for left, right in pairwise(aliases):
        column = quoted(draw(st.sampled_from(["i", "i", "i", "The text", "_n"])))
        test = draw(st.sampled_from(["=", "=", "=", None, "<", "<>"]))
        if test:
            found.append(f"{quoted(left)}.{column} {test} {quoted(right)}.{column}")
    own = quoted(draw(st.sampled_from(aliases)))
    found += draw(
        st.lists(
            st.sampled_from(
                [
                    f'{own}."i" > 0 OR {own}."The text" IS NULL',
                    f'{own}."_n" >= 0.25',
                    f"{own}.\"The text\" <> 'a'",
                    f'{own}."b""b"',
                ]
            ),
            max_size=1,
        )
        if draw(st.integers(0, 2)) == 2
        else st.just([])
    )
    return found


@st.composite
def definitions(draw: st.DrawFn, dialect: StoreDialect) -> ViewDefinition:
    """Draw a view over up to four inputs, of which two may be the same relation."""
    aliases = [f"A {number}" for number in range(draw(st.sampled_from([2, 1, 2, 3, 2, 2, 1, 4])))]
    inputs = tuple(
        ViewInput(relation=draw(st.sampled_from(["r", "s"])), alias=alias, columns=COLUMNS)
        for alias in aliases
    )
    held = tuple(draw(conditions(aliases)))
    columns = [
        (f"{quoted(alias)}.{quoted(name)}", type_) for alias in aliases for name, type_ in COLUMNS
    ]
    if draw(st.sampled_from(["grouped", "grouped", "plain"])) == "plain":
        chosen = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=3))
        outputs = tuple(
            ViewColumn(name=f"Out {number}", sql=sql, type=type_)
            for number, (sql, type_) in enumerate(chosen)
        )
        return ViewDefinition(
            name="the view", dialect=dialect, inputs=inputs, conditions=held, outputs=outputs
        )
    keys = tuple(
        ViewColumn(name=f"g{number}", sql=sql, type=type_)
        for number, (sql, type_) in enumerate(draw(st.lists(st.sampled_from(columns), max_size=1)))
    )
    made = tuple(
        draw(aggregates(f"a{number}", aliases)) for number in range(draw(st.integers(1, 3)))
    )
    known = [(each.name, each.type) for each in keys] + [(each.name, each.type) for each in made]
    outputs = tuple(ViewColumn(name=f"_{own}", sql=own, type=type_) for own, type_ in known)
    return ViewDefinition(
        name="the view", dialect=dialect, inputs=inputs, conditions=held, is_grouped=True,
        keys=keys, aggregates=made, outputs=outputs,
        having=draw(st.sampled_from([None, None, f"{made[0].name} IS NOT NULL"])),
    )  # fmt: skip


def changes(chance: Random, known: Counter[Row]) -> list[Change]:
    """Draw inserts, updates and deletes, of rows that are there or come; `known` follows.

    There are many as long as there are few rows: else little joins, and nothing is told.
    """
    found: list[Change] = []
    for _ in range(chance.choice([0, 1, 3, 6] if known.total() > 4 else [4, 8])):
        standing = sorted(+known, key=repr)
        what = chance.choice(["insert", "delete", "update"])
        if what != "insert" and standing:
            row = chance.choice(standing)
            weight = -chance.randint(1, known[row])
            found.append((row, weight))
            known[row] += weight
        if what != "delete":
            row = tuple(chance.choice(VALUES[name]) for name, _ in COLUMNS)
            weight = chance.choice([1, 1, 2])
            found.append((row, weight))
            known[row] += weight
    return found
