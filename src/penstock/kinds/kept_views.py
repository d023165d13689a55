"""Kept views: what readers of a relation that a standing query keeps may ask."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from penstock.vocabulary.counts import counted

NOTICE = b"penstock.notice"
"""Under this name the metadata of rows that were read say what is wrong with the view."""
STALENESS = b"penstock.staleness"
"""Under this name they say how far behind they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """How far a view is behind its base relations.

    >>> stale = Staleness(pending={"supply": 12, "demand": 0}, refresh_s=0.02, age_s=1.5)
    >>> stale.is_fresh, stale.words()
    (False, '12 changes of supply wait, the oldest for 1.5 s')
    >>> Staleness(pending={"supply": 1}, refresh_s=0.02).words()
    '1 change of supply waits'
    """

    pending: Mapping[str, int]
    """Changes that wait to be brought into it, by base relation."""
    refresh_s: float
    """What a refresh would take now, as predicted; 0 if nothing waits or nothing is known."""
    age_s: float = 0.0
    """How long the oldest of them has waited; 0 if nothing waits."""
    suspended: str | None = None
    """Why the view takes no rows, or one that it reads, if that is suspended."""
    rests: str | None = None
    """Which of them is."""

    @property
    def is_fresh(self) -> bool:
        """Whether nothing waits, and nothing is left out."""
        return self.suspended is None and not any(self.pending.values())

    def words(self) -> str:
        """Say what waits; nothing, if nothing does."""
        waiting = [
            f"{counted(count, 'change')} of {name}" for name, count in self.pending.items() if count
        ]
        if not waiting:
            return ""
        age = f", the oldest for {self.age_s:,.1f} s" if self.age_s else ""
        verb = "waits" if sum(self.pending.values()) == 1 else "wait"
        return f"{', '.join(waiting)} {verb}{age}"

    def to_json(self) -> dict[str, Any]:
        """Describe it, for machines and for who asked another process."""
        return {
            "pending": dict(self.pending),
            "refresh_s": self.refresh_s,
            "age_s": self.age_s,
            "suspended": self.suspended,
            "rests": self.rests,
        }

    def joined(self, other: Staleness) -> Staleness:
        """Say how far a view is behind that reads another one."""
        pending = Counter(self.pending)
        pending.update(other.pending)
        return Staleness(
            pending=dict(pending),
            refresh_s=self.refresh_s + other.refresh_s,
            age_s=max(self.age_s, other.age_s),
            suspended=self.suspended or other.suspended,
            rests=self.rests or other.rests,
        )


class KeptView(Protocol):
    """A view, as its readers see it."""

    def read(self, *, fresh: bool = False) -> pa.Table:
        """Give the rows: as of the last flushes, or, `fresh`, with everything that waits."""

    def query(self, sql: str, *, fresh: bool = False) -> pa.Table:
        """Run a SELECT over the view, in the SQL of its store."""

    def refresh(self) -> None:
        """Bring everything that waits into the view."""

    def staleness(self, *, is_ahead: bool = False) -> Staleness:
        """Say how far the view is behind; to who `is_ahead`, what it will tell is known."""

    def untold(self, *, fresh: bool) -> pa.Table:
        """Give the changes of its rows that relations which read it have not been told.

        Its columns, and last how often each row came or went; `fresh`, with everything that waits.
        """

    def forget(self, *, is_running: bool) -> None:
        """Take away what the view has elsewhere, or note that it may go: it stands no more."""


def noted(rows: pa.Table, stale: Staleness, notice: str | None) -> pa.Table:
    """Write into the metadata of rows how far behind they are, and a notice, if there is one.

    >>> stale = Staleness(pending={"supply": 3}, refresh_s=0.0)
    >>> rows = noted(pa.table({"a": [1]}), stale, "[VIEW-066] It is suspended.")
    >>> notice_of(rows), staleness_of(rows) == stale
    ('[VIEW-066] It is suspended.', True)
    """
    told = {**(rows.schema.metadata or {}), STALENESS: json.dumps(stale.to_json()).encode()}
    if notice is not None:
        told[NOTICE] = notice.encode()
    return rows.replace_schema_metadata(told)


def notice_of(rows: pa.Table) -> str | None:
    """Give the notice of rows that were read, if they have one."""
    told = (rows.schema.metadata or {}).get(NOTICE)
    return None if told is None else told.decode()


def staleness_of(rows: pa.Table) -> Staleness | None:
    """Say how far behind rows are that were read from a view."""
    told = (rows.schema.metadata or {}).get(STALENESS)
    return None if told is None else Staleness(**json.loads(told))
