"""Relations that queries may name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from penstock.algebra.memories import Lookup
from penstock.vocabulary.errors import PenstockError

LATENESS_US = 60_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A stream; a table: a relation changed by a stream of changes; or a table that is looked up.

    A table's `change_column` tells what each row does: `insert`, `delete`, `update_before`,
    `update_after`.
    """

    name: str
    kind: Literal["stream", "table", "lookup"]
    schema: pa.Schema
    event_time: str | None = None
    change_column: str | None = None
    lateness_us: int = LATENESS_US
    """Rows of a stream may come so much behind the newest event time seen before their batch."""
    rate: float | None = None
    """Rows per second of a stream, as its owner declared."""
    distinct: dict[str, int] = field(default_factory=dict, hash=False)
    """How many values a column has, as declared, by column."""
    size: int | None = None
    """How many rows a table holds, as declared."""
    lookup: Lookup | None = None
    """Where the rows of a `lookup` are, and how many of them are cached."""

    def __post_init__(self) -> None:
        self._check_sizes()
        columns = ("event_time", self.event_time), ("changes", self.change_column)
        for option, column in columns:
            if column is not None and column not in self.schema.names:
                role = {"event_time": "event time", "changes": "change"}[option]
                raise PenstockError(
                    "CAT-002",
                    f"The {role} column {column!r} is not a column of {self.name!r}.",
                    f"Choose one of: {', '.join(self.schema.names)}.",
                    option=option,
                )
        if self.kind == "table" and self.change_column is None:
            raise PenstockError(
                "CAT-003",
                f"Table {self.name!r} does not say which column tells inserts from deletes.",
                "Add OPTIONS (changes = '<column>'), or make it a stream.",
            )

    def _check_sizes(self) -> None:
        """Refuse declared sizes that no relation has."""
        rate, size = self.rate, self.size
        if rate is not None and not (math.isfinite(rate) and rate > 0):
            fact = f"The rate of {self.name!r} is {rate:g} rows per second."
            raise PenstockError("CAT-007", fact, "Declare a rate above zero.")
        if size is not None and size < 0:
            fact = f"The table {self.name!r} holds {size:,} rows."
            raise PenstockError("CAT-007", fact, "Declare zero rows or more.")
        for column, values in self.distinct.items():
            if column not in self.schema.names:
                fact = f"{self.name!r} has no column {column!r} to count the values of."
                remedy = f"Choose one of: {', '.join(self.schema.names)}."
                raise PenstockError("CAT-008", fact, remedy)
            if values < 1:
                fact = f"Column {column!r} of {self.name!r} has {values:,} distinct values."
                raise PenstockError("CAT-008", fact, "Declare one value or more.")


Catalog = Mapping[str, Relation]
"""Relations by their name, in lower case."""
