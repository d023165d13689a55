"""What `SELECT DISTINCT column FROM relation` asks, and the step that all such queries share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.algebra.logical import Output
from penstock.vocabulary.codec import Node

NAME = "distinct"


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctValues:
    """One column of one relation."""

    relation: str
    column: str
    type: pa.DataType
    outputs: tuple[Output, ...]
    parameters: dict[str, pa.DataType] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    named_parameters: tuple[str, ...] = ()
    where_sql: str = "TRUE"

    @property
    def relations(self) -> tuple[str, ...]:
        return (self.relation,)

    def step(self) -> DistinctStep:
        return DistinctStep(relation=self.relation, column=self.column, type=self.type)


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctStep(Node):
    """All such queries of one column. Its port is `queries`."""

    relation: str
    column: str
    type: pa.DataType
    kind: str = NAME

    @property
    def relations(self) -> tuple[str, ...]:
        return (self.relation,)

    @property
    def division(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Equal values meet in one shard."""
        return ((self.relation, (self.column,)),)

    @property
    def made(self) -> tuple[tuple[str, pa.DataType], ...]:
        return ((self.column, self.type),)
