"""What the shards of a group told in a recorded run, batch by batch."""

from __future__ import annotations

import numpy as np

from penstock.delivery.log import ResultLog
from penstock.operators.bounded_join.figures import (
    JOIN_RECALL_ALL,
    JOIN_RECALL_MADE,
    RECALL_ALL,
    RECALL_MADE,
)
from penstock.operators.catalogue import figures_of
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import ROWS_BUDGET, ROWS_WAITING


def recalled(told: Tally, inputs: str | None = None) -> tuple[float | None, int, int]:
    """Give the recall as estimated, and the results found and there that it is of.

    `inputs` name one join of a memory that several share (`of_inputs`).

    >>> recalled(Tally({RECALL_MADE: 30, RECALL_ALL: 40}))
    (0.75, 30, 40)
    >>> recalled(Tally({(JOIN_RECALL_MADE, "0,2"): 1, (JOIN_RECALL_ALL, "0,2"): 4}), "0,2")[0]
    0.25
    """
    if inputs is None:
        made, there = told[RECALL_MADE], told[RECALL_ALL]
    else:
        made, there = told[JOIN_RECALL_MADE, inputs], told[JOIN_RECALL_ALL, inputs]
    return made / there if there else None, made, there


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

    def recall(self, inputs: str | None = None) -> float | None:
        """Give the share of results that was kept, as estimated: of all, or of one join."""
        return recalled(self.counts, inputs)[0]

    def settled(self, batch: Ints) -> Ints:
        """Give the batch in which rows of other batches were answered at the latest."""
        nobody = np.flatnonzero(self.waiting == 0)
        at = np.searchsorted(nobody, batch)
        never = np.append(nobody, len(self.waiting))
        found: Ints = never[at]
        return found
