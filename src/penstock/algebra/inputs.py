"""Inputs of joins: the relations that meet, and what a query asks of each alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import pyarrow as pa

from penstock.algebra.logical import Output
from penstock.algebra.physical import BranchShape, Typed
from penstock.algebra.predicates import Branch, Residual
from penstock.vocabulary.codec import Form, Node


def numbered_inputs(count: int) -> tuple[str, ...]:
    """Name inputs in SQL, in the columns of joined rows and in entries: by their number.

    >>> numbered_inputs(2)
    ('i0', 'i1')
    """
    return tuple(f"i{number}" for number in range(count))


@dataclass(frozen=True, slots=True)
class WindowLength(Node):
    """`[ROWS size]`: the last `size` rows; `[RANGE …]`: those of the last `size` microseconds.

    At an instant t, a row of event time s is in a range window if t - s < size.
    """

    FORM: ClassVar[Form] = "row"

    kind: Literal["rows", "range"]
    size: int

    def __post_init__(self) -> None:
        assert self.size > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinInput:
    """One relation of a join: its window, if it has one, and the predicates on it alone.

    An equality of the branch has one parameter: longer IN lists are residual. `columns` are all
    columns of the relation but the change column.
    """

    name: str = ""
    """What the text calls it."""
    relation: str
    columns: Typed
    window: WindowLength | None = None
    branch: Branch = field(default_factory=Branch)
    change_column: str | None = None
    event_time: str | None = None
    lateness_us: int = 0

    def __post_init__(self) -> None:
        assert self.window is None or self.change_column is None, "tables have no window"
        assert self.window is None or self.event_time is not None, "rows stand in an order of time"
        assert all(len(term.parameters) == 1 for term in self.branch.equalities)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputsQuery:
    """What every join asks: of its inputs, and of several of them together.

    `residual` is what remains of the predicate that speaks of several inputs; its columns are named
    as in the joined row. `where_sql` is the predicate in DuckDB SQL over the inputs' names, their
    quoted columns and `p."parameter"`: what `verify` asks DuckDB.
    """

    inputs: tuple[JoinInput, ...]
    outputs: tuple[Output, ...]
    residual: Residual | None = None
    parameters: dict[str, pa.DataType] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    where_sql: str = "TRUE"

    @property
    def input_names(self) -> tuple[str, ...]:
        """What the inputs are called in SQL and in joined rows."""
        return numbered_inputs(len(self.inputs))

    @property
    def made(self) -> Typed:
        """The columns of joined rows."""
        return made_columns(self.input_names, self.inputs)

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that the query reads, each once."""
        return tuple(dict.fromkeys(each.relation for each in self.inputs))

    @property
    def named_parameters(self) -> tuple[str, ...]:
        """Parameters whose values the rows of FOR EACH must bring."""
        return tuple(name for name in self.parameters if name not in self.constants)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputShape(Node):
    """One input of a step: what the operator keeps of it, and which columns its predicates read."""

    relation: str
    columns: Typed
    window: WindowLength | None
    branch: BranchShape
    change_column: str | None = None
    event_time: str | None = None
    lateness_us: int = 0

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types of the columns by name."""
        return dict(self.columns)


class HasColumns(Protocol):
    """An input of a query or of a step."""

    @property
    def columns(self) -> Typed:
        """The columns of its rows."""


def made_columns(names: Sequence[str], inputs: Sequence[HasColumns]) -> Typed:
    """Give the columns of joined rows: those of the inputs in order, behind the inputs' names.

    >>> made_columns(["i0"], [JoinInput(relation="a", columns=(("x", pa.int8()),))])
    (('i0.x', DataType(int8)),)
    """
    return tuple(
        (f"{own}.{name}", type_)
        for own, each in zip(names, inputs, strict=True)
        for name, type_ in each.columns
    )
