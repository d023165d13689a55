"""A grouping and its plain twin, driven together: random histories of ranges that come and go."""

from __future__ import annotations

import numpy as np

from penstock.operators.join.partition import Grouping
from tests.oracle.partitions import Range


def rows(slots: list[int]) -> np.ndarray:
    return np.array(slots, dtype=np.int32)


def keys(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


class Driven:
    """Ranges by slot in a dictionary, beside the grouping that is tested."""

    def __init__(self, grouping: Grouping, rng: np.random.Generator) -> None:
        self.grouping = grouping
        self.rng = rng
        self.ranges: dict[int, Range] = {}
        self.seen: dict[int, frozenset[int]] = {}
        self.seen_points: dict[int, int] = {}

    def free(self, count: int) -> list[int]:
        """Slots that are not in use, lowest first: they are reused."""
        slots = (slot for slot in range(len(self.ranges) + count) if slot not in self.ranges)
        return [next(slots) for _ in range(count)]

    def insert(self, ranges: list[Range]) -> None:
        slots = self.free(len(ranges))
        lows, highs = keys([r[0] for r in ranges]), keys([r[1] for r in ranges])
        self.grouping.insert(rows(slots), lows, highs)
        self.ranges.update(zip(slots, ranges, strict=True))

    def delete(self, count: int) -> None:
        gone = self.rng.choice(sorted(self.ranges), min(count, len(self.ranges)), replace=False)
        self.grouping.delete(gone.astype(np.int32))
        for slot in gone.tolist():
            del self.ranges[slot]

    def groups(self) -> dict[int, frozenset[int]]:
        """What `group_of` says."""
        found: dict[int, set[int]] = {}
        for slot, group in enumerate(self.grouping.group_of.tolist()):
            if group >= 0:
                found.setdefault(group, set()).add(slot)
        return {group: frozenset(members) for group, members in found.items()}

    def check(self) -> dict[int, frozenset[int]]:
        """All that every grouping promises about itself; gives its groups."""
        g, groups = self.grouping, self.groups()
        for group, members in groups.items():
            point = int(g.points[group])
            assert all(self.ranges[s][0] <= point <= self.ranges[s][1] for s in members)
            assert g.sizes[group] == len(members)
        assert int(g.sizes.sum()) == sum(map(len, groups.values()))
        live = g.live().tolist()
        assert set(live) == set(groups)
        assert [int(g.points[x]) for x in live] == sorted(int(g.points[x]) for x in live)
        return groups

    def check_members(self) -> None:
        """Members come per group, whole."""
        live = self.grouping.live()
        offsets, slots = self.grouping.members(live)
        groups = self.groups()
        for k, group in enumerate(live.tolist()):
            part = slots[offsets[k] : offsets[k + 1]].tolist()
            assert len(set(part)) == len(part)
            assert set(part) == groups[group]

    def check_drain(self) -> set[int]:
        """Somebody who looks again only at drained groups knows everything; gives those."""
        changed = set(self.grouping.drain().tolist())
        groups = self.groups()
        for group in changed:
            self.seen.pop(group, None)
            self.seen_points.pop(group, None)
            if group in groups:
                self.seen[group] = groups[group]
                self.seen_points[group] = int(self.grouping.points[group])
        assert self.seen == groups
        assert self.seen_points == {group: int(self.grouping.points[group]) for group in groups}
        return changed


def random_range(rng: np.random.Generator, domain: int, width: int) -> Range:
    low = int(rng.integers(0, domain))
    return low, low + int(rng.integers(0, width + 1))
