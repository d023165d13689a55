"""Subscriptions: what users hold of their standing queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.delivery.changes import Change, Selection
from penstock.delivery.sinks import Sink, SinkRunner
from penstock.engine.registration import Receipt

if TYPE_CHECKING:
    from penstock.engine.desk import Desk


class Subscription:
    """A named set of standing queries of one text.

    Attributes
    ----------
    name
        Unique in its engine.
    receipt
        What became of the registration: accepted, refused with reasons, since which version.
    """

    def __init__(self, desk: Desk, name: str, receipt: Receipt | None) -> None:
        self._desk = desk
        self.name = name
        self.receipt = receipt

    def __repr__(self) -> str:
        return f"Subscription({self.name!r}, {len(self)} standing queries)"

    def __len__(self) -> int:
        return self._desk.registry.standing(self.name)

    @property
    def sql(self) -> str:
        """The text."""
        return self._desk.registry.subscriptions[self.name].sql

    @property
    def group(self) -> str:
        """The group that its standing queries are in."""
        return self._desk.registry.subscriptions[self.name].group

    @property
    def verdict(self) -> str | None:
        """Of a multi-way join: ABUNDANT, TIGHT or INSUFFICIENT; see `receipt.notes`."""
        return self._desk.verdict(self.name)

    def changes(
        self, since: str | None = None, follow: bool = True, timeout_s: float | None = None
    ) -> Iterator[Change]:
        """Iterate over changes, from a resume token on.

        With `follow` the iterator waits for new changes until the engine stops, or until none came
        for `timeout_s` seconds; without, it ends where the log ends.
        """
        self._desk.check(self.name)
        return self._desk.reader.changes(
            self.selections, since, self._desk.following(follow), timeout_s
        )

    def read(self, since: str | None = None) -> pa.Table:
        """Read all changes so far as a table: _id, _query, _sign, the columns, _batch, _version."""
        self._desk.check(self.name)
        return self._desk.read(self.selections, since)

    def to(self, sink: Sink) -> SinkRunner:
        """Feed a sink with all changes from its cursor on, in a thread of its own."""
        return self._desk.add_sink(self.name, sink, self.changes_for)

    def changes_for(self, since: str | None, following: Callable[[], bool]) -> Iterator[Change]:
        """Iterate over changes as long as `following()` holds."""
        return self._desk.reader.changes(self.selections, since, following)

    def drop(self, ids: Iterable[Any] | None = None) -> int:
        """Drop standing queries by id, or the whole subscription. Returns the version."""
        return self._desk.drop(self.name, ids)

    def add(self, each: Any) -> Receipt:  # whatever frames users have
        """Add standing queries: more rows of parameters for the same text."""
        return self._desk.add(self.name, each)

    def alter(self, sql: str | None = None, each: Any = None) -> Receipt:
        """Replace the text of a single query, or the parameters of the ids that `each` names."""
        return self._desk.alter(self.name, sql, each)

    def explain(self) -> str:
        """Say how the standing queries are processed."""
        return self._desk.explain(self.name).text()

    def selections(self) -> list[Selection]:
        """Give what a reader of the log must look for, as of now."""
        return self._desk.selections(self.name)
