"""Hurrying: tells when too many rows of a join wait, and the oldest go ahead of a silent stream."""

from __future__ import annotations

from collections.abc import Callable, Collection

from penstock.kinds.table import groups_of
from penstock.registry.store import Registry
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.forgetting import keep_named
from penstock.vocabulary.shared_figures import HELD, HURRIED_ROWS

Tell = Callable[[str, int, str], None]
"""`(group, batch, text)`: leaves a notice."""


class Hurrying:
    """Follows the reports of a run.

    It is told once that rows hurry, and again when it happens after fewer than half as many rows
    waited as may.
    """

    def __init__(self, registry: Registry, tell: Tell) -> None:
        self._registry = registry
        self._tell = tell
        self._told: set[str] = set()
        self.rows: dict[str, int] = {}
        """By group: how many rows hurried in this run."""

    def forget_others(self, groups: Collection[str]) -> None:
        """Forget groups that are not named."""
        self._told.intersection_update(groups)
        keep_named(self.rows, groups)

    def take(self, report: BatchReport) -> None:
        """Take a batch's report."""
        for group, described, kind in groups_of(self._registry.steps):
            most = kind.waiting(described)
            if most is None:
                continue
            hurried = report.figures[group][HURRIED_ROWS]
            if hurried:
                self.rows[group] = self.rows.get(group, 0) + hurried
                if group not in self._told:
                    self._told.add(group)
                    self._tell(group, report.batch, str(_notice(most)))
            elif 2 * report.figures[group][HELD] < most:
                self._told.discard(group)


def _notice(most: int) -> PenstockError:
    rows = "1 row" if most == 1 else f"{most:,} rows"
    return PenstockError(
        "ENG-042",
        f"More than {rows} wait for a stream that is silent or far behind: the oldest go on "
        "without it, and rows that it brings from before them are late.",
        "Bring the stream's rows, or let more wait: OPTIONS (waiting = n).",
    )
