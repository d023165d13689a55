"""Standing joins of two inputs: what they ask, and the step that all joins of one shape run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.algebra.inputs import InputsQuery, InputsShape
from penstock.algebra.open_conditions import OpenCondition
from penstock.algebra.physical import Division
from penstock.algebra.predicates import Bound
from penstock.vocabulary.codec import OMITTED
from penstock.vocabulary.types import scale_of

JoinKind = Literal["select_join", "band_join", "window_join"]
Mode = Literal["full", "identify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """`i1.<right> - i0.<left>` lies above all `lows` and below all `highs`; some bound is there."""

    left: str
    right: str
    lows: tuple[Bound, ...]
    highs: tuple[Bound, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """`|i0.<left> - i1.<right>| < parameter` (in microseconds; `<=` if closed), on event times."""

    left: str
    right: str
    within: Bound
    unit_us: int = 1_000_000
    """What 1 in the parameter stands for, in microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingJoin(InputsQuery):
    """`SELECT outputs FROM left JOIN right ON keys AND band … WHERE …`.

    It has two inputs, left and right, in the order of their relations' names. `where_sql` is the
    whole predicate: ON and WHERE and WITHIN.
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
    opened: tuple[OpenCondition, ...] = ()
    """Of a join AS MESSAGES, the conditions left to its subscribers: its last outputs."""

    def __post_init__(self) -> None:
        assert self.keys or self.band, "a join without a key or a band is a cross product"
        assert not (self.keys and self.band), "beside keys, a band is residual"
        assert not (self.band and self.window), "beside a band, a window is residual"

    def step(self) -> JoinStep:
        """Give the step that all joins of its shape share."""
        band, window = self.band, self.window
        return JoinStep.of(
            self,
            kind=kind_of_join(self),
            keys=self.keys,
            band=(band.left, band.right) if band else None,
            window=(window.left, window.right) if window else None,
            mode=self.mode,
            strategy=self.strategy,
            tuning=self.tuning,
            snapshot=self.snapshot,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinStep(InputsShape):
    """All standing joins of one shape. The operator's port is `queries`.

    `keys`, `band` and `window` hold pairs of column names, (left, right).
    """

    kind: JoinKind
    keys: tuple[tuple[str, str], ...] = ()
    band: tuple[str, str] | None = None
    window: tuple[str, str] | None = None
    mode: Mode = "full"
    strategy: str = "dynamic"
    tuning: dict[str, Any] = field(default_factory=dict)
    snapshot: bool = field(default=False, metadata=OMITTED)

    @property
    def division(self) -> Division:
        """By the join key; without one (a band), every shard sees all rows.

        In a window join too: what is late is decided by the newest row of all, whatever its key.
        And where keys have unlike scales, since who divides rows sees one relation at a time.
        """
        left, right = (each.types for each in self.inputs)
        unlike = any(scale_of(left[a]) != scale_of(right[b]) for a, b in self.keys)
        if not self.keys or self.window or unlike:
            return tuple((relation, ()) for relation in self.relations)
        columns = zip(*self.keys, strict=True)
        return tuple((each.relation, own) for each, own in zip(self.inputs, columns, strict=True))


def kind_of_join(logical: StandingJoin) -> JoinKind:
    """Say which class a join is of."""
    if logical.band is not None:
        return "band_join"
    return "window_join" if logical.window is not None else "select_join"
