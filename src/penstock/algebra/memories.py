"""Memory budgets: how many rows a join or a lookup may hold, who goes, and by which law."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import pyarrow as pa

from penstock.vocabulary.codec import SORTED, Node, stored_as
from penstock.vocabulary.types import ColumnKind, is_ordered, kind_of

Family = Literal["auto", "stationary", "linear trend", "random walk", "ar1", "histogram", "offline"]
PolicyName = str
"""What `USING` says, in capitals: a policy that is built in, or one of a file of its own."""

FAMILIES: tuple[Family, ...] = get_args(Family)
NUMERIC_FAMILIES: frozenset[Family] = frozenset(
    {"linear trend", "random walk", "ar1", "histogram", "offline"}
)
"""Families that count with keys: they need whole numbers, decimals, dates or times."""
COUNTED = frozenset({ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.DATE, ColumnKind.TIMESTAMP})
"""Kinds of keys that they can count with."""
JOIN_POLICIES: tuple[PolicyName, ...] = ("HEEB", "HIST", "PROB", "LIFE", "RAND", "LRU", "LFU")
LOOKUP_POLICIES: tuple[PolicyName, ...] = ("HEEB", "RAND", "LRU", "LFU")
"""Those that are built in. Among those of joins are all of them."""
OWN_POLICIES = "penstock_policies"
"""The package of everybody's policies: `USING MRU` is in `penstock_policies/mru.py`.

It has no `__init__.py`: every directory of the Python path may have a part of it.
"""


def is_numeric(type_: pa.DataType) -> bool:
    """Say whether laws can count with keys of a type.

    >>> is_numeric(pa.int32()), is_numeric(pa.float64()), is_numeric(pa.decimal128(20, 2))
    (True, False, False)
    """
    return kind_of(type_) in COUNTED and is_ordered(type_) and type_ != pa.uint64()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLaw(Node):
    """What is said of a stream's keys: the family of their law, and parameters that are known.

    Parameters that are not given are fitted; of `auto` the family is found too.

    >>> StreamLaw.from_json(StreamLaw(family="ar1", parameters={"phi1": 0.7}).to_json())
    StreamLaw(family='ar1', parameters={'phi1': 0.7})
    """

    family: Family = "auto"
    parameters: dict[str, Any] = field(default_factory=dict, hash=False, metadata=SORTED)


AUTO = StreamLaw()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(Node):
    """`MEMORY rows ROWS USING policy MODEL …`: a budget, and how it is kept."""

    rows: int
    """Rows of all sides together, in all shards together."""
    policy: PolicyName = "HEEB"
    """Who goes."""
    laws: tuple[StreamLaw, ...] = field(default=(AUTO,), metadata=stored_as("models"))
    """One per stream, in the order of the inputs."""
    options: dict[str, Any] = field(default_factory=dict, hash=False, metadata=SORTED)
    """How the policy is tuned: `alpha`, `lifetime`, `seed`, `refit_every`, …"""

    def __post_init__(self) -> None:
        assert self.rows >= 1

    def share(self, number: int, count: int) -> int:
        """Give the rows of one of `count` shards; all together they are the budget.

        >>> [Memory(rows=10).share(number, 4) for number in range(4)]
        [3, 3, 2, 2]
        """
        return self.rows // count + (number < self.rows % count)

    @property
    def seed(self) -> int:
        """Where chance begins."""
        return int(self.options.get("seed", 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup(Node):
    """`LOOKUP FROM 'source' KEY key CACHE n ROWS USING …`: where rows are looked up, and cached."""

    source: str = field(repr=False)
    """`duckdb:<path>` or `postgresql://…`."""
    table: str
    """The table's name there."""
    key: str
    """The column that rows are looked up by: one row per value."""
    memory: Memory
    """The cache."""
    options: dict[str, Any] = field(default_factory=dict, hash=False, metadata=SORTED)
    """`timeout`, `retries`, `backoff`, `batch`, `cooldown`, `waiting`: how the source is asked."""
