"""Choosing between policies by how they did of late."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from penstock.vocabulary.batches import Floats

MARGIN = 0.005
"""Who takes over must have had so many more hits, in shares."""
DEVIATIONS = 0.75
"""It must have so many deviations more, too: what chance gives, by how leads changed."""
FEW = 4.0
"""After so few times it needs twice as many, since little is known of chance then."""
FAR = 0.05
"""Who leads by far has so many more hits than any other, in shares of its own..."""
FAR_DEVIATIONS, FAR_TIMES = 1.5, 3.0
"""... and so many deviations more, after so many times."""
FAVOUR = 1.0
"""So many roots of its hits are given to a policy that there are other reasons for."""
FAILED, FAILED_DEVIATIONS = 0.5, 3.0
"""A policy fails that has less than such a share of another's last hits, and so many deviations."""


class Choice:
    """Hits of several policies over the same references, the latest counting most.

    >>> choice = Choice(("LFU", "LRU"), memory=1000.0)
    >>> for _ in range(5):
    ...     choice.record([10, 30], 100)
    >>> choice.settle([True, True]), choice.names[choice.chosen]
    (True, 'LRU')
    >>> choice.record([20, 20], 100)
    >>> choice.settle([True, True])
    False
    >>> choice.record([40, 0], 100)
    >>> choice.yield_to(0), choice.names[choice.chosen]
    (True, 'LFU')

    Policies meet the same luck, so it is their lead that is weighed, not their hits: one that comes
    from many times that agree counts, one from a single burst does not.
    """

    def __init__(self, names: Sequence[str], *, memory: float) -> None:
        self.names = tuple(names)
        self.chosen = 0
        self._memory = memory
        self._hits: Floats = np.zeros(len(self.names))
        self._fresh: Floats = np.zeros(len(self.names))
        self._squares: Floats = np.zeros((len(self.names), len(self.names)))
        """Of the leads of one over another, time by time."""
        self._seen, self._times = 0.0, 0.0

    def record(self, hits: Sequence[int], references: int) -> None:
        """Count the hits that every policy had in so many references."""
        keep = math.exp(-references / self._memory)
        fresh = self._fresh = np.asarray(hits, dtype=np.float64)
        self._hits = keep * self._hits + fresh
        self._squares = keep * self._squares + _squared_leads(fresh)
        self._seen = keep * self._seen + references
        self._times = keep * self._times + float(min(hits) != max(hits))

    def settle(self, able: Sequence[bool], favoured: int | None = None) -> bool:
        """Let another policy take over if it did clearly better; say whether one did.

        A policy that is not able to go on gives way to the best in any case. One that is favoured
        need not be better, and must be clearly worse to be left.
        """
        # Policies are few: for so few numbers an operation on arrays costs more than all of this.
        hits = [own if can else -1.0 for own, can in zip(self._hits.tolist(), able, strict=True)]
        if favoured is not None and able[favoured]:
            hits[favoured] += FAVOUR * math.sqrt(hits[favoured])
        if able[self.chosen]:
            unsure = DEVIATIONS * (1.0 + FEW / max(self._times, 1.0))
            least = (1.0 + MARGIN) * hits[self.chosen]
            squares = self._squares[self.chosen].tolist()
            hits = [
                own - (least + unsure * math.sqrt(square))
                for own, square in zip(hits, squares, strict=True)
            ]
            # Who is in force has no lead over itself.
            hits[self.chosen] = 0.0
        before, self.chosen = self.chosen, hits.index(max(hits))
        return self.chosen != before

    def yield_to(self, other: int) -> bool:
        """Let a policy take over whose last hits show that the one in force fails; say whether.

        Then streams are no longer what they were: what came before counts no more. It is asked
        right after `record`, and said of one policy only, as bursts look alike.
        """
        fresh = self._fresh
        lead, both = fresh[other] - fresh[self.chosen], fresh[other] + fresh[self.chosen]
        fails = fresh[self.chosen] < FAILED * fresh[other]
        if not fails or lead <= FAILED_DEVIATIONS * math.sqrt(both):
            return False
        self._hits, self._squares = fresh.copy(), _squared_leads(fresh)
        self._times, self.chosen = 1.0, other
        return True

    @property
    def leads_by_far(self) -> bool:
        """Whether no other is anywhere near the policy that was chosen."""
        leads = np.delete(self._hits[self.chosen] - self._hits, self.chosen)
        chance = FAR_DEVIATIONS * np.sqrt(np.delete(self._squares[self.chosen], self.chosen))
        least = np.maximum(FAR * self._hits[self.chosen], chance)
        return self._times >= FAR_TIMES and bool((leads > least).all())

    @property
    def rates(self) -> dict[str, float]:
        """Hits per reference of late."""
        return {
            name: float(hits / self._seen) if self._seen else 0.0
            for name, hits in zip(self.names, self._hits, strict=True)
        }

    def arrays(self) -> dict[str, Floats]:
        """Give all that is known."""
        return {
            "hits": self._hits.copy(),
            "squares": self._squares.copy(),
            "seen": np.array([self._seen, self._times, float(self.chosen)]),
        }

    def restore(self, arrays: dict[str, Floats]) -> None:
        """Become the choice that `arrays` was asked of."""
        self._hits = np.array(arrays["hits"], dtype=np.float64)
        self._squares = np.array(arrays["squares"], dtype=np.float64)
        self._seen, self._times, chosen = arrays["seen"].tolist()
        self.chosen = int(chosen)


def _squared_leads(hits: Floats) -> Floats:
    """Give the squares of the leads of one over another."""
    leads: Floats = np.subtract.outer(hits, hits)
    leads *= leads
    return leads
