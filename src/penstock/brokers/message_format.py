"""Semantic messages: how answers of range aggregates change, told for all ranges at once.

A row of a message says: the aggregate of every range [x1, x2] of its partition with
`outer_l < x1 <= inner_l` and `inner_r <= x2 < outer_r` is now `value`; NULL if no row is in it any
more. An outer end that is NULL is no bound. docs/reference/messages.md is the whole of it.

Every change of the rows at one x is told by a row with inner_l = inner_r = x, to the range [x, x].
So the aggregate at every x, and from them that of every range, follow from the messages alone. What
messages of other kinds say, `message_kinds` has.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.open_conditions import OpenCondition, open_conditions
from penstock.brokers.compact_rows import compact_of, is_compact, rows_of
from penstock.brokers.message_kinds import (
    ENDS,
    ORDINAL,
    SAID,
    WEIGHT,
    MessageKind,
    X,
    Y,
    kind_of_rows,
)
from penstock.vocabulary.batches import Floats, Ints
from penstock.vocabulary.errors import PenstockError

MESSAGES_VERSION, CHECKED_VERSION = 2, 3
"""Version 3 is of messages that are sent to named edges only, and only if they concern one."""
ABOUT, HEAD = "about", "head"
"""Names of what is kept: the form, and where the newest state is."""
ARROW, WHOLE, PART = b"\0", b"\1", b"\2"
"""How rows are written, by the first byte: as a record batch of Arrow's IPC; or compact, all of a
batch in their order, without ordinals, or some of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageForm:
    """What the messages of one subscription look like."""

    schema: pa.Schema
    """The ordinal, the columns of the partition, and what messages of its kind say."""
    bounds: tuple[float, ...]
    """Between two buckets of the attribute: bucket k has numbers from bound k - 1 up to bound k."""
    engine: str
    subscription: str
    edges: tuple[str, ...] = ()
    """All edges there are, if what concerns none of them may be left out."""

    @property
    def kind(self) -> MessageKind:
        """What messages are of."""
        return kind_of_rows(self.schema)

    @property
    def partition(self) -> list[str]:
        """The columns that ranges must agree in."""
        if self.kind == "row":
            return [each.name for each in self.conditions if not each.is_range]
        return list(self.schema.names[1 : -SAID[self.kind]])

    @property
    def conditions(self) -> tuple[OpenCondition, ...]:
        """What subscribers ask of rows of a join, each for himself: by the last columns' names."""
        return open_conditions(self.schema.names[:-1])

    @property
    def value(self) -> str:
        """The column of the new value, of the one gained or lost, or of what is added up."""
        assert self.kind != "row", "a row has many"
        return Y if self.kind == "total" else str(self.schema.names[-SAID[self.kind]])

    @property
    def place(self) -> str:
        """The column that says where a message belongs: ranges that it concerns contain it."""
        if self.kind == "row":
            return self.places[0]
        return X if self.kind == "total" else ENDS[0]

    @property
    def places(self) -> list[str]:
        """All columns that must lie in ranges of whom a message concerns: of joins, two perhaps."""
        if self.kind != "row":
            return [self.place]
        return [each.name for each in self.conditions if each.is_range]

    @property
    def attribute(self) -> pa.DataType:
        """The type of the attribute that ranges are of."""
        return self.schema.field(self.place).type

    @property
    def points(self) -> pa.Schema:
        """The columns of states: the partition, the attribute `x`, and the aggregate there.

        Of totals and sets it is each value there, and how often; of joins their rows, and how
        often.
        """
        if self.kind == "row":
            return self.schema.remove(0)
        parts = [self.schema.field(name) for name in (*self.partition, self.value)]
        weight = [] if self.kind == "extreme" else [(WEIGHT, pa.int64())]
        return pa.schema([*parts[:-1], (X, self.attribute), parts[-1], *weight])

    @property
    def point_place(self) -> str:
        """The column of states that says to which bucket a row belongs."""
        return self.place if self.kind == "row" else X

    def subject(self, bucket: int) -> str:
        """Give the subject of a bucket."""
        return f"b{bucket}"

    def to_bytes(self) -> bytes:
        """Write it down, as JSON."""
        schema = base64.b64encode(self.schema.serialize()).decode()
        version = CHECKED_VERSION if self.edges else MESSAGES_VERSION
        facts: dict[str, Any] = {
            "messages": version, "engine": self.engine, "subscription": self.subscription,
            "partition": self.partition, "bounds": list(self.bounds), "schema": schema,
        }  # fmt: skip
        if self.kind == "row":
            facts["conditions"] = [
                {"column": each.name, "equals": each.equals}
                if not each.is_range
                else {
                    "column": each.name, "low": each.low, "low_closed": each.low_closed,
                    "high": each.high, "high_closed": each.high_closed,
                }
                for each in self.conditions
            ]  # fmt: skip
        else:
            facts["value"] = self.value
        if self.edges:
            facts["edges"] = list(self.edges)
        return json.dumps(facts).encode()

    @staticmethod
    def of_bytes(data: bytes) -> MessageForm:
        """Read what was written down; refuse another version."""
        facts = json.loads(data)
        if facts.get("messages") not in (MESSAGES_VERSION, CHECKED_VERSION):
            raise PenstockError(
                "BRK-005",
                f"What is published here are no semantic messages of version {MESSAGES_VERSION} "
                f"or {CHECKED_VERSION}.",
                "Name a root to which a subscription AS MESSAGES is published, by this version.",
            )
        return MessageForm(
            schema=pa.ipc.read_schema(pa.py_buffer(base64.b64decode(facts["schema"]))),
            bounds=tuple(facts["bounds"]),
            engine=facts["engine"], subscription=facts["subscription"],
            edges=tuple(facts.get("edges", ())),
        )  # fmt: skip

    def points_payload(self, points: pa.Table) -> bytes:
        """Write points as those of states are; the schema is `points`."""
        (batch,) = points.combine_chunks().to_batches() or [_no_rows(self.points)]
        if not is_compact(self.points):
            return ARROW + cast(bytes, batch.serialize().to_pybytes())
        return WHOLE + compact_of(batch)

    def read_points(self, payload: bytes) -> pa.Table:
        """Read points."""
        written, rest = payload[:1], payload[1:]
        if written == ARROW:
            batch = pa.ipc.read_record_batch(pa.py_buffer(rest), self.points)
        else:
            batch = rows_of(rest, self.points)
        return pa.Table.from_batches([batch])

    def payload(self, rows: pa.Table) -> bytes:
        """Write rows of a batch, all or some; the schema is written in the form."""
        (batch,) = rows.combine_chunks().to_batches() or [_no_rows(self.schema)]
        if not is_compact(self.schema):
            return ARROW + cast(bytes, batch.serialize().to_pybytes())
        ordinals = batch.column(0).to_numpy()
        if np.array_equal(ordinals, np.arange(len(ordinals))):
            return WHOLE + compact_of(batch.drop_columns([ORDINAL]))
        return PART + compact_of(batch)

    def read(self, payload: bytes) -> pa.RecordBatch:
        """Read the rows of a message."""
        written, rest = payload[:1], payload[1:]
        if written == ARROW:
            return pa.ipc.read_record_batch(pa.py_buffer(rest), self.schema)
        if written == PART:
            return rows_of(rest, self.schema)
        rows = rows_of(rest, self.schema.remove(0))
        ordinals = pa.array(np.arange(len(rows), dtype=np.int32))
        return pa.RecordBatch.from_arrays([ordinals, *rows.columns], schema=self.schema)


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def numbers_of(column: pa.ChunkedArray | pa.Array) -> Floats:
    """Give values of an ordered type as floats that keep the order, if not all digits.

    >>> numbers_of(pa.array([3, 5], pa.timestamp("us"))).tolist()
    [3.0, 5.0]
    """
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"))
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int64())
    found = pc.cast(column, pa.float64(), safe=False)
    return np.asarray(found.to_numpy() if isinstance(found, pa.ChunkedArray) else found)


