"""Watches: what a kind sees of one open home, and does there while it runs.

A kind is one value for all homes. What it has to remember of one, plans and measured loads, is in
its watch, which is made when the home is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.kinds.statistics import Statistics
from penstock.language.statements import Assumption
from penstock.planning.explanation import Explanation
from penstock.registry.records import Draft
from penstock.registry.store import Registry
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.errors import PenstockError

Tell = Callable[[str, int, str], None]
"""`(group, batch, text)`: leaves a notice for those who read a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What the watches of a home share; `logical_of` binds the newest text of a group, if any."""

    registry: Registry
    statistics: Statistics
    tell: Tell
    logical_of: Callable[[str], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What is said of queries when they are registered: whether they will keep up.

    What a plan adds to the draft is in force with the version that `took` is told.
    """

    verdict: str | None = None
    notes: tuple[str, ...] = ()
    took: Callable[[int], None] = lambda _version: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """What EXPLAIN has found out of a query, for its kind to add to.

    `arriving` counts the queries that a text would add; None: it stands already. Of a group whose
    queries are all gone there is no `logical`.
    """

    explanation: Explanation
    logical: Any
    what_if: Sequence[Assumption] = ()
    arriving: int | None = None


class Watch:
    """What a kind does in one home; by default, nothing."""

    def __init__(self, house: House) -> None:
        self.house = house

    def plan(self, logical: Any, group: str, arriving: int, draft: Draft) -> Promise:  # noqa: ARG002
        """Judge queries that a draft adds to a group, and add their plan; under the lock."""
        return Promise()

    def verdict(self, group: str) -> str | None:  # noqa: ARG002
        """Give the verdict on a group, as of its plan."""
        return None

    def explain(self, asked: Explained) -> Explanation:
        """Add what the planner says; refuse assumptions where it is not asked."""
        if asked.what_if:
            raise PenstockError(
                "ENG-036",
                "WHAT IF asks the planner, and it has nothing to say of such a query.",
                "Leave WHAT IF out.",
                asked.what_if[0].place,
            )
        return asked.explanation

    def begin(self, once: bool, shards: int) -> None:
        """Begin a run; with `once` it ends when all that is there is processed."""

    def take(self, report: BatchReport, now_s: float) -> None:
        """Take a batch's report, and act on it."""

    def finish(self) -> None:
        """Keep what was measured, when a run ends."""

    def run_facts(self, group: str) -> dict[str, Any]:  # noqa: ARG002
        """Say what a group was seen to do in this run, beside what is predicted."""
        return {}

    def shedding(self, group: str) -> dict[str, Any] | None:  # noqa: ARG002
        """Say what is let through, what was dropped, and what remains; None if nothing can be."""
        return None
