"""Hotspots: the tracker's three invariants hold after every update, and its moves are few."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from penstock.operators.join.partition import (
    HotspotTracker,
    LazyPartition,
    RefinedPartition,
    maintainer,
)
from penstock.operators.join.partition.maintenance import MaintainedPartition
from tests.oracle.partitions import Range, common, most_disjoint
from tests.support.groupings import Driven, keys, random_range, rows

MAINTAINERS: dict[str, Callable[[], MaintainedPartition]] = {
    "count": lambda: LazyPartition(1.0, trigger="count"),
    "relaxed": lambda: LazyPartition(1.0, trigger="relaxed", join="point"),
    "witness": lambda: LazyPartition(1.0),
    "apart": lambda: LazyPartition(1.0, join="none"),
    "refined": lambda: RefinedPartition(1.0),
    "refined-witness": lambda: RefinedPartition(1.0, trigger="witness"),
}


class Watched:
    """A tracker under watch: what it must hold, and what somebody who only drains would know."""

    def __init__(self, alpha: float, kept: MaintainedPartition, rng: np.random.Generator) -> None:
        self.alpha = alpha
        self.tracker = HotspotTracker(alpha, 1.0, maintainer=kept)
        self.hot = Driven(self.tracker, rng)
        self.cold = Driven(kept, rng)
        self.cold.ranges = self.hot.ranges
        self.scattered: dict[int, Range] = {}
        self.inserted = self.deleted = 0

    def insert(self, ranges: list[Range]) -> None:
        self.hot.insert(ranges)
        self.inserted += len(ranges)

    def delete(self, count: int) -> None:
        before = len(self.hot.ranges)
        self.hot.delete(count)
        self.deleted += before - len(self.hot.ranges)

    def check(self) -> None:
        hot, cold = self.hot.check(), self.cold.check()
        ranges, total = self.hot.ranges, len(self.hot.ranges)
        assert len(self.tracker) == total
        in_hot = {slot for members in hot.values() for slot in members}
        in_cold = {slot for members in cold.values() for slot in members}
        assert not in_hot & in_cold
        assert in_hot | in_cold == set(ranges)
        assert self.tracker.hot_slots().tolist() == sorted(in_hot)
        assert self.tracker.scattered_slots().tolist() == sorted(in_cold)
        assert self.tracker.hot_members == len(in_hot)
        # I1: every alpha-hotspot is hot, nothing hot is below alpha / 2.
        assert all(len(members) < self.alpha * total for members in cold.values())
        assert all(len(members) >= self.alpha / 2 * total for members in hot.values())
        assert len(hot) <= 2 / self.alpha
        # I2: not too many groups.
        fewest = most_disjoint(list(ranges.values()))
        assert len(hot) + len(cold) <= 2 * fewest + 2 / self.alpha
        for members in hot.values():
            assert common([ranges[slot] for slot in members]) is not None
        # I3, by the credits.
        assert self.tracker.moves <= 5 * self.inserted + 2 * self.deleted

    def check_drains(self) -> None:
        self.hot.check_drain()
        self.cold.check_drain()
        inside = self.tracker.scattered.group_of
        for slot in self.tracker.drain_scattered().tolist():
            self.scattered.pop(slot, None)
            if inside[slot] >= 0:
                self.scattered[slot] = self.hot.ranges[slot]
        slots = self.tracker.scattered_slots().tolist()
        assert self.scattered == {slot: self.hot.ranges[slot] for slot in slots}


def drifting_range(rng: np.random.Generator, step: int) -> Range:
    """Most ranges lie about a centre that wanders; the others anywhere."""
    if rng.random() < 0.6:
        low, high = random_range(rng, 60, 60)
        return low + step // 2, high + step // 2
    return random_range(rng, 2_000, 30)


@pytest.mark.parametrize("name", MAINTAINERS)
@pytest.mark.parametrize("alpha", [0.02, 0.05, 0.25])
def test_invariants_hold_while_the_centre_drifts(name: str, alpha: float, seed: int) -> None:
    """T1, after every one of 2,500 updates."""
    rng = np.random.default_rng(seed)
    watched = Watched(alpha, MAINTAINERS[name](), rng)
    for step in range(2_500):
        here = len(watched.hot.ranges)
        if here > 20 and rng.random() < (0.5 if here < 120 else 0.7):
            watched.delete(1)
        else:
            watched.insert([drifting_range(rng, step)])
        watched.check()
        if step % 7 == 0:
            watched.check_drains()
    assert 0 < watched.tracker.moves < 0.5 * 2_500
    watched.hot.check_members()
    watched.cold.check_members()
    while watched.hot.ranges:
        watched.delete(1)
        watched.check()
        watched.check_drains()


@pytest.mark.parametrize("name", MAINTAINERS)
def test_a_batch_is_its_updates_one_by_one(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    copies = [HotspotTracker(0.05, 1.0, maintainer=MAINTAINERS[name]()) for _ in range(2)]
    ranges = [drifting_range(rng, step) for step in range(300)]
    slots = rows(rng.permutation(1_000)[:300].tolist())
    lows, highs = keys([r[0] for r in ranges]), keys([r[1] for r in ranges])
    for copy in copies:
        copy.insert(slots[:100], lows[:100], highs[:100])
    copies[0].insert(slots[100:], lows[100:], highs[100:])
    for i in range(100, 300):
        copies[1].insert(slots[i : i + 1], lows[i : i + 1], highs[i : i + 1])
    gone = rng.permutation(slots)[:200]
    copies[0].delete(gone)
    for slot in gone.tolist():
        copies[1].delete(rows([slot]))
    for read in ("live", "drain", "drain_scattered", "hot_slots", "scattered_slots"):
        assert getattr(copies[0], read)().tolist() == getattr(copies[1], read)().tolist()
    assert copies[0].moves == copies[1].moves
    assert (copies[0].group_of[slots] == copies[1].group_of[slots]).all()


def test_a_bulk_load_finds_the_hotspots_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    centres = np.repeat(np.arange(20) * 10_000, 500)
    lows = np.concatenate([centres - rng.integers(0, 4_000, 10_000), rng.integers(0, 10**9, 1_000)])
    highs = np.concatenate([centres + rng.integers(0, 4_000, 10_000), lows[10_000:] + 10])
    for name in ("lazy-witness", "refined"):
        tracker = HotspotTracker(0.02, 1.0, maintainer=maintainer(name, 1.0))
        tracker.insert(np.arange(11_000, dtype=np.int32), lows, highs)
        assert len(tracker.live()) == 20
        assert tracker.hot_members >= 10_000
        assert tracker.moves == tracker.hot_members


def test_few_ranges_are_all_hot() -> None:
    tracker = HotspotTracker(0.001)
    tracker.insert(rows([3, 1]), keys([0, 100]), keys([5, 200]))
    assert tracker.hot_slots().tolist() == [1, 3]
    tracker.delete(rows([3]))
    assert tracker.live().tolist() == [tracker.group_of[1]]
    tracker.delete(rows([1]))
    assert not len(tracker)
    assert not len(tracker.live())
