"""What the shards of a group told in a recorded run, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.delivery.log import ResultLog
from penstock.vocabulary.batches import Ints, added

WAITING = "rows_waiting"
"""The size under which operators tell how many rows wait."""


def own_figures(figures: Mapping[str, int], group: str) -> dict[str, int]:
    """Give what counts or sizes say of one group.

    >>> own_figures({"g/moves": 2, "h/moves": 3, "moves": 5}, "g")
    {'moves': 2}
    """
    head = f"{group}/"
    return {name.removeprefix(head): n for name, n in figures.items() if name.startswith(head)}


class Told:
    """What the shards of a group told, batch by batch."""

    def __init__(self, log: ResultLog, batches: int, group: str) -> None:
        self.counts: dict[str, int] = {}
        self.waiting: Ints = np.zeros(batches, dtype=np.int64)
        budgets: list[int] = []
        known: dict[int, int] = {}
        for number in range(batches):
            for figures in log.figures(number):
                sizes = own_figures(figures.sizes, group)
                if "rows_budget" in sizes:
                    budgets.append(sizes["rows_budget"])
                    known[figures.shard] = sizes.get(WAITING, 0)
                self.counts = added([self.counts, own_figures(figures.counts, group)])
            # A shard that tells nothing holds what it held.
            self.waiting[number] = sum(known.values())
        self.budget_least = min(budgets, default=0)

    @property
    def recall(self) -> float | None:
        """The share of results that was kept, as estimated."""
        everything = self.counts.get("recall_all", 0)
        return self.counts.get("recall_made", 0) / everything if everything else None

    def settled(self, batch: Ints) -> Ints:
        """Give the batch in which rows of other batches were answered at the latest."""
        nobody = np.flatnonzero(self.waiting == 0)
        at = np.searchsorted(nobody, batch)
        never = np.append(nobody, len(self.waiting))
        found: Ints = never[at]
        return found
