"""Probing groups: a batch of tuples that shares work."""

from __future__ import annotations

import numpy as np

from penstock.kernels.group_probes import (
    FOUND,
    STATE,
    Items,
    groups_scan,
    groups_walk,
    items_order,
)
from penstock.operators.join.runs import Runs
from penstock.operators.join.select.groups import SelectGroups
from penstock.operators.join.select.strategy import Pairs, able
from penstock.operators.shared.stabbing_probes import Events, arrange
from penstock.vocabulary.batches import Ints, Rows

ITEMS = 1 << 14


class ProbedPart:
    """What a part of a batch found: chunks of pairs, and the work done."""

    def __init__(self, room: int) -> None:
        self.pairs: list[Pairs] = []
        self.work: Ints = np.zeros(STATE, dtype=np.int64)
        self._room = room

    def buffers(self) -> Pairs:
        """Give empty buffers; of no length if pairs are only counted."""
        return np.empty(self._room, dtype=np.int32), np.empty(self._room, dtype=np.int32)

    def keep(self, out: Pairs, count: int) -> None:
        """Take the pairs that a kernel wrote or counted."""
        self.work[FOUND] += count
        if self._room and count:
            self.pairs.append((out[0][:count], out[1][:count]))


class Probing:
    """Tuples sorted by code and key: those of one code share the search for neighbours."""

    def __init__(self, a: Ints, codes: Rows, runs: Runs, groups: SelectGroups, room: int) -> None:
        flags, _ = able(codes, runs)
        count = max(len(runs.start), 1)
        events = Events(codes=codes, keys=a[None], valid=flags, code_count=count)
        self._batch = arrange(events, 0, 0, len(a))
        self._room = room
        self._runs, self._cells = runs.index, groups.cells()

    def __len__(self) -> int:
        return len(self._batch.rows)

    def __call__(self, start: int, stop: int) -> ProbedPart:
        """Probe the sorted tuples [start, stop)."""
        part, batch, groups = ProbedPart(self._room), self._batch, len(self._cells.points)
        size = max(ITEMS, groups)
        group, first, last = np.empty((3, size), dtype=np.int32)
        left, right = np.empty((2, size), dtype=np.int64)
        items = Items(group, first, last, left, right, np.empty(size, dtype=np.uint8))
        walk, scan = np.zeros(STATE, dtype=np.int64), np.zeros(STATE, dtype=np.int64)
        walk[0] = start
        while walk[0] < stop:
            count = groups_walk(walk, stop, batch.codes, batch.keys, self._runs, self._cells, items)
            order = items_order(items.group, count, groups)
            scan[0] = 0
            while scan[0] < count:
                out = part.buffers()
                part.keep(
                    out,
                    groups_scan(scan, order, items, batch.keys, batch.rows, self._cells, *out),
                )
        part.work += walk + scan
        return part
