"""What a script may say: one frozen class per statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from penstock.algebra.catalog import RELATION_KINDS
from penstock.algebra.memories import PolicyName, StreamLaw
from penstock.language.places import ScriptSource
from penstock.vocabulary.errors import Place

OptionValue = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement and the piece of script that said it; `places` are where its options stand."""

    source: ScriptSource = field(compare=False)
    places: dict[str, Place] = field(default_factory=dict, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The statement as it was written, without its semicolon."""
        return self.source.text


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceName:
    """Where a relation's rows come from: a quoted `'kind:rest'`, or the name of a frame.

    A frame that was registered under a name is of kind `frame`.

    >>> SourceName.of_text("parquet:/data/trades")
    SourceName(kind='parquet', rest='/data/trades')
    >>> SourceName.of_text("rate")
    SourceName(kind='rate', rest='')
    """

    kind: str
    rest: str

    @classmethod
    def of_text(cls, text: str) -> SourceName:
        """Split `kind:rest`; a text without a colon is all kind."""
        kind, _, rest = text.partition(":")
        return cls(kind=kind.strip().lower(), rest=rest.strip())

    def __str__(self) -> str:
        return f"{self.kind}:{self.rest}" if self.rest else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRelation(Statement):
    """`CREATE STREAM name …` or `CREATE TABLE name …`; `replaces` after `CREATE OR REPLACE`.

    `columns` is None when the text lists none: the source then brings its own schema.
    """

    kind: Literal["stream", "table"]
    name: str
    from_: SourceName
    columns: pa.Schema | None = None
    options: dict[str, OptionValue] = field(default_factory=dict)
    if_not_exists: bool = False
    replaces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateLookup(Statement):
    """`CREATE TABLE name (…) LOOKUP FROM 'from_' KEY key CACHE n ROWS USING … MODEL … OPTIONS (…)`.

    `columns` is None when the text lists none: they are read from the source. The options are as
    the text has them.
    """

    name: str
    from_: str
    key: str
    cache: int
    using: PolicyName = "HEEB"
    law: StreamLaw | None = None
    columns: pa.Schema | None = None
    options: dict[str, OptionValue] = field(default_factory=dict)
    if_not_exists: bool = False
    replaces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Statement):
    """`SELECT …`: what `bind` turns into a logical plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForEach:
    """`FOR EACH ROW OF …`: a file, or the name of a registered frame; never both."""

    path: str | None = None
    frame: str | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        assert (self.path is None) != (self.frame is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkClause:
    """`'address' AS name` behind INTO: where changes go."""

    address: str
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribe(Statement):
    """`SUBSCRIBE name TO SELECT … [AS MESSAGES] [FOR EACH …] [WITH SNAPSHOT] [ADAPT] [INTO …]`.

    AS MESSAGES, WITH SNAPSHOT and ADAPT stand among the options, beside those of OPTIONS (…).
    """

    name: str
    select: Select
    each: ForEach | None = None
    options: dict[str, OptionValue] = field(default_factory=dict)
    sinks: tuple[SinkClause, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSink(Statement):
    """`DROP SINK name OF subscription`."""

    name: str
    subscription: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView(Statement):
    """`CREATE VIEW name REFRESH WITHIN n unit [STORE 'postgresql://…'] AS SELECT … [OPTIONS (…)]`.

    All but the query stands among the options, as a view is registered with them.
    """

    name: str
    select: Select
    options: dict[str, OptionValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRelation(Statement):
    """`DROP STREAM name`, `DROP TABLE name` or `DROP VIEW name`: takes a declaration back."""

    kind: Literal["stream", "table", "view"]
    name: str
    if_exists: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether a query keeps the relation: it goes with the query."""
        return RELATION_KINDS[self.kind].is_answer


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSubscription(Statement):
    """`DROP SUBSCRIPTION name`; with `ids`, only those of its standing queries."""

    name: str
    ids: tuple[str | int, ...] | None = None
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume(Statement):
    """`RESUME name`: a suspended subscription runs again."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep(Statement):
    """`KEEP 7 DAYS`: what results of the home are kept, in the words of `limits`."""

    limits: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """`what(of, …) = value` inside WHAT IF, in the units that the planner counts in.

    >>> Assumption(what="rate", of=("c",), value=500.0, unit="/s")
    Assumption(what='rate', of=('c',), value=500.0, unit='/s')
    """

    what: Literal[
        "rate", "window", "selectivity", "rows", "cores", "headroom", "memory", "cost", "bound"
    ]
    of: tuple[str, ...] = ()
    """The inputs that it is about: none, one, or the two of a join's selectivity."""
    value: float
    unit: Literal["", "/s", "rows", "us", "bytes", "s"] = ""
    """A window has `rows` or microseconds, a memory `rows` or `bytes`, a cost seconds."""
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain(Statement):
    """`EXPLAIN SELECT … [FOR EACH ROW OF …] [OPTIONS (…)] [WHAT IF (…)]`.

    Or `EXPLAIN SUBSCRIPTION | VIEW name [WHAT IF (…)]`: `of` is the query, or the name.
    """

    of: Select | str
    each: ForEach | None = None
    options: dict[str, OptionValue] = field(default_factory=dict)
    what_if: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainTuple(Statement):
    """`EXPLAIN TUPLE OF relation (column = value, …) FOR subscription`.

    What would happen if such a row arrived. A value of None is NULL; times stand as strings.
    """

    relation: str
    values: dict[str, OptionValue | None]
    subscription: str
