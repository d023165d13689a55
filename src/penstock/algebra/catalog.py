"""Relations that queries may name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from penstock.vocabulary.errors import PenstockError

LATENESS_US = 60_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A stream, or a table: a relation changed by a stream of changes.

    A table's `change_column` tells what each row does: `insert`, `delete`, `update_before`,
    `update_after`.
    """

    name: str
    kind: Literal["stream", "table"]
    schema: pa.Schema
    event_time: str | None = None
    change_column: str | None = None
    lateness_us: int = LATENESS_US
    """Rows of a stream may come so much behind the newest event time seen before their batch."""

    def __post_init__(self) -> None:
        for role, column in (("event time", self.event_time), ("change", self.change_column)):
            if column is not None and column not in self.schema.names:
                raise PenstockError(
                    "CAT-002",
                    f"The {role} column {column!r} is not a column of {self.name!r}.",
                    f"Choose one of: {', '.join(self.schema.names)}.",
                )
        if self.kind == "table" and self.change_column is None:
            raise PenstockError(
                "CAT-003",
                f"Table {self.name!r} does not say which column tells inserts from deletes.",
                "Add OPTIONS (changes = '<column>'), or make it a stream.",
            )


Catalog = Mapping[str, Relation]
"""Relations by their name, in lower case."""
