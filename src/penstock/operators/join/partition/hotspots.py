"""Hotspots: groups with a large share of all ranges, tracked while ranges come and go."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.kernels.partition_hotspots import (
    CROSSINGS,
    HOT_CHANGES,
    HOT_COUNTS,
    HOT_LIVE,
    HOT_MEMBERS,
    HOT_TOP,
    MOVES,
    SMALLEST,
    TOTAL,
    Hot,
    groups_promote,
    hot_delete,
    hot_insert,
    hot_members,
)
from penstock.kernels.partitions import HIGHEST, LIVE
from penstock.operators.join.partition.maintenance import (
    BY_GROUP,
    CHUNK,
    EMPTY_BYTES,
    EMPTY_KEYS,
    EMPTY_NODES,
    EMPTY_ROWS,
    EMPTY_TABLE,
    LazyPartition,
    MaintainedPartition,
    grown,
)
from penstock.vocabulary.batches import Ints, Rows


class HotspotTracker:
    """Keep every group with at least alpha of all ranges hot, and none below alpha / 2.

    As a `Grouping` it shows the hot groups: `group_of` is -1 for scattered slots, which
    `scattered` groups. The two number their groups independently.

    Parameters
    ----------
    alpha
        The share that makes a hotspot; there are at most 2 / alpha.
    epsilon
        All groups together are at most (1 + epsilon) times the fewest possible plus 2 / alpha.
    maintainer
        How the scattered ranges are grouped; default: lazily, with the witness trigger.
    """

    def __init__(
        self,
        alpha: float = 0.001,
        epsilon: float = 1.0,
        maintainer: MaintainedPartition | None = None,
    ) -> None:
        assert 0 < alpha <= 1
        self.scattered = LazyPartition(epsilon) if maintainer is None else maintainer
        assert not len(self.scattered), "the tracker fills its maintainer itself"
        counts = np.zeros(HOT_COUNTS, dtype=np.int64)
        counts[SMALLEST] = HIGHEST
        self._hot = Hot(
            alpha=float(alpha), groups=EMPTY_ROWS, crossed=EMPTY_BYTES, points=EMPTY_KEYS,
            sizes=EMPTY_ROWS, areas=EMPTY_NODES, table=EMPTY_TABLE, changed=EMPTY_BYTES,
            counts=counts,
        )  # fmt: skip

    @property
    def group_of(self) -> Rows:
        """Hot group id by slot, -1: scattered or not here."""
        return self._hot.groups

    @property
    def points(self) -> Ints:
        """Stabbing point by hot group id."""
        return self._hot.points

    @property
    def sizes(self) -> Rows:
        """Members by hot group id; 0: no such group."""
        return self._hot.sizes

    @property
    def moves(self) -> int:
        """How many ranges were promoted or demoted, ever."""
        return int(self._hot.counts[MOVES])

    @property
    def rebuilds(self) -> int:
        """How often the scattered partition was computed anew."""
        return self.scattered.rebuilds

    @property
    def hot_members(self) -> int:
        """How many ranges are in hot groups."""
        return int(self._hot.counts[HOT_MEMBERS])

    def __len__(self) -> int:
        return int(self._hot.counts[TOTAL])

    def insert(self, slots: Rows, lows: Ints, highs: Ints) -> None:
        """Add closed ranges, in the given order; into an empty tracker, canonically at once."""
        if not len(slots):
            return
        assert (lows <= highs).all()
        self._reserve_slots(int(slots.max()) + 1)
        here = (self._hot.groups[slots] >= 0) | (self.scattered.group_of[slots] >= 0)
        assert not here.any(), "a slot is here already"
        if not len(self):
            self.scattered.insert(slots, lows, highs)
            self._hot.crossed[slots] = 1
            self._hot.counts[CROSSINGS] = 1
            self._hot.counts[TOTAL] = len(slots)
            self._reserve_groups(0)
            groups_promote(self._hot, self.scattered.state)
            return
        for start in range(0, len(slots), CHUNK):
            part = slice(start, start + CHUNK)
            self._reserve_groups(len(slots[part]))
            hot_insert(self._hot, self.scattered.state, slots[part], lows[part], highs[part])

    def delete(self, slots: Rows) -> None:
        """Remove ranges, in the given order."""
        here = (self._hot.groups[slots] >= 0) | (self.scattered.group_of[slots] >= 0)
        assert here.all(), "a slot is not here"
        self._reserve_groups(0)
        hot_delete(self._hot, self.scattered.state, slots)

    def live(self) -> Rows:
        """Give the ids of the hot groups, in ascending order of their points."""
        top = int(self._hot.counts[HOT_TOP])
        ids = np.flatnonzero(self._hot.sizes[:top]).astype(np.int32)
        return ids[np.argsort(self._hot.points[ids], kind="stable")]

    def drain(self) -> Rows:
        """Give the ids of hot groups that changed since the last drain."""
        if not self._hot.counts[HOT_CHANGES]:
            return EMPTY_ROWS
        ids = np.flatnonzero(self._hot.changed).astype(np.int32)
        self._hot.changed[ids] = 0
        self._hot.counts[HOT_CHANGES] = 0
        return ids

    def drain_scattered(self) -> Rows:
        """Give the slots that entered or left the scattered ranges since the last call.

        A slot that left and came back, perhaps with another range, is among them. Where it is
        now, `scattered.group_of` tells.
        """
        if not self._hot.counts[CROSSINGS]:
            return EMPTY_ROWS
        slots = np.flatnonzero(self._hot.crossed).astype(np.int32)
        self._hot.crossed[slots] = 0
        self._hot.counts[CROSSINGS] = 0
        return slots

    def members(self, groups: Rows) -> tuple[Ints, Rows]:
        """Give the members of hot groups: (offsets, slots)."""
        offsets = np.zeros(len(groups) + 1, dtype=np.int64)
        np.cumsum(self._hot.sizes[groups], out=offsets[1:])
        slots = np.empty(offsets[-1], dtype=np.int32)
        hot_members(self._hot, self.scattered.state, groups, slots)
        return offsets, slots

    def hot_slots(self) -> Rows:
        """Give all slots in hot groups, ascending."""
        return np.flatnonzero(self._hot.groups >= 0).astype(np.int32)

    def scattered_slots(self) -> Rows:
        """Give all scattered slots, ascending."""
        return np.flatnonzero(self.scattered.group_of >= 0).astype(np.int32)

    def _reserve_slots(self, length: int) -> None:
        self.scattered.reserve_slots(length)
        have, length = len(self._hot.groups), len(self.scattered.group_of)
        if have < length:
            self._hot = self._hot._replace(
                groups=grown(self._hot.groups, length), crossed=grown(self._hot.crossed, length)
            )
            self._hot.groups[have:] = -1

    def _reserve_groups(self, more: int) -> None:
        """Make room: no update raises the number of groups, hot and scattered together, by two."""
        live = int(self._hot.counts[HOT_LIVE] + self.scattered.state.counts[LIVE])
        self.scattered.reserve_groups(live + more)
        have = len(self._hot.points)
        if have < live + more:
            length = max(live + more, have + (have >> 1), 16)
            longer: dict[str, Any] = {
                name: grown(getattr(self._hot, name), length) for name in BY_GROUP
            }
            self._hot = self._hot._replace(**longer)
