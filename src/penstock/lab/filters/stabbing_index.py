"""A stabbing index by itself: ranges of one column, asked which of them contain a key."""

from __future__ import annotations

import numpy as np

from penstock.operators.shared.stabbing_index import BranchIndex
from penstock.operators.shared.stabbing_level import Level, LevelEntries
from penstock.operators.shared.stabbing_probes import NO_CODES, Events, Work
from penstock.operators.shared.threads import run_parts
from penstock.vocabulary.batches import Flags, Ints, Rows


class StabbingIndex:
    """Closed ranges of int64 keys, each with a query number, asked which of them contain a key.

    >>> index = StabbingIndex(np.array([1, 5]), np.array([7, 9]), np.array([10, 11]))
    >>> events, queries = index.pairs(np.array([6, 0, 8]))
    >>> sorted(zip(events.tolist(), queries.tolist()))
    [(0, 10), (0, 11), (2, 11)]
    """

    def __init__(self, lows: Ints, highs: Ints, queries: Ints) -> None:
        self._index = BranchIndex((), 1)
        self.add(lows, highs, queries)

    def __len__(self) -> int:
        return len(self._index)

    @property
    def work(self) -> Work:
        """What all probes so far have cost."""
        return self._index.work

    @property
    def levels(self) -> list[Level]:
        """The levels, oldest first."""
        return self._index.levels

    def add(self, lows: Ints, highs: Ints, queries: Ints) -> None:
        """Take ranges whose query numbers ascend and are above all earlier ones."""
        if len(queries):
            self._index.add_entries(
                LevelEntries(
                    codes=np.zeros(len(queries), dtype=np.int32),
                    lows=np.array(lows, dtype=np.int64)[None],
                    highs=np.array(highs, dtype=np.int64)[None],
                    queries=np.array(queries, dtype=np.int64),
                    shared=None,
                    parameters=None,
                )
            )

    def drop(self, queries: Ints) -> None:
        """Forget the ranges of queries (ascending numbers)."""
        self._index.drop(queries)

    def pairs(self, keys: Ints, threads: int = 1) -> tuple[Rows, Ints]:
        """Give all pairs (place of the key, query number), in no particular order."""
        found = self.chunks(keys, threads)
        if len(found) == 1:
            return found[0]
        rows = [pair[0] for pair in found] or [np.empty(0, dtype=np.int32)]
        queries = [pair[1] for pair in found] or [np.empty(0, dtype=np.int64)]
        return np.concatenate(rows), np.concatenate(queries)

    def chunks(self, keys: Ints, threads: int = 1) -> list[tuple[Rows, Ints]]:
        """Give all pairs as they were found, in several arrays: nothing is copied together."""
        valid: Flags = np.empty(0, dtype=np.bool_)
        # A read-only array would be another type to the kernels, and compile them again.
        own = np.require(keys, np.int64, ["C_CONTIGUOUS", "WRITEABLE"])
        events = Events(codes=NO_CODES, keys=own[None], valid=valid, code_count=1)

        def part(start: int, stop: int) -> list[tuple[Rows, Ints]]:
            probed = self._index.probe(events, start, stop)
            return [(rows, queries) for _, rows, queries in probed]

        return [pair for pairs in run_parts(part, len(keys), threads) for pair in pairs]
