"""Facts of live groups with a budget: the policy and the laws in force, and how rivals do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.vocabulary.codec import OMITTED, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalLaw(Node):
    """The law that foretells keys next best, and how well: in bits per key."""

    family: str
    bits_per_key: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFacts(Node):
    """The law of a stream as it is fitted now; no family: none is known yet.

    `parameters` are those of the family, in the keys as they are. What is compared, and since which
    tick the stream is what it is, is known of laws that were not declared.
    """

    family: str | None
    parameters: Mapping[str, object] = field(default_factory=dict, metadata=OMITTED)
    rows_per_tick: float | None = field(default=None, metadata=OMITTED)
    since_tick: int | None = field(default=None, metadata=OMITTED)
    bits_per_key: float | None = field(default=None, metadata=OMITTED)
    runner_up: RivalLaw | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestFacts(Node):
    """A contest of policies over a join: since when one is in force, how all did, and why."""

    since: int
    switches: int
    slice: float
    why: str
    results_per_row: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFacts(Node):
    """A cache of lookups: what it holds by which policy, the contest that chose it, and the law."""

    policy: str
    budget: int
    held: int
    since: int | None = field(default=None, metadata=OMITTED)
    switches: int | None = field(default=None, metadata=OMITTED)
    slice: float | None = field(default=None, metadata=OMITTED)
    hit_rates: Mapping[str, float] = field(default_factory=dict, metadata=OMITTED)
    why: str | None = field(default=None, metadata=OMITTED)
    law: LawFacts | None = field(default=None, metadata=OMITTED)
    law_in_force: bool | None = field(default=None, metadata=OMITTED)
    alpha: float | None = field(default=None, metadata=OMITTED)
