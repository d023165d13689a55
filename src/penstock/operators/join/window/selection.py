"""Selection first: stab the arriving side's ranges, then search the key's rows per hit (WJ-S)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.kernels.window_runs import pairs_keep
from penstock.operators.join.stabbing_index import SlotRanges
from penstock.operators.join.window.book import Pairs, WindowBook
from penstock.operators.join.window.rows import TimedRows
from penstock.operators.shared.stabbing_probes import Events
from penstock.operators.shared.threads import run_parts
from penstock.vocabulary.batches import Ints, Rows


class WindowSelectionStrategy:
    """Some of a book's queries, in a stabbing index of their ranges on the arriving side."""

    def __init__(self, book: WindowBook, threads: int) -> None:
        self._book = book
        self._threads = threads
        self._ranges = SlotRanges()

    def __len__(self) -> int:
        return len(self._ranges)

    def add(self, slots: Rows) -> None:
        """Take queries."""
        self._ranges.add(slots, self._book.accepts)

    def drop(self, slots: Rows) -> None:
        """Forget queries."""
        self._ranges.drop(slots)

    def counts(self) -> dict[str, int]:
        """Give the searches made, one per candidate."""
        return {"searches": self._ranges.hits}

    def pieces(self, a: Ints, codes: Rows, moments: Ints, rows: TimedRows) -> Iterator[Pairs]:
        """Give all affected pairs."""
        rows.summarise(codes)
        length = rows.runs.length
        known = (codes >= 0) & (codes < len(length))
        known[known] = length[codes[known]] > 0
        events = self._ranges.events(a, known)
        if events is None:
            return

        def part(start: int, stop: int) -> list[Pairs]:
            return list(self._part(events, codes, moments, rows, start, stop))

        for pairs in run_parts(part, len(a), self._threads):
            yield from pairs

    def _part(
        self, events: Events, codes: Rows, moments: Ints, rows: TimedRows, start: int, stop: int
    ) -> Iterator[Pairs]:
        book = self._book
        for tuples, serials in self._ranges.probe(events, start, stop):
            queries = serials.astype(np.int32)  # The lower half of a serial number is the slot.
            count = pairs_keep(tuples, queries, codes, moments, book.asks, *rows.arrays())
            if count:
                yield tuples[:count].copy(), queries[:count].copy()