def chosen_bounds(numbers: Floats, buckets: int) -> tuple[float, ...]:
    """Choose bounds that divide numbers into so many buckets of like size, or fewer.

    >>> chosen_bounds(np.array([1.0, 2.0, 3.0, 4.0]), 2), chosen_bounds(np.array([1.0, 1.0]), 4)
    ((3.0,), ())
    """
    own = np.sort(numbers[np.isfinite(numbers)])
    if len(own) == 0:
        return ()
    at = np.arange(1, buckets) * len(own) // buckets
    return tuple(float(each) for each in np.unique(own[at]) if each > own[0])


def buckets_of(numbers: Floats, bounds: Sequence[float]) -> Ints:
    """Give the bucket of every number.

    >>> buckets_of(np.array([0.0, 3.0, 9.0]), (3.0, 5.0)).tolist()
    [0, 1, 2]
    """
    return np.searchsorted(np.asarray(bounds, dtype=np.float64), numbers, side="right")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEnd:
    """What is published behind the messages of a batch: which there were, by subject.

    Ends are numbered one by one, so that a receiver knows whether it has missed one. A batch of few
    rows has them all here, and no other message.
    """

    number: int
    parts: dict[str, int]
    """How many messages of the batch each subject had."""
    rows: bytes | None = None
    """All rows, written as a message."""
    heard: int = 0
    """By which knowledge of what edges hold rows were left out, as in the state's head; 0: none
    were."""

    def to_bytes(self) -> bytes:
        """Write it down, as a line of JSON, and behind it the rows."""
        facts: dict[str, Any] = {"number": self.number}
        if self.heard:
            facts["heard"] = self.heard
        if self.rows is None:
            facts["parts"] = self.parts
        told = json.dumps(facts, separators=(",", ":")).encode()
        return told if self.rows is None else told + b"\n" + self.rows

    @staticmethod
    def of_bytes(data: bytes) -> BatchEnd:
        """Read what was written down."""
        told, has_rows, rows = data.partition(b"\n")
        facts = json.loads(told)
        return BatchEnd(
            number=facts["number"], parts=facts.get("parts", {}), rows=rows if has_rows else None,
            heard=facts.get("heard", 0),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StateHead:
    """Where the newest state is: all that it says holds behind one batch.

    The state of bucket k is in `chunks[k][1]` values that are kept as `s<k>.<turn % 2>.<n>`, each
    of which says its turn, `chunks[k][0]`. What follows is behind the position.
    """

    batch: int
    number: int
    position: str
    chunks: dict[str, tuple[int, int]]
    heard: int = 0
    """Which ends follow it, up to the next state: those that say the same."""
    edges: dict[str, str] = field(default_factory=dict)
    """What is known of the ranges of every edge: the digest of its summary. If nothing is, all
    rows are sent."""

    def to_bytes(self) -> bytes:
        """Write it down, as JSON."""
        facts: dict[str, Any] = {"batch": self.batch, "number": self.number}
        if self.heard:
            facts |= {"heard": self.heard, "edges": self.edges}
        return json.dumps({**facts, "position": self.position, "chunks": self.chunks}).encode()

    @staticmethod
    def of_bytes(data: bytes) -> StateHead:
        """Read what was written down."""
        facts = json.loads(data)
        facts["chunks"] = {own: (turn, count) for own, (turn, count) in facts["chunks"].items()}
        return StateHead(**facts)
