"""Kept views: what readers of a relation that a standing query keeps may ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

NOTICE = b"penstock.notice"
"""Under this name the metadata of rows that were read say what is wrong with the view."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """How far a view is behind its base relations."""

    pending: Mapping[str, int]
    """Changes that wait to be brought into it, by base relation."""
    refresh_s: float
    """What a refresh would take now, as predicted; 0 if nothing waits or nothing is known."""
    suspended: str | None = None
    """Why the view takes no rows, if it is suspended."""

    @property
    def is_fresh(self) -> bool:
        """Whether nothing waits, and nothing is left out."""
        return self.suspended is None and not any(self.pending.values())


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


def noted(rows: pa.Table, notice: str | None) -> pa.Table:
    """Write a notice into the metadata of rows that were read, if there is one.

    >>> notice_of(noted(pa.table({"a": [1]}), "[VIEW-066] It is suspended."))
    '[VIEW-066] It is suspended.'
    """
    if notice is None:
        return rows
    return rows.replace_schema_metadata({**(rows.schema.metadata or {}), NOTICE: notice.encode()})


def notice_of(rows: pa.Table) -> str | None:
    """Give the notice of rows that were read, if they have one."""
    told = (rows.schema.metadata or {}).get(NOTICE)
    return None if told is None else told.decode()
