"""What the shards of a group told in a recorded run, batch by batch."""

from __future__ import annotations

import numpy as np

from penstock.delivery.log import ResultLog
from penstock.operators.bounded_join.figures import RECALL_ALL, RECALL_MADE
from penstock.operators.catalogue import figures_of
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import ROWS_BUDGET, ROWS_WAITING


class Told:
    """What the shards of a group told, batch by batch."""

    def __init__(self, log: ResultLog, batches: int, group: str) -> None:
        self.counts = Tally()
        self.waiting: Ints = np.zeros(batches, dtype=np.int64)
        budgets: list[int] = []
        known: dict[int, int] = {}
        for number in range(batches):
            for shard, figures in log.figures(number, figures_of):
                told = figures[group]
                if ROWS_BUDGET in told:
                    budgets.append(told[ROWS_BUDGET])
                    known[shard] = told[ROWS_WAITING]
                self.counts.add(told.of_kind("counter"))
            # A shard that tells nothing holds what it held.
            self.waiting[number] = sum(known.values())
        self.budget_least = min(budgets, default=0)

    @property
    def recall(self) -> float | None:
        """The share of results that was kept, as estimated."""
        everything = self.counts[RECALL_ALL]
        return self.counts[RECALL_MADE] / everything if everything else None

    def settled(self, batch: Ints) -> Ints:
        """Give the batch in which rows of other batches were answered at the latest."""
        nobody = np.flatnonzero(self.waiting == 0)
        at = np.searchsorted(nobody, batch)
        never = np.append(nobody, len(self.waiting))
        found: Ints = never[at]
        return found
