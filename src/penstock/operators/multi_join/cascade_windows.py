"""The windows of a cascade: its arrays, and how they grow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.algebra.inputs import WindowLength
from penstock.algebra.trees import inputs_of
from penstock.kernels import cascade_columns as at
from penstock.kernels.cascade_pools import node_build, pool_sweep, windows_link
from penstock.operators.multi_join.layouts import InputLayout
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError

COMPOSITES_MAX = 1 << 27
"""How many composites one join may keep, or one event may make."""
LEAF_ROWS_MIN = 16
POOL_COMPOSITES_MIN = 64
ROOT_COMPOSITES_MIN = 1 << 12
KINDS = {"rows": at.ROWS, "range": at.RANGE}
LEAF_STATE = [at.STRIDE, at.KIND, at.SIZE, at.FOLLOWING, at.COUNTER]


class CascadeWindows:
    """Rings of rows for the leaves, pools of composites for the joins, buckets for both: one array.

    The root has a pool too: results wait there until they are drained.
    """

    def __init__(
        self,
        windows: Sequence[WindowLength | None],
        fields: Sequence[int],
        layout: InputLayout,
        names: Sequence[str],
        composites_max: int,
    ) -> None:
        self.names, self.composites_max = names, composites_max
        self.layout, self.memory = layout, layout.words
        for leaf, number in enumerate(layout.inputs):
            window, node = windows[number], self.nodes[leaf]
            node[at.STRIDE] = at.FIELDS + fields[number]
            node[at.KIND] = KINDS[window.kind] if window else at.TABLE_KIND
            node[at.SIZE] = window.size if window else 0
        self._lay_out(self._capacities_min())

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return len(self.layout.inputs)

    @property
    def root(self) -> int:
        """The number of the root."""
        return len(self.layout.masks) - 1

    @property
    def heads(self) -> Ints:
        """The heads of all leaves."""
        return self.memory[self.layout.heads : self.layout.nodes]

    @property
    def nodes(self) -> Ints:
        """The words of all nodes."""
        words = self.memory[self.layout.nodes : self.layout.parts]
        return words.reshape(-1, at.NODE_WORDS)

    @property
    def parts(self) -> Ints:
        """The words of all parts."""
        words = self.memory[self.layout.parts : len(self.layout.words)]
        return words.reshape(-1, at.PART_WORDS)

    def place(self, node: int) -> int:
        """Give the place by which kernels know a node."""
        return self.layout.nodes + node * at.NODE_WORDS

    def number(self, place: int) -> int:
        """Give the node at a place."""
        return (place - self.layout.nodes) // at.NODE_WORDS

    def arrange(self, layout: InputLayout) -> None:
        """Take over another program; rows stay, composites are lost until `build`."""
        old, nodes, heads = self.layout, self.nodes, self.heads
        rings = [self.ring(leaf) for leaf in range(self.leaves)]
        self.layout, self.memory = layout, layout.words
        before = [old.inputs.index(number) for number in layout.inputs]
        self.nodes[: self.leaves, LEAF_STATE] = nodes[before][:, LEAF_STATE]
        self.heads[:] = heads[before]
        capacities = self._capacities_min()
        capacities[: self.leaves] = nodes[before, at.CAPACITY]
        self._lay_out(capacities, [rings[leaf] for leaf in before])

    def ring(self, leaf: int) -> Ints:
        """Look at the places of a leaf's rows."""
        base, capacity, stride = self.nodes[leaf, [at.BASE, at.CAPACITY, at.STRIDE]]
        return self.memory[base : base + capacity * stride].reshape(capacity, stride)

    def pool(self, node: int) -> Ints:
        """Look at the composites of a join."""
        base, used, width = self.nodes[node, [at.BASE, at.USED, at.WIDTH]]
        return self.memory[base : base + used * width].reshape(used, width)

    def build(self) -> None:
        """Make all composites anew from the rows, silently."""
        self.nodes[self.leaves :, at.USED] = 0
        windows_link(self.memory, self.place(0), self.place(self.root))
        for node in range(self.leaves, self.root):
            left, right = np.flatnonzero(self.nodes[:, at.PARENT] == self.place(node)).tolist()
            side = left if self.nodes[right, at.HASHED] else right
            while True:
                needed = node_build(self.memory, self.place(side), self.place(node))
                if needed <= self.nodes[node, at.CAPACITY]:
                    break
                self._grow(node, needed)

    def sweep(self, node: int) -> None:
        """Leave only what is active in the pool of a join."""
        pool_sweep(self.memory, self.place(node))

    def make_room(self, node: int) -> None:
        """Enlarge what a run found too small; the root has been drained."""
        if node < self.leaves:
            self.resize(node, 2 * int(self.nodes[node, at.CAPACITY]))
            return
        if node < self.root:
            self.sweep(node)
        needed = int(self.nodes[node, at.USED] + self.nodes[node, at.FRESH_MADE])
        enough = needed if node == self.root else min(2 * needed, self.composites_max)
        if max(needed, enough) > self.nodes[node, at.CAPACITY]:
            self._grow(node, needed)

    def resize(self, leaf: int, capacity: int) -> None:
        """Give a leaf room for so many rows, a power of two."""
        capacities = self.nodes[:, at.CAPACITY].copy()
        capacities[leaf] = max(capacity, LEAF_ROWS_MIN)
        self._lay_out(capacities)

    def _capacities_min(self) -> Ints:
        capacities = np.full(self.root + 1, POOL_COMPOSITES_MIN, dtype=np.int64)
        capacities[: self.leaves] = LEAF_ROWS_MIN
        capacities[-1] = ROOT_COMPOSITES_MIN
        return capacities

    def _grow(self, node: int, needed: int) -> None:
        """Give a join somewhat more than twice the room that it needs, within the limit."""
        if needed > self.composites_max:
            names = [self.names[number] for number in inputs_of(self.layout.masks[node])]
            makes = "makes of one row" if node == self.root else "keeps"
            raise PenstockError(
                "MJN-001",
                f"The join of {', '.join(names)} {makes} more than {self.composites_max} rows.",
                "Choose smaller windows, another order, or the objective 'memory'.",
            )
        capacities = self.nodes[:, at.CAPACITY].copy()
        capacity = min(2 * needed + needed // 2 + POOL_COMPOSITES_MIN, self.composites_max)
        capacities[node] = max(capacity, capacities[node])
        self._lay_out(capacities)

    def _lay_out(self, capacities: Ints, rings: Sequence[Ints] | None = None) -> None:
        """Lay out rings, pools and buckets anew, bring over what they hold and link it."""
        leaves, program = self.leaves, len(self.layout.words)
        if rings is None and len(self.memory) > program:
            rings = [self.ring(leaf) for leaf in range(leaves)]
        used = self.nodes[:, at.USED]
        pools = {node: self.pool(node) for node in np.flatnonzero(used).tolist()}
        bits = np.array([int(capacity - 1).bit_length() for capacity in capacities])
        bits[leaves:] -= 1  # half of a pool is room for the dead
        sizes = capacities * np.where(
            np.arange(len(capacities)) < leaves, self.nodes[:, at.STRIDE], self.nodes[:, at.WIDTH]
        )
        buckets = np.where(self.nodes[:, at.HASHED] != 0, 1 << bits, 0)
        ends = program + np.cumsum(np.concatenate([sizes, buckets]))
        memory = np.zeros(int(ends[-1]), dtype=np.int64)
        memory[:program] = self.memory[:program]
        self.memory = memory
        self.nodes[:, at.BASE] = ends[: len(sizes)] - sizes
        self.nodes[:, at.BUCKET] = ends[len(sizes) :] - buckets
        self.nodes[:, at.CAPACITY], self.nodes[:, at.SHIFT] = capacities, 64 - bits
        for leaf, ring in enumerate(rings or ()):
            numbers = np.arange(self.heads[leaf], self.nodes[leaf, at.FOLLOWING])
            self.ring(leaf)[numbers & (capacities[leaf] - 1)] = ring[numbers & (len(ring) - 1)]
        for node, pool in pools.items():
            self.pool(node)[:] = pool
        windows_link(self.memory, self.place(0), self.place(self.root))
