"""Kept views: what readers of a relation that a standing query keeps may ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """How far a view is behind its base relations."""

    pending: Mapping[str, int]
    """Changes that wait to be brought into it, by base relation."""
    refresh_s: float
    """What a refresh would take now, as predicted; 0 if nothing waits or nothing is known."""

    @property
    def is_fresh(self) -> bool:
        """Whether nothing waits."""
        return not any(self.pending.values())


class KeptView(Protocol):
    """A view, as its readers see it."""

    def read(self, *, fresh: bool = False) -> pa.Table:
        """Give the rows: as of the last flushes, or, `fresh`, with everything that waits."""

    def query(self, sql: str, *, fresh: bool = False) -> pa.Table:
        """Run a SELECT over the view, in the SQL of its store."""

    def refresh(self) -> None:
        """Bring everything that waits into the view."""

    def staleness(self) -> Staleness:
        """Say how far the view is behind."""

    def forget(self, *, is_running: bool) -> None:
        """Take away what the view has elsewhere, or note that it may go: it stands no more."""
