"""Model streams: sources of segments that groups of model queries share."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.algebra.models import (
    BoundForm,
    Fidelity,
    ModelCondition,
    ModelSource,
    SplitMethod,
)
from penstock.algebra.physical import ALONE, Division, Typed
from penstock.vocabulary.codec import OMITTED, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBound(Node):
    """What one bound allows the attributes of a source, by position; None: it does not ask."""

    form: BoundForm
    amounts: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStreamStep(Node):
    """A source that groups share: rows become segments once, however many read them.

    It has no queries. Everything that decides what its segments are stands here, so equal sources
    of different shapes are one. With `alone`, one shard has all keys, since those may meet.
    """

    source: ModelSource
    bounds: tuple[StreamBound, ...]
    split: SplitMethod
    min_share: float
    floor: float
    fidelity: Fidelity
    predicts: bool
    alone: bool
    kind: str = "model_stream"

    @property
    def plan(self) -> ModelSource:
        """The source, as a plan that is nothing else."""
        return self.source

    @property
    def sources(self) -> tuple[ModelSource, ...]:
        """The one source."""
        return (self.source,)

    @property
    def relations(self) -> tuple[str, ...]:
        """The stream whose rows it reads."""
        return (self.source.relation,)

    @property
    def shard_key(self) -> tuple[str, ...]:
        """The columns by which shards divide the rows; none: one has them all."""
        return () if self.alone else tuple(name for name, _ in self.source.key)

    @property
    def division(self) -> Division:
        """That of the groups that read it."""
        return tuple((name, ()) for name in self.relations) if self.shard_key else (ALONE,)

    @property
    def made(self) -> Typed | None:
        """Nothing that is told."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamGate(Node):
    """What several groups ask first, asked once: segments in which it never holds are not read.

    `condition` holds whenever the first condition of one of the `readers`, which are groups, does.
    Each still asks its own of the segments that pass, so it is told the same as without the gate.
    """

    condition: ModelCondition
    readers: tuple[str, ...]
    expected: float | None = field(default=None, metadata=OMITTED)
    """The share of segments that was expected to pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan(Node):
    """The gates of a model stream; groups that no gate names read everything.

    What it costs is in seconds of processor time per second, as was expected: as it is, as the best
    of the other plans that were looked at, and without any gate.
    """

    gates: tuple[StreamGate, ...] = ()
    cost: float | None = field(default=None, metadata=OMITTED)
    runner_up_cost: float | None = field(default=None, metadata=OMITTED)
    unshared_cost: float | None = field(default=None, metadata=OMITTED)
    kind: str = "model_gates"
