"""What a standing query asks, bound to the catalogue, with its constants lifted out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.algebra.predicates import Branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A column of the answer: a DuckDB expression over the relation's quoted columns."""

    name: str
    sql: str


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
    where_sql: str = "TRUE"
    """The whole predicate in DuckDB SQL over quoted columns and `$parameter` names: what `verify`
    asks DuckDB. It shares no code with the branches."""

    @property
    def named_parameters(self) -> tuple[str, ...]:
        """Parameters whose values the rows of FOR EACH must bring."""
        return tuple(name for name in self.parameters if name not in self.constants)


Logical = StandingFilter
"""Every logical node (a union, as operators join the engine)."""
