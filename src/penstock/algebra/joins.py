"""Standing joins: what they ask, and the step that all joins of one shape run.

Two sides, `l` and `r`. Columns of joined rows are named `l.<column>` and `r.<column>`; a column of
one side alone keeps its own name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from penstock.algebra.inputs import InputsQuery, JoinInput, made_columns
from penstock.algebra.physical import BranchShape, Division
from penstock.algebra.predicates import Bound
from penstock.algebra.shapes import branch_shape
from penstock.vocabulary.codec import OMITTED, Node

JoinKind = Literal["select_join", "band_join", "window_join"]
Mode = Literal["full", "identify"]
SIDES = ("l", "r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """`r.<right> - l.<left>` lies above all `lows` and below all `highs`; some bound is there."""

    left: str
    right: str
    lows: tuple[Bound, ...]
    highs: tuple[Bound, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """`|l.<left> - r.<right>| < parameter` (in microseconds; `<=` if closed), on event times."""

    left: str
    right: str
    within: Bound
    unit_us: int = 1_000_000
    """What 1 in the parameter stands for, in microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingJoin(InputsQuery):
    """`SELECT outputs FROM left JOIN right ON keys AND band … WHERE …`.

    It has two inputs, `l` and `r`, in the order of their relations' names. `where_sql` is the whole
    predicate: ON and WHERE and WITHIN.
    """

    keys: tuple[tuple[str, str], ...]
    band: Band | None = None
    window: Window | None = None
    mode: Mode = "full"
    strategy: str = "dynamic"
    tuning: dict[str, Any] = field(default_factory=dict)
    """Options of the strategy, by name: alpha, epsilon, maintainer, scattered, buckets."""
    snapshot: bool = False
    """Whether the answer begins with the rows that the tables hold."""

    def __post_init__(self) -> None:
        assert self.keys or self.band, "a join without a key or a band is a cross product"
        assert not (self.keys and self.band), "beside keys, a band is residual"
        assert not (self.band and self.window), "beside a band, a window is residual"

    @property
    def input_names(self) -> tuple[str, ...]:
        """The left and the right one."""
        return SIDES

    def step(self) -> JoinStep:
        """Give the step that all joins of its shape share."""
        return join_step(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideShape(Node):
    """One side of a join step.

    `columns` are the relation's columns with their types (without the change column): what the
    operator keeps of a row. `branch` names the columns that the side's own predicates read.
    """

    relation: str
    columns: tuple[tuple[str, pa.DataType], ...]
    branch: BranchShape
    change_column: str | None = None
    event_time: str | None = None
    lateness_us: int = 0

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types of the columns by name."""
        return dict(self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinStep(Node):
    """All standing joins of one shape. The operator's port is `queries`.

    `keys`, `band` and `window` hold pairs of column names, (left, right).
    """

    kind: JoinKind
    left: SideShape
    right: SideShape
    keys: tuple[tuple[str, str], ...] = ()
    band: tuple[str, str] | None = None
    window: tuple[str, str] | None = None
    residual_sql: str | None = None
    residual_columns: tuple[str, ...] = ()
    residual_types: tuple[pa.DataType, ...] = ()
    mode: Mode = "full"
    strategy: str = "dynamic"
    tuning: dict[str, Any] = field(default_factory=dict)
    snapshot: bool = field(default=False, metadata=OMITTED)

    @property
    def sides(self) -> tuple[SideShape, SideShape]:
        """Both sides, left first."""
        return self.left, self.right

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that the step reads."""
        return tuple(dict.fromkeys((self.left.relation, self.right.relation)))

    @property
    def division(self) -> Division:
        """By the join key; without one (a band), every shard sees all rows.

        In a window join too: what is late is decided by the newest row of all, whatever its key.
        """
        if not self.keys or self.window:
            return tuple((relation, ()) for relation in self.relations)
        columns = zip(*self.keys, strict=True)
        return tuple((side.relation, own) for side, own in zip(self.sides, columns, strict=True))

    @property
    def makes(self) -> tuple[str, ...]:
        """The columns of both sides."""
        return tuple(name for name, _ in made_columns(SIDES, self.sides))


def kind_of_join(logical: StandingJoin) -> JoinKind:
    """Say which class a join is of."""
    if logical.band is not None:
        return "band_join"
    return "window_join" if logical.window is not None else "select_join"


def join_step(logical: StandingJoin) -> JoinStep:
    """Give the step of a standing join: joins that differ in constants or outputs share it."""
    residual = logical.residual
    types = logical.parameters
    left, right = (_side_shape(side, types) for side in logical.inputs)
    band, window = logical.band, logical.window
    return JoinStep(
        kind=kind_of_join(logical),
        left=left,
        right=right,
        keys=logical.keys,
        band=(band.left, band.right) if band else None,
        window=(window.left, window.right) if window else None,
        residual_sql=residual.sql if residual else None,
        residual_columns=residual.columns if residual else (),
        residual_types=tuple(types[name] for name in residual.parameters) if residual else (),
        mode=logical.mode,
        strategy=logical.strategy,
        tuning=logical.tuning,
        snapshot=logical.snapshot,
    )


def _side_shape(side: JoinInput, parameter_types: dict[str, pa.DataType]) -> SideShape:
    return SideShape(
        relation=side.relation,
        columns=side.columns,
        branch=branch_shape(side.branch, dict(side.columns), parameter_types),
        change_column=side.change_column,
        event_time=side.event_time,
        lateness_us=side.lateness_us,
    )
