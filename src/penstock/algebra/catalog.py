"""Relations that queries may name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.algebra.memories import Lookup
from penstock.algebra.physical import ClockStep, KeepStep, Step
from penstock.vocabulary.changes import POSITION
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.names import check_names
from penstock.vocabulary.types import ColumnKind, kind_of

LATENESS_US = 60_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A stream; a table: a relation changed by a stream of changes, or looked up; or a view.

    A table's `change_column` tells what each row does, in the words of `vocabulary.changes`.
    """

    name: str
    kind: str
    """The word of its `RelationKind`, as files have it."""
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
    key: tuple[str, ...] = ()
    """The columns that name a row of a table: a change replaces, or takes, the row of its key."""
    sequence: tuple[str, ...] = ()
    """The columns that say which of two changes of a key is newer."""
    positioned: bool = False
    """Without them: whether that is taken from the files that the changes stood in."""
    lookup: Lookup | None = None
    """Where the rows of a `lookup` are, and how many of them are cached."""

    def __post_init__(self) -> None:
        check_names(self.name, self.schema.names)
        if self.kind not in RELATION_KINDS:
            fact = f"{self.name!r} is a {self.kind!r}, which is no kind of relation here."
            known = ", ".join(RELATION_KINDS)
            raise PenstockError("CAT-015", fact, f"Known are: {known}; or use a newer Penstock.")
        self._check_sizes()
        columns = (
            ("event_time", self.event_time),
            ("changes", self.change_column),
            *(("key", name) for name in self.key),
            *(("sequence", name) for name in self.sequence),
        )
        for option, column in columns:
            if column is not None and column not in self.schema.names:
                role = {"event_time": "event time", "changes": "change"}.get(option, option)
                raise PenstockError(
                    "CAT-002",
                    f"The {role} column {column!r} is not a column of {self.name!r}.",
                    f"Choose one of: {', '.join(self.schema.names)}.",
                    option=option,
                )
        if self.keeps and self.change_column is None:
            raise PenstockError(
                "CAT-003",
                f"Table {self.name!r} does not say which column tells inserts from deletes.",
                "Add OPTIONS (changes = '<column>'), or make it a stream.",
            )
        if self.change_column is not None:
            self._check_changes()

    @property
    def flows(self) -> bool:
        """Whether Spark brings its rows, so that it must be there before the first start."""
        return RELATION_KINDS[self.kind].flows

    @property
    def keeps(self) -> bool:
        """Whether it holds rows, which changes bring and take."""
        return RELATION_KINDS[self.kind].keeps

    @property
    def passes(self) -> bool:
        """Whether its rows come once, each with its time, and are not kept."""
        return RELATION_KINDS[self.kind].passes

    @property
    def is_asked(self) -> bool:
        """Whether its rows are asked for, one by one, where they are."""
        return RELATION_KINDS[self.kind].is_asked

    @property
    def followed(self) -> str | None:
        """The event time of a stream that joins can go by, if it has one."""
        if not self.passes or self.event_time is None:
            return None
        is_time = pa.types.is_timestamp(self.schema.field(self.event_time).type)
        return self.event_time if is_time else None

    def attendant(self) -> Step | None:
        """Give the step that attends to it from its declaration on, for queries that come later."""
        return RELATION_KINDS[self.kind].attendant(self)

    @property
    def recorded(self) -> pa.Schema:
        """The columns that come with every row: the relation's own, and where its change stood."""
        fields = [pa.field(*own) for own in POSITION] if self.positioned else []
        return pa.schema([*self.schema, *fields])

    def _check_changes(self) -> None:
        """Refuse a change column that holds no words, and orders that order nothing."""
        if kind_of(self.schema.field(self.change_column).type) is not ColumnKind.STRING:
            raise PenstockError(
                "CAT-009",
                f"The change column {self.change_column!r} of {self.name!r} is "
                f"{self.schema.field(self.change_column).type}; its values are words.",
                "Write words, such as insert and delete; see the reference of SQL.",
                option="changes",
            )
        if self.sequence and not self.key:
            raise PenstockError(
                "CAT-012",
                f"Table {self.name!r} has a sequence and no key: the order of its changes makes "
                "no difference.",
                "Name the columns of its key too, key = '<column>', or leave the sequence out.",
                option="sequence",
            )
        for name in self.sequence:
            if kind_of(self.schema.field(name).type) is ColumnKind.OTHER:
                raise PenstockError(
                    "CAT-012",
                    f"Column {name!r} of {self.name!r} is {self.schema.field(name).type}, which "
                    "has no order.",
                    "Name columns of numbers, times or strings as the sequence.",
                    option="sequence",
                )
        for option, names in (("key", self.key), ("sequence", self.sequence)):
            if self.change_column in names:
                raise PenstockError(
                    "CAT-012",
                    f"{self.change_column!r} says how {self.name!r} changes; it is no part of its "
                    "rows.",
                    f"Name other columns as the {option}.",
                    option=option,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationKind:
    """What the relations of one kind do; whoever asks a relation, asks this."""

    word: str
    flows: bool
    keeps: bool = False
    passes: bool = False
    is_asked: bool = False
    attendant: Callable[[Relation], Step | None] = lambda _: None
    attended_by: str | None = None
    """The kind of the step that attends to such a relation. It has no queries."""

    @property
    def is_answer(self) -> bool:
        """Whether such a relation holds what a query of the home found, and goes with it."""
        return self.keeps and not self.flows


def clock_step(stream: Relation) -> ClockStep | None:
    """Give the step that follows a stream's event time; None if it has none that joins can use."""
    if stream.followed is None:
        return None
    type_ = stream.schema.field(stream.followed).type
    return ClockStep(relation=stream.name, event_time=stream.followed, type=type_)


def keep_step(table: Relation) -> KeepStep:
    """Give the step that keeps a table's rows for the joins that read it."""
    assert table.change_column is not None
    columns = tuple((f.name, f.type) for f in table.schema if f.name != table.change_column)
    return KeepStep(
        relation=table.name,
        columns=columns,
        change_column=table.change_column,
        key=table.key,
        sequence=table.sequence,
        positioned=table.positioned,
    )


RELATION_KINDS: dict[str, RelationKind] = {
    kind.word: kind
    for kind in (
        RelationKind(
            word="stream", flows=True, passes=True, attendant=clock_step, attended_by="clock"
        ),
        RelationKind(word="table", flows=True, keeps=True, attendant=keep_step, attended_by="keep"),
        RelationKind(word="lookup", flows=False, is_asked=True),
        RelationKind(word="view", flows=False, keeps=True),
    )
}
"""Every kind of relation, by the word that files and errors have for it."""

ATTENDANTS = {kind.attended_by: kind for kind in RELATION_KINDS.values() if kind.attended_by}
"""The kind of relation that steps of a kind attend to. Such steps have no queries."""


Catalog = Mapping[str, Relation]
"""Relations by their name, in lower case."""
