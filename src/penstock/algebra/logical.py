"""What a standing query asks, bound to the catalogue, with its constants lifted out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from penstock.algebra.physical import FilterStep, Step
from penstock.algebra.predicates import Branch
from penstock.algebra.shapes import branch_shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A column of the answer: a DuckDB expression over the relation's quoted columns."""

    name: str
    sql: str


class Logical(Protocol):
    """What a standing query asks: one class per kind of query."""

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that the query reads."""

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The columns of its answer."""

    @property
    def parameters(self) -> dict[str, pa.DataType]:
        """The type of every parameter."""

    @property
    def constants(self) -> dict[str, Any]:
        """The values of parameters that were constants in the text."""

    @property
    def named_parameters(self) -> tuple[str, ...]:
        """Parameters whose values the rows of FOR EACH must bring."""

    @property
    def where_sql(self) -> str:
        """The whole predicate in DuckDB SQL: what `verify` asks DuckDB."""

    def step(self) -> Step:
        """Give the step that its group runs: queries of one shape share one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingFilter:
    """`SELECT outputs FROM relation WHERE branch OR branch …`.

    `parameters` types every parameter that the branches name. Those that were constants in the
    text are named `$0`, `$1`, … and have their value in `constants`; the others (`:name` in the
    text) get their values from the rows of FOR EACH.
    """

    relation: str
    branches: tuple[Branch, ...]
    outputs: tuple[Output, ...]
    parameters: dict[str, pa.DataType] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    column_types: dict[str, pa.DataType] = field(default_factory=dict)
    sees_broken: bool = False
    """Whether the predicate asks for lines that do not parse; else they are no rows for it."""
    where_sql: str = "TRUE"
    """The whole predicate in DuckDB SQL over quoted columns and `$parameter` names: what `verify`
    asks DuckDB. It shares no code with the branches."""
    options: dict[str, Any] = field(default_factory=dict)
    event_time: str | None = None

    @property
    def dropping(self) -> dict[str, Any]:
        """The options that can change an answer; none, unless the user lets rows be dropped."""
        return self.options if self.options.get("shedding", "off") != "off" else {}

    kept: tuple[tuple[str, pa.DataType], ...] = ()
    """The columns of its table, if the answer begins with the rows that the table holds."""
    change_column: str | None = None

    @property
    def relations(self) -> tuple[str, ...]:
        """The one relation that the query reads."""
        return (self.relation,)

    @property
    def named_parameters(self) -> tuple[str, ...]:
        """Parameters whose values the rows of FOR EACH must bring."""
        return tuple(name for name in self.parameters if name not in self.constants)

    def step(self) -> FilterStep:
        """Give the step that all filters of its shape share."""
        return filter_step(self)


def filter_step(logical: StandingFilter) -> FilterStep:
    """Give the step of a standing filter: its distinct branch shapes in a fixed order.

    Filters that differ only in constants, or in how often a branch repeats, share a step.
    """
    shapes = {
        json.dumps(shape.to_json(), sort_keys=True): shape
        for shape in (
            branch_shape(branch, logical.column_types, logical.parameters)
            for branch in logical.branches
        )
    }
    branches = tuple(shapes[text] for text in sorted(shapes))
    return FilterStep(
        relation=logical.relation,
        branches=branches,
        sees_broken=logical.sees_broken,
        dropping=logical.dropping,
        event_time=logical.event_time if logical.dropping else None,
        kept=logical.kept,
        change_column=logical.change_column,
    )
