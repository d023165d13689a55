"""Scan: for every tuple, try every query (SJ-V)."""

from __future__ import annotations

import numpy as np

from penstock.kernels.select_runs import queries_scan
from penstock.operators.join.runs import Runs
from penstock.operators.join.select.strategy import (
    NO_ROWS,
    Pairs,
    Rectangles,
    able,
    joined,
)
from penstock.operators.shared.threads import run_parts
from penstock.vocabulary.batches import Flags, Ints, Rows

CHUNK = 1 << 16


class Scan:
    """Queries without an index: one descent to the run, a search inside it per query."""

    def __init__(self, rectangles: Rectangles, threads: int = 1) -> None:
        self._rectangles = rectangles
        self._threads = threads
        self._inside: Flags = np.zeros(0, dtype=np.bool_)
        self._changed = False
        self._slots: Rows = NO_ROWS
        self._a = self._c = np.empty((0, 2), dtype=np.int64)
        self._searches = self._visited = 0

    def __len__(self) -> int:
        return int(np.count_nonzero(self._inside))

    def add(self, slots: Rows, *_: Ints) -> None:
        """Take queries."""
        if len(self._inside) < len(self._rectangles.here):
            more = len(self._rectangles.here) - len(self._inside)
            self._inside = np.concatenate([self._inside, np.zeros(more, dtype=np.bool_)])
        self._inside[slots] = True
        self._changed = True

    def drop(self, slots: Rows) -> None:
        """Forget queries."""
        self._inside[slots] = False
        self._changed = True

    def identify(self, a: Ints, codes: Rows, runs: Runs) -> Pairs:
        """Give all affected pairs."""
        self._gather()
        flags, count = able(codes, runs)
        self._visited += count * len(self._slots)

        def part(start: int, stop: int) -> Pairs:
            state, found = np.array([start, 0, 0], dtype=np.int64), []
            while state[0] < stop:
                out = np.empty(CHUNK, dtype=np.int32), np.empty(CHUNK, dtype=np.int32)
                size = self._scan(state, flags, a, codes, runs, stop, out)
                found.append((out[0][:size], out[1][:size]))
            self._searches += int(state[2])
            return joined(found)

        return joined(run_parts(part, len(a), self._threads))

    def find(self, a: Ints, codes: Rows, runs: Runs) -> int:
        """Count the affected pairs."""
        self._gather()
        flags, _ = able(codes, runs)

        def part(start: int, stop: int) -> int:
            state = np.array([start, 0, 0], dtype=np.int64)
            return self._scan(state, flags, a, codes, runs, stop, (NO_ROWS, NO_ROWS))

        return sum(run_parts(part, len(a), self._threads))

    def counts(self) -> dict[str, int]:
        """Give the queries tried and the searches made."""
        return {"visited": self._visited, "searches": self._searches}

    def _gather(self) -> None:
        """Bring the queries side by side, after changes."""
        if self._changed:
            self._slots = np.flatnonzero(self._inside).astype(np.int32)
            self._a = self._rectangles.a[self._slots]
            self._c = self._rectangles.c[self._slots]
            self._changed = False

    def _scan(
        self, state: Ints, flags: Flags, a: Ints, codes: Rows, runs: Runs, stop: int, out: Pairs
    ) -> int:
        return queries_scan(
            state, flags, a, codes, runs.start, runs.length, runs.value,
            self._slots, self._a, self._c, stop, *out,
        )  # fmt: skip
