"""Partitions that are kept within (1 + epsilon) of the fewest groups while ranges come and go."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from penstock.kernels.partition_trees import NODE, PATH
from penstock.kernels.partition_updates import (
    groups_members,
    partition_adopt,
    partition_delete,
    partition_insert,
)
from penstock.kernels.partitions import (
    APART,
    BY_INTERSECTION,
    BY_POINT,
    CHANGES,
    COUNT,
    COUNTS,
    GROUP,
    LARGEST,
    LAZY,
    LIVE,
    MEMBERS,
    REBUILDS,
    REFINED,
    RELAXED,
    ROOT,
    SPLITS,
    TOP,
    WITNESS,
    Partition,
    canonical_partition,
)
from penstock.vocabulary.batches import Ints, Rows

Trigger = Literal["count", "relaxed", "witness"]
Join = Literal["none", "point", "intersection"]

TRIGGERS = {"count": COUNT, "relaxed": RELAXED, "witness": WITNESS}
JOINS = {"none": APART, "point": BY_POINT, "intersection": BY_INTERSECTION}
CHUNK = 1 << 16
"""So many ranges per call of a kernel: each may open a group, and groups need room before."""
BY_SLOT = ("slots", "groups")
BY_GROUP = ("points", "sizes", "areas", "table", "changed")
EMPTY_KEYS = np.empty(0, dtype=np.int64)
EMPTY_ROWS = np.empty(0, dtype=np.int32)
EMPTY_BYTES = np.empty(0, dtype=np.uint8)
EMPTY_NODES = np.empty(0, dtype=NODE)
EMPTY_TABLE = np.empty(0, dtype=GROUP)


def grown(array: Any, length: int) -> Any:
    """Give a longer copy; new places hold zeros."""
    longer = np.zeros(length, dtype=array.dtype)
    longer[: len(array)] = array
    return longer


class MaintainedPartition:
    """What both ways of maintenance share; see `Grouping` for the promises."""

    def __init__(self, kind: int, epsilon: float, trigger: int, join: int) -> None:
        assert epsilon > 0
        counts = np.zeros(COUNTS, dtype=np.int64)
        counts[ROOT] = -1
        self.state = Partition(
            kind=kind, trigger=trigger, join=join, epsilon=float(epsilon),
            slots=EMPTY_NODES, groups=EMPTY_ROWS, points=EMPTY_KEYS, sizes=EMPTY_ROWS,
            areas=EMPTY_NODES, table=EMPTY_TABLE, changed=EMPTY_BYTES,
            path=np.empty(PATH, dtype=np.int32), counts=counts,
        )  # fmt: skip

    @property
    def group_of(self) -> Rows:
        """Group id by slot, -1: not here."""
        return self.state.groups

    @property
    def points(self) -> Ints:
        """Stabbing point by group id."""
        return self.state.points

    @property
    def sizes(self) -> Rows:
        """Members by group id; 0: no such group."""
        return self.state.sizes

    @property
    def rebuilds(self) -> int:
        """How often the whole partition was computed anew."""
        return int(self.state.counts[REBUILDS])

    @property
    def splits(self) -> int:
        """How many trees the last refined rebuild cut."""
        return int(self.state.counts[SPLITS])

    def __len__(self) -> int:
        return int(self.state.counts[MEMBERS])

    def insert(self, slots: Rows, lows: Ints, highs: Ints) -> None:
        """Add closed ranges, in the given order; into an empty partition, canonically at once."""
        if not len(slots):
            return
        assert (lows <= highs).all()
        self.reserve_slots(int(slots.max()) + 1)
        assert (self.state.groups[slots] < 0).all(), "a slot is here already"
        if not len(self):
            self._load(slots, lows, highs)
            return
        for start in range(0, len(slots), CHUNK):
            part = slice(start, start + CHUNK)
            self.reserve_groups(int(self.state.counts[LIVE]) + len(slots[part]))
            partition_insert(self.state, slots[part], lows[part], highs[part])

    def _load(self, slots: Rows, lows: Ints, highs: Ints) -> None:
        state = self.state
        by_slot = np.argsort(slots, kind="stable")
        slots, lows, highs = slots[by_slot], lows[by_slot], highs[by_slot]
        state.slots["low"][slots] = lows
        state.slots["high"][slots] = highs
        order, labels, points = canonical_partition(lows, highs)
        self.reserve_groups(len(points))
        state.counts[LARGEST] = 0
        partition_adopt(self.state, slots[order], labels, points)

    def delete(self, slots: Rows) -> None:
        """Remove ranges, in the given order."""
        assert (self.state.groups[slots] >= 0).all(), "a slot is not here"
        partition_delete(self.state, slots)

    def live(self) -> Rows:
        """Give the ids of all groups, in ascending order of their points."""
        top = int(self.state.counts[TOP])
        ids = np.flatnonzero(self.state.sizes[:top]).astype(np.int32)
        return ids[np.argsort(self.state.points[ids], kind="stable")]

    def drain(self) -> Rows:
        """Give the ids of groups that changed since the last drain."""
        if not self.state.counts[CHANGES]:
            return EMPTY_ROWS
        ids = np.flatnonzero(self.state.changed).astype(np.int32)
        self.state.changed[ids] = 0
        self.state.counts[CHANGES] = 0
        return ids

    def members(self, groups: Rows) -> tuple[Ints, Rows]:
        """Give the members of groups: (offsets, slots), slots[offsets[k] : offsets[k + 1]] of k."""
        offsets = np.zeros(len(groups) + 1, dtype=np.int64)
        np.cumsum(self.state.sizes[groups], out=offsets[1:])
        slots = np.empty(offsets[-1], dtype=np.int32)
        groups_members(self.state, groups, slots)
        return offsets, slots

    def reserve_slots(self, length: int) -> None:
        """Make room for slots below `length`."""
        have = len(self.state.groups)
        self._reserve(BY_SLOT, have, length)
        self.state.groups[have:] = -1

    def reserve_groups(self, length: int) -> None:
        """Make room for so many groups."""
        self._reserve(BY_GROUP, len(self.state.points), length)

    def _reserve(self, names: tuple[str, ...], have: int, length: int) -> None:
        if have < length:
            length = max(length, have + (have >> 1), 16)
            longer: dict[str, Any] = {
                name: grown(getattr(self.state, name), length) for name in names
            }
            self.state = self.state._replace(**longer)


class LazyPartition(MaintainedPartition):
    """New ranges join a group that is there, or become one; the whole is rebuilt when it may pay.

    Parameters
    ----------
    epsilon
        At most (1 + epsilon) times the fewest possible groups.
    trigger
        When to rebuild: after a count of updates, relaxed by what was deleted, or (best) by how
        many pairwise disjoint witnesses are left.
    join
        Whom a new range may join: nobody, a group whose point it contains, or a group whose common
        intersection it meets.
    """

    def __init__(
        self, epsilon: float = 1.0, trigger: Trigger = "witness", join: Join = "intersection"
    ) -> None:
        super().__init__(LAZY, epsilon, TRIGGERS[trigger], JOINS[join])


class RefinedPartition(MaintainedPartition):
    """Canonical groups as trees: a rebuild costs a logarithm per group, and touches few groups.

    Parameters
    ----------
    epsilon
        At most (1 + epsilon) times the fewest possible groups.
    trigger
        When to rebuild, as in `LazyPartition`.
    join
        "leftmost": a new range joins the group of the leftmost canonical point that it contains;
        "none": it waits alone for the next rebuild.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        trigger: Trigger = "count",
        join: Literal["none", "leftmost"] = "leftmost",
    ) -> None:
        super().__init__(REFINED, epsilon, TRIGGERS[trigger], APART if join == "none" else BY_POINT)


def maintainer(name: str, epsilon: float) -> MaintainedPartition:
    """Make a partition by its name in the options.

    >>> type(maintainer("refined", 1.0)).__name__
    'RefinedPartition'
    """
    if name == "refined":
        return RefinedPartition(epsilon)
    kinds: dict[str, Trigger] = {
        "lazy-count": "count", "lazy-relaxed": "relaxed", "lazy-witness": "witness",
    }  # fmt: skip
    return LazyPartition(epsilon, trigger=kinds[name])
