"""What a group runs: one step per group, the same for all its standing queries."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from penstock.vocabulary.changes import POSITION
from penstock.vocabulary.codec import OMITTED, Node

PLAN_PORT = "plan"
"""The port that takes the group's plan: `query` (a number of the plan's own) and `plan` (JSON)."""

Typed = tuple[tuple[str, pa.DataType], ...]

ALONE = ("", ())
"""Begins a division that has one shard, which sees all rows of all relations."""

Division = tuple[tuple[str, tuple[str, ...]], ...] | None
"""How a step's rows may be divided among shards: None: at will; else, for each relation, by the
values of some columns (rows that meet each other are in one shard), or, without columns, not at
all: every shard sees every row, and shards divide the queries."""


class Described(Protocol):
    """What can be written down."""

    def to_json(self) -> dict[str, Any]:
        """Describe it for the registry's files; equal ones give equal descriptions."""


class Step(Described, Protocol):
    """What a group runs: one class per kind of operator."""

    @property
    def kind(self) -> str:
        """Which kind of operator runs the step."""

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that the step reads."""

    @property
    def division(self) -> Division:
        """How its rows may be divided among shards."""

    @property
    def made(self) -> Typed | None:
        """The columns of the rows that it makes; None: it passes events of its relation on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchShape(Node):
    """A branch without its constants: which columns are compared how, and what is residual."""

    equalities: Typed = ()
    ranges: Typed = ()
    residual_sql: str | None = None
    residual_columns: tuple[str, ...] = ()
    residual_types: tuple[pa.DataType, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleStep(Node):
    """What steps over one relation have in common.

    Its rows have no division of their own: events meet queries only, which are everywhere, and what
    is kept of a relation for its joins goes where those are.
    """

    relation: str

    @property
    def relations(self) -> tuple[str, ...]:
        """The one relation that it reads."""
        return (self.relation,)

    @property
    def division(self) -> Division:
        """Any."""
        return None

    @property
    def made(self) -> Typed | None:
        """Nothing: it passes events on, or has no queries."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterStep(SingleStep):
    """All standing filters of one shape on one relation.

    The operator's port `branch<i>` takes the entries of `branches[i]`. Filters that may drop rows
    under an overload have `dropping`, the options that say so, and a port `plan` for their drop
    box, which goes by `event_time`. With `kept`, the columns of a table, answers begin with the
    rows that the table holds.
    """

    branches: tuple[BranchShape, ...]
    sees_broken: bool = False
    """Whether lines that do not parse are rows for it: it asks for them."""
    dropping: dict[str, Any] = field(default_factory=dict)
    event_time: str | None = None
    kept: Typed = field(default=(), metadata=OMITTED)
    change_column: str | None = field(default=None, metadata=OMITTED)
    kind: str = "filter"

    def __post_init__(self) -> None:
        assert not self.dropping or self.event_time is not None

    @property
    def snapshot(self) -> bool:
        """Whether answers begin with the rows that the table holds."""
        return bool(self.kept)

    @property
    def made(self) -> Typed | None:
        """The rows of its table, if answers begin with these; else it passes events on."""
        return self.kept or None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepStep(SingleStep):
    """A table's changes, resolved for all that read it, and its rows. It has no queries.

    With a `key`, the newest change of a key decides. `sequence` names the columns that say which is
    newer; without them, `positioned` says that every change tells where in which file it stood.
    """

    columns: Typed
    change_column: str
    key: tuple[str, ...] = ()
    sequence: tuple[str, ...] = ()
    positioned: bool = False
    kind: str = "keep"

    @property
    def position(self) -> Typed:
        """The columns that say where a change stood, beside the table's own."""
        return POSITION if self.positioned else ()

    @property
    def order(self) -> tuple[str, ...]:
        """The columns that say which of two changes is newer; none: the one that came later."""
        return self.sequence or tuple(name for name, _ in self.position)

    @property
    def identity(self) -> Typed:
        """The columns whose values make changes speak of one row."""
        return tuple(own for own in self.columns if not self.key or own[0] in self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStep(SingleStep):
    """The newest event time of a stream, kept for the joins that read it. It has no queries."""

    event_time: str
    type: pa.DataType
    kind: str = "clock"


def reads_of(step: Step) -> tuple[str, ...]:
    """Give the groups whose work a step reads, in the same batch; most read rows alone.

    >>> reads_of(ClockStep(relation="s", event_time="t", type=pa.timestamp("us")))
    ()
    """
    found: tuple[str, ...] = getattr(step, "reads", ())
    return found


def signature(step: Step) -> str:
    """Name the group of a step: equal for equal shapes, whatever the constants.

    >>> shape = BranchShape(ranges=(("price", pa.float64()),))
    >>> a = FilterStep(relation="trades", branches=(shape,))
    >>> signature(a) == signature(FilterStep.from_json(a.to_json()))
    True
    """
    return f"{step.kind}-{digest(step)}"


def digest(shape: Described) -> str:
    """Give a short name to a shape: equal for equal ones."""
    text = json.dumps(shape.to_json(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
