"""Join first: every row of a tuple's run probes one tree of all rectangles (SJ-J)."""

from __future__ import annotations

import numpy as np

from penstock.kernels.boxes import STACK, rows_probe
from penstock.operators.join.runs import Runs
from penstock.operators.join.select.strategy import NO_ROWS, Pairs, Rectangles, joined
from penstock.operators.shared.boxes import Boxes, Packed
from penstock.operators.shared.threads import run_parts
from penstock.vocabulary.batches import Ints, Rows

CHUNK = 1 << 16


class SelectJoinStrategy:
    """Queries as rectangles in an R-tree."""

    def __init__(self, _: Rectangles, threads: int = 1) -> None:
        self._boxes = Boxes(2)
        self._threads = threads
        self._probes = self._visited = 0

    def __len__(self) -> int:
        return len(self._boxes)

    def add(self, slots: Rows, al: Ints, ah: Ints, cl: Ints, ch: Ints) -> None:
        """Take queries."""
        self._boxes.add(slots, np.stack([al, ah, cl, ch], axis=1))

    def drop(self, slots: Rows) -> None:
        """Forget queries."""
        self._boxes.drop(slots)

    def identify(self, a: Ints, codes: Rows, runs: Runs) -> Pairs:
        """Give all affected pairs."""
        tree = self._boxes.packed()
        room = max(CHUNK, len(tree.slots) + len(tree.tail_slots))

        def part(start: int, stop: int) -> Pairs:
            probe, found = _Probe(self._boxes, tree, start, stop), []
            while not probe.done:
                out = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
                size = probe.go(a, codes, runs, out)
                found.append((out[0][:size], out[1][:size]))
            self._count(probe)
            return joined(found)

        return joined(run_parts(part, len(a), self._threads))

    def find(self, a: Ints, codes: Rows, runs: Runs) -> int:
        """Count the affected pairs."""
        tree = self._boxes.packed()

        def part(start: int, stop: int) -> int:
            probe = _Probe(self._boxes, tree, start, stop)
            count = probe.go(a, codes, runs, (NO_ROWS, NO_ROWS))
            self._count(probe)
            return count

        return sum(run_parts(part, len(a), self._threads))

    def counts(self) -> dict[str, int]:
        """Give the probes made and the rectangles that they hit, with repetitions."""
        return {"probes": self._probes, "visited": self._visited}

    def _count(self, probe: _Probe) -> None:
        self._probes += int(probe.state[2])
        self._visited += int(probe.state[3])


class _Probe:
    """A part of a batch on its way through the tree, with the buffers that it needs."""

    def __init__(self, boxes: Boxes, tree: Packed, start: int, stop: int) -> None:
        self.state: Ints = np.array([start, 0, 0, 0], dtype=np.int64)
        self._tree, self._stop = tree, stop
        self._found = np.empty(len(tree.slots) + len(tree.tail_slots), dtype=np.int32)
        self._stamps = np.zeros(boxes.slots_end, dtype=np.int32)
        self._stack = np.empty(STACK, dtype=np.int64)

    @property
    def done(self) -> bool:
        return bool(self.state[0] >= self._stop)

    def go(self, a: Ints, codes: Rows, runs: Runs, out: Pairs) -> int:
        point = np.empty(2, dtype=np.int64)
        return rows_probe(
            self.state, self._stop, a, codes, runs.start, runs.length, runs.value,
            *self._tree.arrays(), point, self._stack, self._found, self._stamps, *out,
        )  # fmt: skip
