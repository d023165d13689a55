"""Suspended queries: those that a batch could not be run with, and how they run again.

A host suspends a group in the middle of a batch, and leaves a file: `penstock.storage.suspensions`.
What is done between batches goes by versions of the registry, so that every shard sees it at once.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

from penstock.engine.home import Home
from penstock.expressions.admission import AdmissionError
from penstock.expressions.catalogue import admit
from penstock.expressions.function_list import ALLOWED, SIGNS
from penstock.expressions.guards import GUARDS
from penstock.registry.records import Draft
from penstock.registry.store import Registry
from penstock.storage.suspensions import Suspension
from penstock.vocabulary.errors import PenstockError

Tell = Callable[[str, int, str], None]
"""`(group, batch, text)`: leaves a notice."""


class SuspendedQueries:
    """What is suspended in one home."""

    def __init__(self, registry: Registry, tell: Tell) -> None:
        self._registry, self._tell = registry, tell
        self.files = registry.suspensions

    def subscriptions(self) -> dict[str, Suspension]:
        """Give the subscriptions that are suspended, by name, with since when and why."""
        self._registry.refresh()
        standing, records = self.files.standing(), self._registry.subscriptions
        return {
            name: standing[record.group]
            for name, record in records.items()
            if record.group in standing
        }

    def tell(self, begun: Iterable[Suspension]) -> None:
        """Leave notices for those whose queries are suspended."""
        for own in begun:
            self._tell(own.group, -1 if own.batch is None else own.batch, suspension_words(own))

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
        """Let a subscription, and all of its shape, run again. Returns the version."""
        with self._registry.reserve():
            group = self._registry.subscriptions[name].group
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
