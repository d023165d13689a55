"""The book of standing window joins: what each slot asks."""

from __future__ import annotations

import numpy as np

from penstock.operators.shared.slots import grown
from penstock.vocabulary.batches import Flags, Ints, Rows

Pairs = tuple[Rows, Rows]
"""Places of tuples in their batch, and slots of queries that they affect."""


class WindowBook:
    """What queries ask, by slot; slots that are not `live` hold anything.

    `accepts[slot]` is the range (low, high) of the arriving side, `asks[slot]` the rest: the range
    of the probed side, the window's width, the number of the first row that the query may see.
    """

    def __init__(self) -> None:
        self.accepts: Ints = np.zeros((0, 2), dtype=np.int64)
        self.asks: Ints = np.zeros((0, 4), dtype=np.int64)
        self.live: Flags = np.zeros(0, dtype=np.bool_)
        self.count = 0
        self._widest: int | None = 0

    @property
    def low(self) -> Ints:
        """Low ends on the probed side."""
        return self.asks[:, 0]

    @property
    def high(self) -> Ints:
        """High ends on the probed side."""
        return self.asks[:, 1]

    @property
    def width(self) -> Ints:
        """Widths of windows."""
        return self.asks[:, 2]

    @property
    def since(self) -> Ints:
        """Numbers of the first rows that may be seen."""
        return self.asks[:, 3]

    def add(self, slots: Rows, accepts: Ints, asks: Ints) -> None:
        """Write down queries; the slots must be free."""
        top = int(slots.max()) + 1
        self.live = grown(self.live, top)
        assert not self.live[slots].any(), "a slot holds one query"
        self.accepts, self.asks = grown(self.accepts, top), grown(self.asks, top)
        self.accepts[slots], self.asks[slots], self.live[slots] = accepts, asks, True
        self.count += len(slots)
        if self._widest is not None:
            self._widest = max(self._widest, int(asks[:, 2].max()))

    def drop(self, slots: Rows) -> None:
        """Free slots."""
        assert self.live[slots].all(), "only what is there is dropped"
        self.live[slots] = False
        self.count -= len(slots)
        if self._widest is not None and self._widest in self.width[slots]:
            self._widest = None

    def able(self, slots: Rows) -> Flags:
        """Say which queries some pair of rows could satisfy."""
        accepts, asks = self.accepts[slots], self.asks[slots]
        flags: Flags = (accepts[:, 0] <= accepts[:, 1]) & (asks[:, 0] <= asks[:, 1])
        return flags & (asks[:, 2] > 0)

    @property
    def widest(self) -> int:
        """The widest window that stands."""
        if self._widest is None:
            self._widest = int(self.width[: len(self.live)][self.live].max(initial=0))
        return self._widest
