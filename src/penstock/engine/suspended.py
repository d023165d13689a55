"""Suspended queries: those that a batch could not be run with, and how they run again.

A host suspends a query, or a group, in the middle of a batch, and leaves a file:
`penstock.storage.suspensions`. What is done between batches goes by versions of the registry, so
that every shard sees it at once.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.engine.adaptation import Watcher
from penstock.engine.home import Home
from penstock.engine.registration import (
    DEFAULT_KEY,
    draft_adds,
    draft_drops,
    is_single,
    prepare,
    raise_if_refused_alone,
)
from penstock.expressions.admission import AdmissionError
from penstock.expressions.catalogue import admit
from penstock.expressions.function_list import ALLOWED, SIGNS
from penstock.expressions.guards import GUARDS
from penstock.registry.records import Block, Draft
from penstock.registry.store import Registry
from penstock.storage.suspensions import Suspension
from penstock.vocabulary.errors import PenstockError


class SuspendedQueries:
    """What is suspended in one home."""

    def __init__(self, registry: Registry, watcher: Watcher) -> None:
        self._registry, self._watcher = registry, watcher
        self.files = registry.suspensions

    def subscriptions(self) -> dict[str, Suspension]:
        """Give the subscriptions that are suspended, by name, with since when and why.

        Of some only single queries are: see `ids`.
        """
        self._registry.refresh()
        standing, records = self.files.standing(), self._registry.subscriptions
        single = {block.subscription: own for own, block, _ in self._queries()}
        return single | {
            name: standing[record.group]
            for name, record in records.items()
            if record.group in standing
        }

    def ids(self, name: str) -> list[Any]:
        """Give the ids of single queries of a subscription that are suspended."""
        return [row_id for _, block, row_id in self._queries() if block.subscription == name]

    def _queries(self) -> Iterator[tuple[Suspension, Block, Any]]:
        """Give the suspensions of single queries that stand, their blocks and their ids."""
        for own in self.files.standing().values():
            block = None if own.query is None else self._registry.placed.block_of(own.query)
            if own.query is not None and block is not None and not block.is_ended:
                at = int(np.searchsorted(block.query, own.query))
                if block.query[at] == own.query and block.alive[at]:
                    yield own, block, block.table["id"][at].as_py()

    def tell(self, begun: Iterable[Suspension]) -> None:
        """Leave notices for those whose queries are suspended."""
        begun = list(begun)
        for own in begun:
            if own.query is None:
                batch = -1 if own.batch is None else own.batch
                self._watcher.tell(own.group, batch, suspension_words(own))
        for own, block, row_id in self._queries() if begun else ():
            if own in begun:
                name = block.subscription
                who = name if row_id == name else f"{name}, id {row_id!r}"
                words = f"Standing query {who}: {suspension_words(own)}"
                self._watcher.tell_subscription(name, words)

    def notes(self, name: str, group: str) -> list[str]:
        """Say what is suspended of a subscription, or of a shape that is asked about."""
        rest = self.files.standing().get(group)
        if rest is not None:
            return [suspension_words(rest)]
        return [
            suspension_words(own) if row_id == name else f"id {row_id!r} is {suspension_words(own)}"
            for own, block, row_id in self._queries()
            if block.subscription == name
        ]

    def settle(self) -> None:
        """Note of queries that were suspended and stand no more that their suspension is over.

        It is over with the next version: what runs under this one may have noted it.
        """
        standing = {own.name for own, _, _ in self._queries()}
        for own in self.files.standing().values():
            if own.query is not None and own.name not in standing:
                with self._registry.reserve():
                    self.files.resume(own.name, self._registry.next_version)

    def suspend(self, group: str, reason: str) -> None:
        """Suspend a group from the next version on; `reason` is a sentence with a code."""
        with self._registry.reserve():
            number = self._registry.next_version
            suspension = Suspension(group=group, reason=reason, version=number)
            if group not in self.files.standing() and self.files.note(suspension):
                self._registry.publish(Draft())
                self.tell([suspension])

    def examine(self, home: Home) -> None:
        """Suspend what stands in a home of before and would not be admitted any more.

        That is done once for every list of functions and every version of DuckDB.
        """
        known = admission_mark()
        if home.facts.get("admission") == known:
            return
        for group, described in list(self._registry.steps.items()):
            if (refused := _refusal(described)) is not None:
                self.suspend(group, str(refused))
        home.note(admission=known)

    def resume(self, name: str) -> int:
        """Let a subscription run again, and all of its shape if that rests. Returns the version."""
        with self._registry.reserve():
            group = self._registry.subscriptions[name].group
            if group not in self.files.standing() and self.ids(name):
                return self._register_anew(name)
            if group not in self.files.standing():
                fact = f"The subscription {name!r} is not suspended."
                raise PenstockError("REG-026", fact, "Nothing need be done: it runs.")
            if (refused := _refusal(self._registry.steps[group])) is not None:
                raise refused
            return self._resume(group)

    def admit(self, group: str) -> None:
        """Refuse queries of a suspended shape; where none stands any more, the shape is free."""
        suspension = self.files.standing().get(group)
        if suspension is None:
            return
        with self._registry.reserve():
            others = [
                name
                for name, record in self._registry.subscriptions.items()
                if record.group == group and self._registry.standing(name)
            ]
            if not others:
                self._resume(group)
                return
        raise PenstockError(
            "REG-025",
            f"Queries of this shape are suspended since {suspension.since}: "
            f"{', '.join(others[:3])}.",
            f"Simplify the text, drop those, or try again: RESUME {others[0]}.",
        )

    def _register_anew(self, name: str) -> int:
        """Drop the queries of a subscription that rest, and register them again."""
        blocks = {id(block): block for _, block, _ in self._queries() if block.subscription == name}
        for block in blocks.values():
            own = {each.query for each, other, _ in self._queries() if other is block}
            rows = np.flatnonzero([number in own for number in block.query.tolist()])
            record = block.record
            each = None
            if not is_single(self._registry, name):
                table = block.table.take(pa.array(rows)).drop_columns(["query", "silent"])
                names = [column.removeprefix("p_") for column in table.column_names[1:]]
                each = table.rename_columns([record.key or DEFAULT_KEY, *names])
            request = prepare(self._registry, name, record.sql, each, record.key, record.options)
            draft = Draft()
            draft_drops(self._registry, draft, block.query[rows])
            receipt = draft_adds(self._registry, request, draft, block.query[rows])
            raise_if_refused_alone(receipt)
            self._watcher.publish(request, draft, receipt)
        self.settle()
        return self._registry.version

    def _resume(self, group: str) -> int:
        # The version is said first: if nobody publishes it now, it will be the next.
        self.files.resume(group, self._registry.next_version)
        return self._registry.publish(Draft())


def admission_mark() -> str:
    """Name the list of functions by which texts are admitted, and the DuckDB that reads them."""
    listed = "\n".join([*sorted(ALLOWED | SIGNS), *GUARDS.values()])
    return f"{version('duckdb')}-{zlib.crc32(listed.encode()):08x}"


def _refusal(described: Mapping[str, Any]) -> AdmissionError | None:
    """Say why the conditions of a step may not be evaluated, if they may not."""
    try:
        for text in residuals_in(described):
            admit(text)
    except AdmissionError as refused:
        return refused
    return None


def residuals_in(described: Any) -> Iterator[str]:
    """Give the residuals of a step, wherever in its description they stand.

    >>> list(residuals_in({"branches": [{"residual_sql": "c0 > r0"}, {"residual_sql": None}]}))
    ['c0 > r0']
    """
    if isinstance(described, Mapping):
        for name, value in described.items():
            if name == "residual_sql" and isinstance(value, str):
                yield value
            else:
                yield from residuals_in(value)
    elif isinstance(described, list | tuple):
        for each in described:
            yield from residuals_in(each)


def suspension_words(suspension: Suspension) -> str:
    """Say that queries are suspended, why, and how they run again.

    >>> print(suspension_words(Suspension(group="g", reason="[RUN-013] Slow.", batch=3))[:47])
    suspended from batch 3 on; rows that come are n
    """
    return (
        f"suspended from {suspension.since} on; rows that come are not answered. "
        f"{suspension.reason} To try again: RESUME <subscription>; or drop it, and register "
        "another text."
    )
