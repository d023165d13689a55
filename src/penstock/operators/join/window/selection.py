"""Selection first: stab the arriving side's ranges, then search the key's rows per hit (WJ-S)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.kernels.windowing import pairs_keep
from penstock.operators.filter.index import BranchIndex
from penstock.operators.filter.level import Entries
from penstock.operators.filter.probing import NO_CODES, Events
from penstock.operators.filter.threads import run_parts
from penstock.operators.join.window.book import Pairs, WindowBook
from penstock.operators.join.window.rows import TimedRows, longer
from penstock.vocabulary.batches import Ints, Rows

CHUNK = 1 << 16
"""So many candidates at a time: few enough to stay in the cache between stabbing and search."""


class Selection:
    """Some of a book's queries, in a stabbing index of their ranges on the arriving side.

    The index wants numbers that ascend, while slots come again: a query's serial number is the
    count of additions before it and its slot.
    """

    def __init__(self, book: WindowBook, threads: int) -> None:
        self._book = book
        self._threads = threads
        self._index = BranchIndex((), 1)
        self._serial_of: Ints = np.zeros(0, dtype=np.int64)
        self._additions = 0
        self.hits = 0
        """How many candidates were searched for."""

    def __len__(self) -> int:
        return len(self._index)

    def add(self, slots: Rows) -> None:
        """Take queries."""
        if len(slots) == 0:
            return
        slots = np.sort(slots)
        serials = (np.int64(self._additions) << np.int64(32)) | slots.astype(np.int64)
        self._additions += 1
        self._serial_of = longer(self._serial_of, int(slots[-1]) + 1)
        self._serial_of[slots] = serials
        ranges = self._book.accepts[slots]
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
        if len(slots) == 0:
            return
        self._index.drop(np.sort(self._serial_of[slots]))

    def counts(self) -> dict[str, int]:
        """Give the searches made, one per candidate."""
        return {"searches": self.hits}

    def pieces(self, a: Ints, codes: Rows, moments: Ints, rows: TimedRows) -> Iterator[Pairs]:
        """Give all affected pairs."""
        if not self._index.levels or len(a) == 0:
            return
        rows.summarise(codes)
        length = rows.runs.length
        known = (codes >= 0) & (codes < len(length))
        known[known] = length[codes[known]] > 0
        events = Events(codes=NO_CODES, keys=a[None], valid=known, code_count=1)

        def part(start: int, stop: int) -> list[Pairs]:
            return list(self._part(events, codes, moments, rows, start, stop))

        for pairs in run_parts(part, len(a), self._threads):
            yield from pairs

    def _part(
        self, events: Events, codes: Rows, moments: Ints, rows: TimedRows, start: int, stop: int
    ) -> Iterator[Pairs]:
        book = self._book
        for _, tuples, serials in self._index.probe(events, start, stop, CHUNK):
            self.hits += len(tuples)
            queries = serials.astype(np.int32)  # The lower half of a serial number is the slot.
            count = pairs_keep(
                tuples, queries, codes, moments, book.asks, *rows.arrays()
            )  # fmt: skip
            if count:
                yield tuples[:count].copy(), queries[:count].copy()
