"""Probing boxes: rows of a tuple's key, all or a few, look for queries as points (a, c, age)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.kernels.boxes import STACK
from penstock.kernels.skylines import HITS, PROBES, TUPLE, picks_probe
from penstock.operators.join.window.book import Pairs, WindowBook
from penstock.operators.join.window.rows import TimedRows
from penstock.operators.join.window.skylines import Picked, all_picked
from penstock.operators.shared.boxes import Boxes
from penstock.operators.shared.threads import run_parts
from penstock.vocabulary.batches import Ints, Rows

CHUNK = 1 << 16
UNIT = 8
"""So many probes count as one event when a batch is divided among threads."""


class WindowBoxes:
    """Some of a book's queries as boxes: range on the arriving side, on the probed side, age."""

    def __init__(self, book: WindowBook, threads: int) -> None:
        self._book = book
        self._threads = threads
        self._boxes = Boxes(3)
        self.probes = self.hits = 0

    def __len__(self) -> int:
        return len(self._boxes)

    def add(self, slots: Rows) -> None:
        """Take queries."""
        if len(slots) == 0:
            return
        book = self._book
        ages = np.stack([np.zeros(len(slots), dtype=np.int64), book.width[slots] - 1], axis=1)
        sides = np.concatenate([book.accepts[slots], book.asks[slots, :2], ages], axis=1)
        self._boxes.add(slots, sides)

    def drop(self, slots: Rows) -> None:
        """Forget queries."""
        if len(slots):
            self._boxes.drop(slots)

    def pieces(
        self, a: Ints, moments: Ints, rows: TimedRows, picked: Picked, reach: int
    ) -> Iterator[Pairs]:
        """Give all pairs of a tuple and a query that one of its picks meets."""
        if len(self._boxes) == 0:
            return
        tree = self._boxes.packed()
        total = len(tree.slots) + len(tree.tail_slots)
        order = np.flatnonzero(picked.lasts > picked.firsts).astype(np.int32)
        work = (picked.lasts - picked.firsts)[order]
        scale = max(1, int(work.mean()) // UNIT) if len(order) else 1
        items = (
            order, a[order], moments[order], reach,
            picked.bases[order], picked.firsts[order], picked.lasts[order], picked.picks,
            rows.runs.value, rows.times, rows.runs.slot, rows.arrived, self._book.asks,
        )  # fmt: skip

        def part(start: int, stop: int) -> list[Pairs]:
            state = np.array([start // scale, 0, 0, 0], dtype=np.int64)
            own = (
                np.empty(3, dtype=np.int64), np.empty(STACK, dtype=np.int64),
                np.empty(total, dtype=np.int32), np.zeros(self._boxes.slots_end, dtype=np.int32),
            )  # fmt: skip
            found: list[Pairs] = []
            while state[TUPLE] < stop // scale:
                out = tuple(np.empty(max(CHUNK, total), dtype=np.int32) for _ in range(2))
                count = picks_probe(state, stop // scale, *items, *tree.arrays(), *own, *out)
                found.append((out[0][:count], out[1][:count]))
            self.probes += int(state[PROBES])
            self.hits += int(state[HITS])
            return found

        for found in run_parts(part, len(order) * scale, self._threads):
            yield from found


class WindowJoinStrategy:
    """Join first: all rows of a tuple's key that a window reaches probe all queries (WJ-J)."""

    def __init__(self, book: WindowBook, threads: int) -> None:
        self._book = book
        self._boxes = WindowBoxes(book, threads)
        self.add, self.drop = self._boxes.add, self._boxes.drop

    def pieces(self, a: Ints, codes: Rows, moments: Ints, rows: TimedRows) -> Iterator[Pairs]:
        """Give all affected pairs."""
        rows.summarise(codes)
        return self._boxes.pieces(a, moments, rows, all_picked(codes, rows), self._book.widest)

    def counts(self) -> dict[str, int]:
        """Give the probes made, and the boxes that they found, with repetitions."""
        return {"probes": self._boxes.probes, "visited": self._boxes.hits}
