"""What a live lookup join knows that numbers do not say."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.operators.bounded.live_facts import CacheFacts
from penstock.operators.protocol import LiveFacts
from penstock.vocabulary.codec import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenKey(Node):
    """A key whose row in the source could not be read, and why."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupFacts(LiveFacts):
    """How well the cache does since the group began, and how the source answers."""

    SHOWN = ("cache", "breaker", "last_failure", "broken_keys")

    source: str
    policy: str
    hit_rate: float | None
    references: int
    hits: int
    fetched: int
    absent: int
    broken: int
    broken_keys: tuple[BrokenKey, ...]
    cache: CacheFacts
    breaker: str
    failures: int
    last_failure: str | None
    waiting: int
