"""Selection first: stab the arriving side's ranges, then search the run per hit (SJ-S)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.kernels.select_runs import pairs_verify
from penstock.operators.join.runs import Runs
from penstock.operators.join.select.strategy import Pairs, Rectangles, able, joined
from penstock.operators.join.stabbing_index import SlotRanges
from penstock.operators.shared.stabbing_probes import Events
from penstock.operators.shared.threads import run_parts
from penstock.vocabulary.batches import Ints, Rows


class SelectSelectionStrategy:
    """Queries in a stabbing index of their ranges on the arriving side."""

    def __init__(self, rectangles: Rectangles, threads: int = 1) -> None:
        self._rectangles = rectangles
        self._threads = threads
        self._ranges = SlotRanges()

    def __len__(self) -> int:
        return len(self._ranges)

    def add(self, slots: Rows, *_: Ints) -> None:
        """Take queries."""
        self._ranges.add(slots, self._rectangles.a)

    def drop(self, slots: Rows) -> None:
        """Forget queries."""
        self._ranges.drop(slots)

    def identify(self, a: Ints, codes: Rows, runs: Runs) -> Pairs:
        """Give all affected pairs."""
        parts = self._parts(a, codes, runs)
        return joined([pairs for part in parts for pairs in part])

    def find(self, a: Ints, codes: Rows, runs: Runs) -> int:
        """Count the affected pairs."""
        return sum(len(pairs[0]) for part in self._parts(a, codes, runs) for pairs in part)

    def counts(self) -> dict[str, int]:
        """Give the entries that stabbing looked at, and the searches made, one per hit."""
        return {"visited": self._ranges.scanned, "searches": self._ranges.hits}

    def _parts(self, a: Ints, codes: Rows, runs: Runs) -> list[list[Pairs]]:
        events = self._ranges.events(a, able(codes, runs)[0])
        if events is None:
            return []

        def part(start: int, stop: int) -> list[Pairs]:
            return list(self._chunks(events, codes, runs, start, stop))

        return run_parts(part, len(a), self._threads)

    def _chunks(
        self, events: Events, codes: Rows, runs: Runs, start: int, stop: int
    ) -> Iterator[Pairs]:
        for tuples, serials in self._ranges.probe(events, start, stop):
            slots = np.empty(len(tuples), dtype=np.int32)
            count = pairs_verify(
                tuples, serials, codes, runs.start, runs.length, runs.value,
                self._ranges.serial_of, self._rectangles.c, slots,
            )  # fmt: skip
            if count:
                yield tuples[:count].copy(), slots[:count].copy()
