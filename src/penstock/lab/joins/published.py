"""The published algorithm for select-joins by groups: a tuple at a time, nothing shared.

For every tuple and every group, one descent of the whole ordered index of (join key, value) finds
the two rows next to the group's point; then the group's members are probed. The members are laid
out as in the operator: what is compared is the sharing among tuples, not the layout.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.group_probes import FOUND, STATE
from penstock.lab.kernels.groups import tuples_scan
from penstock.operators.join.runs import Runs
from penstock.operators.join.select.group_probes import ProbedPart
from penstock.operators.join.select.groups import SelectGroups
from penstock.operators.join.select.strategy import NO_ROWS, Pairs, joined
from penstock.vocabulary.batches import Ints, Rows

CHUNK = 1 << 16


def ordered(runs: Runs) -> Ints:
    """Give all rows as (code, value), sorted."""
    codes = np.flatnonzero(runs.length)
    parts = [np.stack([np.full(runs.length[k], k), runs.run(int(k))], axis=1) for k in codes]
    return np.concatenate(parts or [np.empty((0, 2))]).astype(np.int64)


class Published:
    """Groups as they are built now, and a snapshot of the rows.

    `work` counts descents, probes and entries visited, by the places that
    `kernels.selecting_groups` names.
    """

    def __init__(self, groups: SelectGroups, runs: Runs) -> None:
        self.work: Ints = np.zeros(STATE, dtype=np.int64)
        self._cells = groups.cells()
        self._room = max(CHUNK, 2 * groups.largest_cell)
        self._rows = ordered(runs)

    def identify(self, a: Ints, codes: Rows) -> Pairs:
        """Give all affected pairs."""
        return joined(self._scan(a, codes, self._room).pairs or [(NO_ROWS, NO_ROWS)])

    def find(self, a: Ints, codes: Rows) -> int:
        """Count the affected pairs."""
        before = self.work[FOUND]
        self._scan(a, codes, 0)
        return int(self.work[FOUND] - before)

    def _scan(self, a: Ints, codes: Rows, room: int) -> ProbedPart:
        part, state = ProbedPart(room), np.zeros(STATE, dtype=np.int64)
        while state[0] < len(a):
            out = part.buffers()
            part.keep(out, tuples_scan(state, len(a), a, codes, self._rows, self._cells, *out))
        self.work += state + part.work
        return part
