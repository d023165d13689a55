"""A single server that takes batches in order: its backlog, bounded or not.

The server is simulated, what it is asked for is not: a batch's service time is measured on the
operator, or counted on it and priced at the published cost per row that enters a join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.vocabulary.batches import Ints
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import MADE, STORED, of_inputs

SETTLED = 3
"""The growth of a backlog is judged on the run without its first third."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Seconds of work that wait when each batch has come, at equal distances of time."""

    seconds: tuple[float, ...]
    batch_s: float

    @property
    def last(self) -> float:
        """What waits at the end."""
        return self.seconds[-1]

    @property
    def most(self) -> float:
        """The most that ever waited."""
        return max(self.seconds)

    @property
    def growth(self) -> float:
        """Seconds of work added per second, as a line through the settled part has it."""
        first = len(self.seconds) // SETTLED
        y = np.array(self.seconds[first:])
        x = self.batch_s * np.arange(len(y))
        return float(np.polyfit(x, y, 1)[0]) if len(y) > 1 else 0.0


def served(services: Sequence[float], batch_s: float, speed: float = 1.0) -> Backlog:
    """Serve batches that come every `batch_s` seconds, first come, first served.

    `services` are seconds of a whole processor; the server is `speed` of one.

    >>> served([0.5, 1.5, 1.5], batch_s=1.0).seconds
    (0.5, 1.5, 2.0)
    >>> served([0.5, 1.5, 1.5], batch_s=1.0, speed=2.0).most
    0.75
    """
    waiting, found = 0.0, []
    for service in services:
        waiting = max(waiting - batch_s, 0.0) + service / speed
        found.append(waiting)
    return Backlog(seconds=tuple(found), batch_s=batch_s)


def entering(counts: Sequence[Tally], inputs: int) -> Ints:
    """Count, batch by batch, the rows that enter a join.

    Those are the rows stored, and the composites made below the last join. At the published
    constant cost per row, that is what a batch costs.
    """
    whole = of_inputs((1 << inputs) - 1)
    found = [each.total(STORED) + each.total(MADE) - each[MADE, whole] for each in counts]
    return np.array(found, dtype=np.int64)
