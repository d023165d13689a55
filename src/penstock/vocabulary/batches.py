"""What crosses rooms while data flows: query changes in, events in, results out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

NO_QUERIES: Ints = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryChanges:
    """What one registry version changes in one group.

    `adds` maps a port of the operator to a table whose column `query` holds query numbers, in
    ascending order and larger than every number that the group has seen before. `drops` holds
    query numbers, in ascending order. Drops of unknown numbers change nothing.
    """

    adds: Mapping[str, pa.Table] = field(default_factory=dict)
    drops: Ints = field(default_factory=lambda: NO_QUERIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Changes to answers: query number `query[i]` has a change through row `event[i]`.

    `event` counts in the batch of `relation`, or, when the operator made new rows, in `rows`.
    """

    relation: str
    query: Ints
    event: Rows
    rows: pa.Table | None = None

    def __post_init__(self) -> None:
        assert len(self.query) == len(self.event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """Rows of a registration that were not accepted, and why (same length, row order)."""

    row: Ints = field(default_factory=lambda: NO_QUERIES)
    code: tuple[str, ...] = ()
    reason: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Parameter rows turned into what an operator's ports take.

    `silent` marks rows that are accepted and can never match: a NULL or NaN among the constants.
    """

    adds: Mapping[str, pa.Table]
    refusals: Refusals
    silent: Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChanges:
    """What one registry version changes: new groups (their steps) and changes per group.

    Behind these, groups are let go in which no query stands any more.
    """

    version: int
    steps: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    changes: Mapping[str, QueryChanges] = field(default_factory=dict)
    let_go: Collection[str] = ()


Feed = Callable[[int, int], Iterable[VersionChanges]]
"""`feed(after, upto)`: the registry's versions in (after, upto], in order."""


def added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add counts up by name.

    >>> added([{"a": 1}, {"a": 2, "b": 3}])
    {'a': 3, 'b': 3}
    """
    total: dict[str, int] = {}
    for count in counts:
        for name, value in count.items():
            total[name] = total.get(name, 0) + value
    return total
