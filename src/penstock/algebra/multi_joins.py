"""Multi-way window joins: what they ask, and the step that all of one shape run.

The inputs stand in the order of FROM. Columns of joined rows are named `i0.<column>`,
`i1.<column>`, …; a column of one input alone keeps its own name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pyarrow as pa

from penstock.algebra.inputs import InputShape, InputsQuery, made_columns, numbered_inputs
from penstock.algebra.logical import Output
from penstock.algebra.physical import Division
from penstock.algebra.shapes import branch_shape
from penstock.vocabulary.codec import Form, Node

KIND = "multi_join"
WAITING_ROWS = 1_000_000
"""Rows of all inputs together that may wait for a silent stream, where the options do not say."""

DROPPING = ("shedding", "shed_at_once", "processors", "headroom", "strict", "minimum_", "weight_")
"""Options, or how their names begin, that decide whether rows are dropped, and which."""

Place = tuple[int, str]
"""A column of an input: (number of the input, name)."""
Comparing = Literal["<", "<=", "<>"]


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`left op right` for columns of two inputs whose types have one order."""

    FORM: ClassVar[Form] = "row"

    left: Place
    op: Comparing
    right: Place


@dataclass(frozen=True, slots=True)
class Difference(Node):
    """`low <= right - left <= high` for columns of two inputs: whole numbers of one unit."""

    FORM: ClassVar[Form] = "row"

    left: Place
    right: Place
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing(Node):
    """The predicates that speak of several inputs and that kernels understand."""

    equalities: tuple[tuple[Place, Place], ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    differences: tuple[Difference, ...] = ()


def key_classes(equalities: Iterable[tuple[Place, Place]]) -> tuple[tuple[Place, ...], ...]:
    """Bring together all columns that equalities make equal; a class may name an input twice.

    >>> key_classes([((0, "x"), (1, "x")), ((2, "y"), (1, "x")), ((0, "z"), (2, "z"))])
    (((0, 'x'), (1, 'x'), (2, 'y')), ((0, 'z'), (2, 'z')))
    """
    classes: list[set[Place]] = []
    for left, right in equalities:
        met = [each for each in classes if left in each or right in each]
        classes = [each for each in classes if each not in met]
        classes.append({left, right}.union(*met))
    return tuple(sorted(tuple(sorted(each)) for each in classes))


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiJoin(InputsQuery):
    """`SELECT outputs FROM a [ROWS n], b [RANGE t], … WHERE …`.

    Its inputs stand in the order of FROM. `where_sql` is the whole predicate but the windows.
    `options` are those of the planner: they decide how, and `dropping` what may be missing.
    `waiting` is how many rows may wait for a silent stream.
    """

    crossing: Crossing = field(default_factory=Crossing)
    options: dict[str, Any] = field(default_factory=dict)
    waiting: int = WAITING_ROWS

    def __post_init__(self) -> None:
        assert self.waiting >= 1

    @property
    def dropping(self) -> dict[str, Any]:
        """The options that can change an answer, where rows must be dropped."""
        if self.options.get("shedding") == "off":
            return {"shedding": "off"}
        return {name: each for name, each in self.options.items() if name.startswith(DROPPING)}

    def step(self) -> MultiJoinStep:
        """Give the step that all joins of its shape share."""
        return multi_join_step(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfJoin:
    """A query that asks what a join asks, and something beside it."""

    join: MultiJoin

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that the query reads, each once."""
        return self.join.relations

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The columns of its answer."""
        return self.join.outputs

    @property
    def parameters(self) -> dict[str, pa.DataType]:
        """The type of every parameter."""
        return self.join.parameters

    @property
    def constants(self) -> dict[str, Any]:
        """The values of parameters that were constants in the text."""
        return self.join.constants

    @property
    def named_parameters(self) -> tuple[str, ...]:
        """Parameters whose values the rows of FOR EACH must bring."""
        return self.join.named_parameters

    @property
    def where_sql(self) -> str:
        """The whole predicate but windows, in DuckDB SQL."""
        return self.join.where_sql


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiJoinStep(Node):
    """All multi-way joins of one shape. Its ports are `queries` and `plan`.

    Joins that may drop different rows give different answers: `dropping` belongs to the shape.
    """

    inputs: tuple[InputShape, ...]
    crossing: Crossing = field(default_factory=Crossing)
    residual_sql: str | None = None
    residual_columns: tuple[str, ...] = ()
    residual_types: tuple[pa.DataType, ...] = ()
    waiting: int = WAITING_ROWS
    dropping: dict[str, Any] = field(default_factory=dict)
    kind: str = KIND

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that the step reads, each once."""
        return tuple(dict.fromkeys(each.relation for each in self.inputs))

    @property
    def division(self) -> Division:
        """Every shard sees all rows: windows count them, whatever their key."""
        return tuple((relation, ()) for relation in sorted(self.relations))

    @property
    def makes(self) -> tuple[str, ...]:
        """The columns of all inputs."""
        names = numbered_inputs(len(self.inputs))
        return tuple(name for name, _ in made_columns(names, self.inputs))


def multi_join_step(logical: MultiJoin) -> MultiJoinStep:
    """Give the step of a multi-way join: joins that differ in constants or outputs share it."""
    residual, types = logical.residual, logical.parameters
    return MultiJoinStep(
        inputs=tuple(
            InputShape(
                relation=each.relation,
                columns=each.columns,
                window=each.window,
                branch=branch_shape(each.branch, dict(each.columns), types),
                change_column=each.change_column,
                event_time=each.event_time,
                lateness_us=each.lateness_us,
            )
            for each in logical.inputs
        ),
        crossing=logical.crossing,
        residual_sql=residual.sql if residual else None,
        residual_columns=residual.columns if residual else (),
        residual_types=tuple(types[name] for name in residual.parameters) if residual else (),
        waiting=logical.waiting,
        dropping=logical.dropping,
    )
