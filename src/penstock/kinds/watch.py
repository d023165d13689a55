"""Watches: what a kind sees of one open home, and does there while it runs.

A kind is one value for all homes. What it has to remember of one, plans and measured loads, is in
its watch, which is made when the home is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.kinds.statistics import Statistics
from penstock.language.statements import Assumption
from penstock.planning.explanation import Explanation
from penstock.planning.plan_run import SeenPlan
from penstock.registry.records import Draft
from penstock.registry.store import Registry
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.codec import Node
from penstock.vocabulary.counts import counted
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figures import Tally

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Shedding(Node):
    """What drop boxes let through, how many rows they dropped in this run, and what remains.

    All but the shares is by stream. `expected_share` is how many results are emitted by how many
    there would be without dropping, `measured_share` the same as seen; `expected_found` is the
    share of the full answer that is among them.
    """

    verdict: str
    passes: dict[str, float]
    passed: dict[str, float]
    arrived_rows: dict[str, int]
    dropped_rows: dict[str, int]
    expected_share: float
    expected_found: float
    measured_share: float | None

    def words(self, name: str) -> str:
        """Say how many rows of a shed join were dropped, and what remains of its results.

        >>> shed = Shedding(
        ...     verdict="INSUFFICIENT", passes={}, passed={}, arrived_rows={"a": 1000, "b": 50},
        ...     dropped_rows={"a": 278, "b": 0}, expected_share=0.917, expected_found=0.522,
        ...     measured_share=0.92)
        >>> print(shed.words("q"))
        q: dropped 278 of the 1,000 rows of a. So it emits 91.7 % as many rows (seen: 92.0 %); \
52.2 % of the full answer is among them.
        """
        dropped = [
            f"{rows:,} of the {counted(self.arrived_rows[each], 'row')} of {each}"
            for each, rows in self.dropped_rows.items()
            if rows
        ]
        head = f"{name}: dropped {', '.join(dropped)}."
        if self.expected_share >= 1.0:
            return f"{head} Nothing is dropped any more."
        measured = self.measured_share
        seen = f" (seen: {100 * measured:.1f} %)" if measured is not None else ""
        return (
            f"{head} So it emits {100 * self.expected_share:.1f} % as many rows{seen}; "
            f"{100 * self.expected_found:.1f} % of the full answer is among them."
        )


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

    def forget_others(self, groups: Collection[str]) -> None:
        """Forget what is remembered of groups that are not named: they stand no more."""

    def finish(self) -> None:
        """Keep what was measured, when a run ends."""

    def plan_run(self, group: str) -> SeenPlan | None:  # noqa: ARG002
        """Say what a group was seen to do in this run, beside what its plan predicts."""
        return None

    def figures(self, group: str) -> Tally:  # noqa: ARG002
        """Give what planning has counted in this run of a group that stands, and expects of it."""
        return Tally()

    def shedding(self, group: str) -> Shedding | None:  # noqa: ARG002
        """Say what is let through, what was dropped, and what remains; None if nothing can be."""
        return None
