"""Options of join strategies, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a group of joins is processed; none of these changes an answer."""

    alpha: float = 0.001
    """A stabbing group with at least this share of all queries is a hotspot."""
    epsilon: float = 1.0
    """A partition has at most (1 + epsilon) times as many groups as the smallest one."""
    maintainer: str = "lazy-witness"
    """How the partition is kept: lazy-count, lazy-relaxed, lazy-witness, refined."""
    scattered: str = ""
    """The strategy for queries in no hotspot; empty: the class's own default."""
    buckets: int = 100
    """Buckets of the statistics that the router reads."""

    @classmethod
    def of(cls, tuning: dict[str, Any]) -> Options:
        """Read options from a step's tuning.

        >>> Options.of({"alpha": 0.01}).alpha
        0.01
        """
        known = {field.name for field in fields(cls)}
        assert set(tuning) <= known, "the language refuses unknown options"
        return cls(**tuning)
