"""Views: what a view asks of its base relations, in words that its store can run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

import pyarrow as pa

from penstock.algebra.logical import Output
from penstock.algebra.physical import ALONE, Division, Typed
from penstock.vocabulary.codec import Node

QUOTE = '"'

StoreDialect = Literal["duckdb", "postgresql"]
"""Whose SQL the texts of a definition are in: that of the store which maintains the view."""
AggregateFunction = Literal["count", "count_distinct", "sum", "avg", "min", "max"]
FlushRule = Literal["online", "naive", "immediate"]
"""How it is decided what is flushed: as cheap as can be, everything at once, or at every change."""
KEPT = frozenset(
    {
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(),
        pa.uint32(), pa.uint64(), pa.float32(), pa.float64(), pa.string(), pa.large_string(),
        pa.binary(), pa.large_binary(), pa.date32(), pa.time64("us"), pa.timestamp("s"),
        pa.timestamp("ms"), pa.timestamp("us"),
    }
)  # fmt: skip
"""Types of values that stores keep, beside decimals and times with a zone."""


def is_kept(type_: pa.DataType) -> bool:
    """Say whether stores of views keep values of a type.

    >>> is_kept(pa.decimal128(9, 2)), is_kept(pa.list_(pa.int64()))
    (True, False)
    """
    if pa.types.is_timestamp(type_):
        return bool(type_.unit != "ns")
    return type_ in KEPT or bool(pa.types.is_decimal128(type_) and type_.scale >= 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewInput(Node):
    """A base relation of a view: under which name its texts speak of it, and what they read."""

    relation: str
    alias: str
    columns: Typed
    """The columns that the view reads. Rows that agree in these are one row, counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn(Node):
    """A named expression, in the words of the store, and the type of its values."""

    name: str
    sql: str
    type: pa.DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Node):
    """A function over all joined rows of a group; other texts speak of it by its `name`.

    NULL arguments do not count. Without an `argument`, count counts rows.
    """

    name: str
    function: AggregateFunction
    argument: str | None
    argument_type: pa.DataType | None
    type: pa.DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewDefinition(Node):
    """`SELECT outputs FROM inputs WHERE conditions GROUP BY keys HAVING having`.

    Conditions, keys and arguments of aggregates speak of columns as `alias.column`, quoted. In a
    grouped view, outputs and `having` speak of keys and aggregates by their names (g0, …, a0, …);
    else outputs speak as conditions do, and there are no keys. A grouped view without keys always
    has one row.
    """

    name: str
    dialect: StoreDialect
    inputs: tuple[ViewInput, ...]
    conditions: tuple[str, ...] = ()
    is_grouped: bool = False
    keys: tuple[ViewColumn, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    having: str | None = None
    outputs: tuple[ViewColumn, ...]

    @property
    def relations(self) -> tuple[str, ...]:
        """The base relations, each once."""
        return tuple(dict.fromkeys(each.relation for each in self.inputs))

    @property
    def schema(self) -> pa.Schema:
        """The columns of the view."""
        return pa.schema([(each.name, each.type) for each in self.outputs])


def change_column(columns: Iterable[str]) -> str:
    """Name the column of a view's changes that says whether a row comes or goes.

    >>> change_column(["price"]), change_column(["Change", "change_1"])
    ('change', 'change_2')
    """
    taken = {name.lower() for name in columns}
    names = (f"change_{number}" if number else "change" for number in count())
    return next(name for name in names if name not in taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewStep(Node):
    """One view: how it is defined, how fresh it must be, and where it lives. It has one query.

    The operator's port `plan` takes the cost curves in force. `words` are, input by input, the
    columns that tell what changes do; streams have none, their rows only come.
    """

    definition: ViewDefinition
    words: tuple[str | None, ...]
    bound_us: int
    store: str = ""
    """The address of a PostgreSQL database; none: a file of DuckDB in the home."""
    policy: FlushRule = "online"
    kind: str = "view"

    @property
    def relations(self) -> tuple[str, ...]:
        """The base relations."""
        return self.definition.relations

    @property
    def division(self) -> Division:
        """None: all rows of all inputs may meet, and one store takes them in turns."""
        return (ALONE,)

    @property
    def made(self) -> Typed | None:
        """The columns of the view."""
        return tuple((each.name, each.type) for each in self.definition.outputs)

    @property
    def gives(self) -> str:
        """The relation that others may read: the view."""
        return self.definition.name


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingView:
    """`CREATE VIEW name REFRESH WITHIN bound AS SELECT …`."""

    definition: ViewDefinition
    words: tuple[str | None, ...]
    bound_us: int
    store: str = ""
    policy: FlushRule = "online"

    @property
    def relations(self) -> tuple[str, ...]:
        """The base relations."""
        return self.definition.relations

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The columns of the view, as its changes have them."""
        names = (each.name for each in self.definition.outputs)
        return tuple(Output(name=name, sql=f'"{name.replace(QUOTE, QUOTE * 2)}"') for name in names)

    @property
    def parameters(self) -> dict[str, pa.DataType]:
        """A view has none."""
        return {}

    @property
    def constants(self) -> dict[str, Any]:
        """A view has its constants in its texts."""
        return {}

    @property
    def named_parameters(self) -> tuple[str, ...]:
        """A view has none."""
        return ()

    @property
    def where_sql(self) -> str:
        """Everything: what is asked of rows is in the definition."""
        return "TRUE"

    def step(self) -> ViewStep:
        """Give the step of the view, which it shares with no other."""
        return ViewStep(
            definition=self.definition,
            words=self.words,
            bound_us=self.bound_us,
            store=self.store,
            policy=self.policy,
        )
