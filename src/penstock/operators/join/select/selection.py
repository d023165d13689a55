"""Selection first: stab the arriving side's ranges, then search the run per hit (SJ-S)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.kernels.selecting import pairs_verify
from penstock.operators.filter.index import BranchIndex
from penstock.operators.filter.level import Entries
from penstock.operators.filter.probing import NO_CODES, Events
from penstock.operators.filter.threads import run_parts
from penstock.operators.join.runs import Runs
from penstock.operators.join.select.strategy import Pairs, Rectangles, able, joined
from penstock.vocabulary.batches import Ints, Rows

CHUNK = 1 << 16
"""So many candidates at a time: few enough to stay in the cache between stabbing and search."""


class Selection:
    """Queries in a stabbing index of their ranges on the arriving side.

    The index wants numbers that ascend, while slots come again: a query's serial number is the
    count of additions before it and its slot.
    """

    def __init__(self, rectangles: Rectangles, threads: int = 1) -> None:
        self._rectangles = rectangles
        self._threads = threads
        self._index = BranchIndex((), 1)
        self._serial_of: Ints = np.empty(0, dtype=np.int64)
        self._additions = 0
        self._hits = 0

    def __len__(self) -> int:
        return len(self._index)

    def add(self, slots: Rows, *_: Ints) -> None:
        """Take queries."""
        if len(slots) == 0:
            return
        if len(self._serial_of) < len(self._rectangles.here):
            more = len(self._rectangles.here) - len(self._serial_of)
            self._serial_of = np.concatenate([self._serial_of, np.zeros(more, dtype=np.int64)])
        slots = np.sort(slots)
        serials = (np.int64(self._additions) << np.int64(32)) | slots.astype(np.int64)
        self._additions += 1
        self._serial_of[slots] = serials
        ranges = self._rectangles.a[slots]
        self._index.add_entries(
            Entries(
                codes=np.zeros(len(slots), dtype=np.int32),
                lows=np.ascontiguousarray(ranges[:, 0])[None],
                highs=np.ascontiguousarray(ranges[:, 1])[None],
                queries=serials, shared=None, parameters=None,
            )
        )  # fmt: skip

    def drop(self, slots: Rows) -> None:
        """Forget queries."""
        self._index.drop(np.sort(self._serial_of[slots]))
        self._serial_of[slots] = -1

    def identify(self, a: Ints, codes: Rows, runs: Runs) -> Pairs:
        """Give all affected pairs."""
        parts = self._parts(a, codes, runs)
        return joined([pairs for part in parts for pairs in part])

    def find(self, a: Ints, codes: Rows, runs: Runs) -> int:
        """Count the affected pairs."""
        return sum(len(pairs[0]) for part in self._parts(a, codes, runs) for pairs in part)

    def counts(self) -> dict[str, int]:
        """Give the entries that stabbing looked at, and the searches made, one per hit."""
        return {"visited": self._index.work.scanned, "searches": self._hits}

    def _parts(self, a: Ints, codes: Rows, runs: Runs) -> list[list[Pairs]]:
        flags, count = able(codes, runs)
        if count == 0 or not self._index.levels:
            return []
        events = Events(codes=NO_CODES, keys=a[None], valid=flags, code_count=1)

        def part(start: int, stop: int) -> list[Pairs]:
            return list(self._chunks(events, codes, runs, start, stop))

        return run_parts(part, len(a), self._threads)

    def _chunks(
        self, events: Events, codes: Rows, runs: Runs, start: int, stop: int
    ) -> Iterator[Pairs]:
        for _, tuples, serials in self._index.probe(events, start, stop, CHUNK):
            self._hits += len(tuples)
            slots = np.empty(len(tuples), dtype=np.int32)
            count = pairs_verify(
                tuples, serials, codes, runs.start, runs.length, runs.value,
                self._serial_of, self._rectangles.c, slots,
            )  # fmt: skip
            if count:
                yield tuples[:count].copy(), slots[:count].copy()
