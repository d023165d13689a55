"""Losses of a run: every count that says something was left out, summed and told.

Operators count per group, hosts per relation; both come in a report's figures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from threading import Lock

from penstock.operators.catalogue import all_losses
from penstock.registry.store import Registry
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.forgetting import keep_named
from penstock.vocabulary.losses import LOSSES, Loss

TOLD_AGAIN_AT = 10
"""A loss is told when it begins, and again each time it has become so many times as large."""

Tell = Callable[[str, int, str], None]
"""`(group or relation, batch, text)`: leaves a notice."""


class Losses:
    """Follows the reports of a run, and what readers find."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._told: dict[tuple[str, str], int] = {}
        self._counts: dict[str, dict[str, int]] = {}
        self._lock = Lock()

    def take(self, report: BatchReport) -> None:
        """Take a batch's report, and tell what is new or has grown."""
        self.take_figures(report.figures, report.batch)

    def take_figures(self, figures: FigureTable, batch: int) -> None:
        """Take the figures of a batch."""
        for row in figures:
            if row.value and isinstance(row.figure, Loss):
                self.add(row.group, row.figure, row.value, batch)

    def add(self, subject: str, loss: Loss, count: int, batch: int) -> None:
        """Count a loss, and tell it if it is new or has grown: hosts and readers, in any thread."""
        with self._lock:
            own, name = self._counts.setdefault(subject, {}), loss.name
            # A delete that waited for its row, and got it, is taken back.
            total = own[name] = max(own.get(name, 0) + count, 0)
            tells = total >= max(TOLD_AGAIN_AT * self._told.get((subject, name), 0), 1)
            if tells:
                self._told[subject, name] = total
        if tells:
            self._tell(subject, batch, f"{loss.words(total)} {loss.remedy}")

    def forget_others(self, subjects: Collection[str]) -> None:
        """Forget what was left out of groups, relations and subscriptions that are not named."""
        with self._lock:
            keep_named(self._counts, subjects)
            self._told = {key: told for key, told in self._told.items() if key[0] in subjects}

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """How many so far, by group, relation or subscription, then by name."""
        with self._lock:
            return {
                subject: {name: count for name, count in own.items() if count}
                for subject, own in self._counts.items()
                if any(own.values())
            }

    def told(self, registry: Registry) -> dict[str, dict[str, int]]:
        """Give the counts by the subscriptions that read a group, and by relation."""
        found = self.counts
        told = {subject: own for subject, own in found.items() if subject not in registry.steps}
        for name, record in registry.subscriptions.items():
            if record.group in found:
                told[name] = {**found[record.group], **told.get(name, {})}
        return told


def loss_words(counts: dict[str, dict[str, int]]) -> list[str]:
    """Say all losses, a line for each subject and cause.

    >>> loss_words({"trades": {"late_rows": 1}})
    ['trades: 1 row came later than the lateness of its stream allows and was left out.']
    """
    names = {name for own in counts.values() for name in own}
    known = LOSSES if names <= LOSSES.keys() else all_losses()
    return [
        f"{subject}: {loss.words(own[name])}"
        for subject, own in counts.items()
        for name, loss in known.items()
        if own.get(name)
    ]
