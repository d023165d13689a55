"""What the registry remembers: relations, subscriptions, blocks of standing queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.catalog import LATENESS_US, Relation
from penstock.algebra.memories import Lookup
from penstock.vocabulary.batches import Flags, Ints, QueryChanges
from penstock.vocabulary.broken import broken_column, marked
from penstock.vocabulary.codec import OMITTED, Node
from penstock.vocabulary.types import type_name, type_named

NEVER = np.iinfo(np.int64).max
"""The version in which a standing query that still stands was dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a relation's rows come from, if the engine can open it by itself."""

    name: str | None = None
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A relation with its source."""

    relation: Relation
    source: Source

    def to_json(self) -> dict[str, Any]:
        """Describe the declaration for a manifest."""
        relation = self.relation
        return {
            "name": relation.name,
            "kind": relation.kind,
            "schema": [[f.name, type_name(f.type)] for f in relation.schema],
            "broken_column": broken_column(relation.schema),
            "event_time": relation.event_time,
            "change_column": relation.change_column,
            "lateness_us": relation.lateness_us,
            "rate": relation.rate,
            "distinct": dict(relation.distinct),
            "size": relation.size,
            "key": list(relation.key),
            "sequence": list(relation.sequence),
            "positioned": relation.positioned,
            "lookup": None if relation.lookup is None else relation.lookup.to_json(),
            "source": self.source.name,
            "options": self.source.options,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Declaration:
        """Give back the declaration that `to_json` described."""
        lookup = data.get("lookup")
        relation = Relation(
            name=data["name"],
            kind=data["kind"],
            schema=marked(
                pa.schema([(name, type_named(type_)) for name, type_ in data["schema"]]),
                data.get("broken_column"),
            ),
            event_time=data["event_time"],
            change_column=data["change_column"],
            lateness_us=data.get("lateness_us", LATENESS_US),
            rate=data.get("rate"),
            distinct=data.get("distinct", {}),
            size=data.get("size"),
            key=tuple(data.get("key", ())),
            sequence=tuple(data.get("sequence", ())),
            positioned=data.get("positioned", False),
            lookup=None if lookup is None else Lookup.from_json(lookup),
        )
        return cls(relation=relation, source=Source(name=data["source"], options=data["options"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionRecord(Node):
    """A named set of standing queries of one text; `group` is its signature.

    `options` are those that were given beside the text: they decide how, and in joins what, the
    group answers. `sinks` are the addresses that its changes go to, by the names of the sinks.
    """

    name: str
    sql: str
    relations: tuple[str, ...]
    group: str
    key: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    sinks: Mapping[str, str] = field(default_factory=dict, hash=False, metadata=OMITTED)


def among_ids(own: pa.Array | pa.ChunkedArray, ids: pa.Array) -> Flags:
    """Say which ids of one's own are among those given; ids of another type are nobody's.

    >>> among_ids(pa.array([7, 12]), pa.array(["12", "13"])).tolist()
    [False, True]
    """
    try:
        wanted = ids.cast(own.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.zeros(len(own), dtype=np.bool_)
    found = pc.is_in(own, value_set=wanted, skip_nulls=True)
    flags: Flags = found.to_numpy(zero_copy_only=False)
    return flags


@dataclass(slots=True, kw_only=True)
class Block:
    """Standing queries that one version added to one subscription, under the text of `record`.

    A subscription's text may change, and parameters of another type may put its queries into
    another group: a block keeps the record that it was registered with. `table` has the columns
    `query` (ascending), `id`, `silent` (can never match), and the parameters as the user gave them.
    """

    record: SubscriptionRecord
    version: int
    table: pa.Table
    dropped: Ints = field(init=False)
    query: Ints = field(init=False)
    is_ended: bool = field(default=False, init=False)
    """Whether its subscription stands no more."""

    def __post_init__(self) -> None:
        self.query = self.table["query"].to_numpy()
        self.dropped = np.full(len(self.query), NEVER, dtype=np.int64)

    @property
    def subscription(self) -> str:
        """The name of the subscription."""
        return self.record.name

    @property
    def alive(self) -> Flags:
        """Which of the queries still stand."""
        flags: Flags = self.dropped == NEVER
        return flags

    def rows_of_ids(self, ids: pa.Array) -> Ints:
        """Rows of the standing queries among the ids given."""
        return np.flatnonzero(among_ids(self.table["id"], ids) & self.alive)

    @property
    def silent(self) -> int:
        """Count the standing queries that can never match."""
        return int((self.table["silent"].to_numpy() & self.alive).sum())

    def without(self, expired: int) -> Block:
        """Give the block without the queries that were dropped up to a version."""
        stays = self.dropped > expired
        if stays.all():
            return self
        kept = Block(
            record=self.record, version=self.version, table=self.table.filter(pa.array(stays))
        )
        kept.dropped = self.dropped[stays]
        return kept

    def standing_among(self, queries: Ints) -> int:
        """Count those of ascending query numbers that are here and stand."""
        at = np.minimum(np.searchsorted(self.query, queries), len(self.query) - 1)
        return int(((self.query[at] == queries) & (self.dropped[at] == NEVER)).sum())

    def drop(self, queries: Ints, version: int) -> int:
        """Mark queries as dropped in `version`; numbers that are not here change nothing."""
        at = np.searchsorted(self.query, queries)
        inside = at < len(self.query)
        at, queries = at[inside], queries[inside]
        rows = at[self.query[at] == queries]
        rows = rows[self.dropped[rows] == NEVER]
        self.dropped[rows] = version
        return len(rows)


@dataclass(slots=True, kw_only=True)
class Draft:
    """Changes that become the next version together, or not at all."""

    declarations: list[Declaration] = field(default_factory=list)
    steps: dict[str, dict[str, Any]] = field(default_factory=dict)
    subscriptions: list[SubscriptionRecord] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    undeclared: list[str] = field(default_factory=list)
    """Relations that are there no more: those that a query kept which has ended."""
    blocks: list[Block] = field(default_factory=list)
    changes: dict[str, QueryChanges] = field(default_factory=dict)
    let_go: dict[str, int] = field(default_factory=dict)
    """Groups that no query stands in any more, each with the version in which the last went."""

    @property
    def is_addition(self) -> bool:
        """Say whether it changes nothing of what stands: no relation, no end, no drop."""
        drops = any(len(change.drops) for change in self.changes.values())
        return not (self.declarations or self.ended or drops)

    @classmethod
    def of_additions(cls, drafts: Sequence[Draft]) -> Draft:
        """Put additions together, in their order."""
        adds: dict[str, dict[str, list[pa.Table]]] = {}
        for draft in drafts:
            for group, change in draft.changes.items():
                for port, table in change.adds.items():
                    adds.setdefault(group, {}).setdefault(port, []).append(table)
        return cls(
            steps={group: step for draft in drafts for group, step in draft.steps.items()},
            subscriptions=[record for draft in drafts for record in draft.subscriptions],
            blocks=[block for draft in drafts for block in draft.blocks],
            changes={
                group: QueryChanges(
                    adds={
                        port: pa.concat_tables(tables).combine_chunks()
                        for port, tables in ports.items()
                    }
                )
                for group, ports in adds.items()
            },
        )

    def following(self, number: int) -> int:
        """Give the first number from `number` on that the draft leaves free.

        Standing queries take numbers, and so do a group's other entries, such as plans.
        """
        for block in self.blocks:
            if len(block.query):
                number = max(number, int(block.query[-1]) + 1)
        for change in self.changes.values():
            for table in change.adds.values():
                if table.num_rows:
                    number = max(number, table["query"][-1].as_py() + 1)
        return number
