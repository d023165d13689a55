"""Inputs of joins: the relations that meet, and what a query asks of each alone.

Inputs are numbered. Columns of joined rows are named `i0.<column>`, `i1.<column>`, …; a column of
one input alone keeps its own name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import pyarrow as pa

from penstock.algebra.logical import Output
from penstock.algebra.physical import BranchShape, Typed
from penstock.algebra.predicates import Branch, Residual
from penstock.algebra.shapes import Types, branch_shape
from penstock.vocabulary.codec import Form, Node

Place = tuple[int, str]
"""A column of an input: (number of the input, name)."""
WAITING_ROWS = 1_000_000
"""Rows of all inputs together that may wait for a silent stream, where the options do not say."""


def numbered_inputs(count: int) -> tuple[str, ...]:
    """Name inputs in SQL, in the columns of joined rows and in entries: by their number.

    >>> numbered_inputs(2)
    ('i0', 'i1')
    """
    return tuple(f"i{number}" for number in range(count))


def number_of(name: str) -> int:
    """Give the number of an input that is named by it.

    >>> number_of("i12")
    12
    """
    return int(name.removeprefix("i"))


def place_of(made: str) -> Place:
    """Say which column of which input a column of joined rows is.

    >>> place_of("i1.price")
    (1, 'price')
    """
    name, _, column = made.partition(".")
    return number_of(name), column


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

    def shape(self, parameter_types: Types) -> InputShape:
        """Give what all queries of one shape ask of the input."""
        return InputShape(
            relation=self.relation,
            columns=self.columns,
            window=self.window,
            branch=branch_shape(self.branch, dict(self.columns), parameter_types),
            change_column=self.change_column,
            event_time=self.event_time,
            lateness_us=self.lateness_us,
        )


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
    def relations(self) -> tuple[str, ...]:
        """The relations that the query reads, each once."""
        return tuple(dict.fromkeys(each.relation for each in self.inputs))

    @property
    def residuals(self) -> tuple[Residual | None, ...]:
        """The conditions that no index decides: on every input alone, then on several."""
        return (*(each.branch.residual for each in self.inputs), self.residual)

    @property
    def named_parameters(self) -> tuple[str, ...]:
        """Parameters whose values the rows of FOR EACH must bring."""
        return tuple(name for name in self.parameters if name not in self.constants)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputShape(Node):
    """One input of a step: what the operator keeps of it, and which columns its predicates read."""

    relation: str
    columns: Typed
    window: WindowLength | None = None
    branch: BranchShape
    change_column: str | None = None
    event_time: str | None = None
    lateness_us: int = 0

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types of the columns by name."""
        return dict(self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputsShape(Node):
    """What all joins of one shape have in common: their inputs, and what no index decides."""

    inputs: tuple[InputShape, ...]
    residual_sql: str | None = None
    residual_columns: tuple[str, ...] = ()
    residual_types: tuple[pa.DataType, ...] = ()

    @classmethod
    def of(cls, query: InputsQuery, **more: Any) -> Self:  # what the class has beside
        """Give the shape of a query: queries that differ in constants or outputs share it."""
        residual, types = query.residual, query.parameters
        return cls(
            inputs=tuple(each.shape(types) for each in query.inputs),
            residual_sql=residual.sql if residual else None,
            residual_columns=residual.columns if residual else (),
            residual_types=tuple(types[name] for name in residual.parameters) if residual else (),
            **more,
        )

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that the step reads, each once."""
        return tuple(dict.fromkeys(each.relation for each in self.inputs))

    @property
    def made(self) -> Typed:
        """The columns of all inputs."""
        return made_columns(self.inputs)

    @property
    def residuals(self) -> tuple[str | None, ...]:
        """The conditions that no index decides: on every input alone, then on several."""
        return (*(each.branch.residual_sql for each in self.inputs), self.residual_sql)

    @property
    def residual_parameters(self) -> tuple[tuple[pa.DataType, ...], ...]:
        """The types of the parameters of `residuals`."""
        return (*(each.branch.residual_types for each in self.inputs), self.residual_types)


def made_columns(inputs: Sequence[JoinInput] | Sequence[InputShape]) -> Typed:
    """Give the columns of joined rows: those of the inputs in order, behind the inputs' names.

    >>> made_columns([JoinInput(relation="a", columns=(("x", pa.int8()),))])
    (('i0.x', DataType(int8)),)
    """
    return tuple(
        (f"{own}.{name}", type_)
        for own, columns in zip(
            numbered_inputs(len(inputs)), (each.columns for each in inputs), strict=True
        )
        for name, type_ in columns
    )
