"""Losses of a run: every count that says something was left out, summed and told.

Operators count per group, hosts per relation; both come in a report's counts as `<subject>/<name>`.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.registry.store import Registry
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.losses import LOSSES

TOLD_AGAIN_AT = 10
"""A loss is told when it begins, and again each time it has become so many times as large."""

Tell = Callable[[str, int, str], None]
"""`(group or relation, batch, text)`: leaves a notice."""


class Losses:
    """Follows the reports of a run.

    Attributes
    ----------
    counts
        By group or relation, then by name: how many so far.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._told: dict[tuple[str, str], int] = {}
        self.counts: dict[str, dict[str, int]] = {}

    def take(self, report: BatchReport) -> None:
        """Take a batch's report, and tell what is new or has grown."""
        for key, count in report.counts.items():
            subject, slash, name = key.rpartition("/")
            if slash and count and name in LOSSES:
                own = self.counts.setdefault(subject, {})
                own[name] = own.get(name, 0) + count
                if own[name] >= TOLD_AGAIN_AT * self._told.get((subject, name), 0):
                    self._told[subject, name] = own[name]
                    loss = LOSSES[name]
                    self._tell(subject, report.batch, f"{loss.words(own[name])} {loss.remedy}")

    def told(self, registry: Registry) -> dict[str, dict[str, int]]:
        """Give the counts by the subscriptions that read a group, and by relation."""
        found = {subject: dict(own) for subject, own in self.counts.items()}
        readers = registry.subscriptions.items()
        groups = {name: found[record.group] for name, record in readers if record.group in found}
        relations = {name: own for name, own in found.items() if name not in registry.steps}
        return relations | groups


def loss_words(counts: dict[str, dict[str, int]]) -> list[str]:
    """Say all losses, a line for each subject and cause.

    >>> loss_words({"trades": {"late_rows": 1}})
    ['trades: 1 row came later than the lateness of its stream allows and was left out.']
    """
    return [
        f"{subject}: {LOSSES[name].words(own[name])}"
        for subject, own in counts.items()
        for name in LOSSES
        if own.get(name)
    ]
