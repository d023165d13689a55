"""Partitions are smallest when canonical, and stay within (1 + epsilon) of that under updates."""

from __future__ import annotations

from itertools import product
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.partition_refined import refined_rebuild
from penstock.kernels.partitions import FIRST_SIZE, HIGHEST, LOWEST, UPDATES, canonical_partition
from penstock.operators.join.partition import LazyPartition, RefinedPartition, maintainer
from penstock.operators.join.partition.maintenance import Join, MaintainedPartition, Trigger
from tests.oracle.partitions import Range, canonical, common, fewest_points, most_disjoint
from tests.support.groupings import Driven, keys, random_range, rows

TRIGGERS: tuple[Trigger, ...] = ("count", "relaxed", "witness")
JOINS: tuple[Join, ...] = ("none", "point", "intersection")
EPSILONS = (0.1, 0.5, 1.0, 3.0)

ends = st.integers(-8, 8) | st.sampled_from([LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST])
a_range = st.tuples(ends, ends).map(lambda pair: (min(pair), max(pair)))


def kernel_groups(ranges: list[Range]) -> list[tuple[int, list[int]]]:
    """What the kernel makes of ranges: points with the positions of their members."""
    lows, highs = keys([r[0] for r in ranges]), keys([r[1] for r in ranges])
    order, labels, points = canonical_partition(lows, highs)
    members: list[list[int]] = [[] for _ in points]
    for position, label in zip(order.tolist(), labels.tolist(), strict=True):
        members[label].append(position)
    return list(zip(points.tolist(), members, strict=True))


def state_groups(driven: Driven) -> set[tuple[int, frozenset[int]]]:
    return {(int(driven.grouping.points[g]), m) for g, m in driven.groups().items()}


def test_canonical_partition_is_smallest(seed: int) -> None:
    """L1, by exhaustive search on small sets."""
    rng = np.random.default_rng(seed)
    for _ in range(500):
        count, domain = int(rng.integers(1, 9)), int(rng.integers(3, 30))
        ranges = [random_range(rng, domain, domain // 3) for _ in range(count)]
        groups = kernel_groups(ranges)
        assert len(groups) == fewest_points(ranges) == most_disjoint(ranges)
        assert sorted(i for _, members in groups for i in members) == list(range(count))
        for point, members in groups:
            found = common([ranges[i] for i in members])
            assert found is not None
            assert found[1] == point


@pytest.mark.parametrize("count", [1, 10, 1_000, 100_000])
@pytest.mark.parametrize("share", [0.3, 0.01, 0.000_01])
def test_canonical_partition_is_as_large_as_the_most_disjoint_ranges(
    count: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    lows = rng.integers(-(2**40), 2**40, count)
    highs = lows + rng.integers(0, int(2**41 * share) + 1, count)
    points = canonical_partition(lows, highs)[2]
    assert len(points) == most_disjoint(list(zip(lows.tolist(), highs.tolist(), strict=True)))
    assert (np.diff(points) > 0).all()


@given(st.lists(a_range, min_size=1, max_size=12))
def test_open_ends_and_equal_ranges_are_grouped_as_by_definition(ranges: list[Range]) -> None:
    expected = canonical(dict(enumerate(ranges)))
    assert {(point, frozenset(members)) for point, members in kernel_groups(ranges)} == expected
    for make in (LazyPartition, RefinedPartition):
        driven = Driven(make(), np.random.default_rng(0))
        driven.insert(ranges)
        driven.check()
        assert state_groups(driven) == expected


def test_one_range_more_or_less_changes_the_fewest_groups_by_one_at_most(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(200):
        ranges = [random_range(rng, 40, 10) for _ in range(int(rng.integers(2, 20)))]
        less, more = len(kernel_groups(ranges[1:])), len(kernel_groups(ranges))
        assert less <= more <= less + 1


def run_history(make: MaintainedPartition, epsilon: float, seed: int, updates: int) -> Driven:
    """Insert and delete one by one; after each, the bound holds and drains tell what changed."""
    rng = np.random.default_rng(seed)
    driven = Driven(make, rng)
    for step in range(updates):
        counted, first = make.state.counts[UPDATES], make.state.counts[FIRST_SIZE]
        rebuilds, was_empty = make.rebuilds, not driven.ranges
        # Phases: the set grows, shrinks to nothing, grows again elsewhere.
        shrinking = step % 500 > 300
        if driven.ranges and rng.random() < (0.85 if shrinking else 0.3):
            driven.delete(1)
        else:
            drift = step // 50
            low, high = random_range(rng, 120, 16 if step % 3 else 50)
            driven.insert([(low + drift, high + drift)])
        groups = driven.groups()
        assert len(groups) <= (1 + epsilon) * most_disjoint(list(driven.ranges.values()))
        if make.rebuilds > rebuilds and not was_empty:
            # No trigger fires before the plain count of updates does.
            assert counted + 1 >= epsilon * first / (epsilon + 2)
        if step % 20 == 0:
            driven.check()
            driven.check_members()
        driven.check_drain()
    return driven


@pytest.mark.parametrize(("trigger", "join"), list(product(TRIGGERS, JOINS)))
def test_lazy_partition_keeps_its_bound(trigger: Trigger, join: Join, seed: int) -> None:
    """L3, with every trigger and every way to join."""
    for epsilon in EPSILONS:
        make = LazyPartition(epsilon, trigger=trigger, join=join)
        run_history(make, epsilon, seed, 2_000)


@pytest.mark.parametrize("trigger", TRIGGERS)
@pytest.mark.parametrize("join", ["none", "leftmost"])
def test_refined_partition_keeps_its_bound(
    trigger: Trigger, join: Literal["none", "leftmost"], seed: int
) -> None:
    """T5, with every trigger, with and without joining."""
    for epsilon in EPSILONS:
        make = RefinedPartition(epsilon, trigger=trigger, join=join)
        run_history(make, epsilon, seed, 2_000)


def test_triggers_fire_ever_less_often(seed: int) -> None:
    counts = [
        run_history(LazyPartition(1.0, trigger=trigger), 1.0, seed, 1_000).grouping
        for trigger in TRIGGERS
    ]
    rebuilds = [g.rebuilds for g in counts if isinstance(g, MaintainedPartition)]
    assert rebuilds[0] >= rebuilds[1] >= rebuilds[2]


def test_a_refined_rebuild_gives_the_canonical_partition(seed: int) -> None:
    """T5': groups and points, on many histories; the cuts are at most the groups made."""
    rng = np.random.default_rng(seed)
    moved = 0
    for history in range(3_000):
        make = RefinedPartition(1e9, trigger="witness", join="leftmost" if history % 3 else "none")
        driven = Driven(make, rng)
        domain, width = int(rng.integers(5, 60)), int(rng.integers(1, 30))
        for _ in range(3):
            driven.insert([random_range(rng, domain, width) for _ in range(rng.integers(1, 15))])
            driven.delete(int(rng.integers(0, 12)))
            driven.insert([random_range(rng, domain, width) for _ in range(rng.integers(1, 6))])
            refined_rebuild(make.state)
            assert state_groups(driven) == canonical(driven.ranges)
            assert make.splits <= len(make.live())
            moved += make.splits
        driven.check()
        driven.check_members()
        driven.check_drain()
    assert moved > 3_000, "the histories must make the rebuild cut trees"


def test_a_refined_rebuild_keeps_ids_and_drains_only_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    make = RefinedPartition(1e9, trigger="witness")
    driven = Driven(make, rng)
    driven.insert([random_range(rng, 10_000, 300) for _ in range(2_000)])
    driven.check_drain()
    before = driven.groups()
    refined_rebuild(make.state)
    assert driven.check_drain() == set(), "nothing was updated, so nothing may change"
    driven.insert([(5_000, 5_001)])
    refined_rebuild(make.state)
    changed = driven.check_drain()
    groups = driven.groups()
    assert changed >= {g for g in groups if groups[g] != before.get(g)}
    kept = [len(groups[g] & before[g]) / len(before[g]) for g in before if g in groups]
    assert len(kept) == len(before)
    assert np.mean(kept) > 0.5, "an id stays with most of its members"


@pytest.mark.parametrize("join", ["none", "leftmost"])
def test_between_rebuilds_an_update_touches_one_group(
    join: Literal["none", "leftmost"], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    make = RefinedPartition(1.0, join=join)
    driven = Driven(make, rng)
    driven.insert([random_range(rng, 3_000, 80) for _ in range(500)])
    driven.check_drain()
    quiet = 0
    for _ in range(600):
        rebuilds = make.rebuilds
        if rng.random() < 0.5:
            driven.delete(1)
        else:
            driven.insert([random_range(rng, 3_000, 80)])
        changed = driven.check_drain()
        if make.rebuilds == rebuilds:
            quiet += 1
            assert len(changed) == 1
    assert quiet > 400


def mean_depth(make: RefinedPartition) -> float:
    """The mean depth of nodes in the trees: what an update walks."""
    state = make.state
    level = state.table["head"][make.live()]
    depth, total, nodes = 1, 0, 0
    while len(level):
        total, nodes = total + depth * len(level), nodes + len(level)
        children = np.concatenate([state.slots["left"][level], state.slots["right"][level]])
        level = children[children >= 0]
        depth += 1
    assert nodes == len(make)
    return total / nodes


def test_the_work_per_refined_update_grows_by_a_logarithm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    depths = []
    for count in (10_000, 1_000_000):
        make = RefinedPartition(1.0)
        lows = rng.integers(0, 2**40, count)
        make.insert(np.arange(count, dtype=np.int32), lows, lows + 2**35)
        change = rng.choice(count, 2_000, replace=False).astype(np.int32)
        make.delete(change)
        make.insert(change, lows[change], lows[change] + 2**35)
        depths.append(mean_depth(make))
    assert depths[1] <= 2 * depths[0]


@pytest.mark.parametrize("name", ["lazy-count", "lazy-relaxed", "lazy-witness", "refined"])
def test_a_batch_is_its_updates_one_by_one(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    copies = [maintainer(name, 0.5) for _ in range(2)]
    ranges = [random_range(rng, 500, 20) for _ in range(300)]
    slots = rows(rng.permutation(1_000)[:300].tolist())
    lows, highs = keys([r[0] for r in ranges]), keys([r[1] for r in ranges])
    for copy in copies:
        copy.insert(slots[:100], lows[:100], highs[:100])
    copies[0].insert(slots[100:], lows[100:], highs[100:])
    for i in range(100, 300):
        copies[1].insert(slots[i : i + 1], lows[i : i + 1], highs[i : i + 1])
    gone = rng.permutation(slots)[:250]
    copies[0].delete(gone)
    for slot in gone.tolist():
        copies[1].delete(rows([slot]))
    a, b = (copy.state for copy in copies)
    assert (a.groups[slots] == b.groups[slots]).all()
    assert copies[0].live().tolist() == copies[1].live().tolist()
    assert (a.points[copies[0].live()] == b.points[copies[1].live()]).all()
    assert (a.counts == b.counts).all()
    assert copies[0].drain().tolist() == copies[1].drain().tolist()


def test_ids_and_room_are_reused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for name in ("lazy-witness", "refined"):
        make = maintainer(name, 1.0)
        slots = np.arange(500, dtype=np.int32)
        for turn in range(20):
            lows = rng.integers(0, 100_000, 500) + 1_000 * turn
            make.insert(slots[:250], lows[:250], lows[:250] + 30)
            make.insert(slots[250:], lows[250:], lows[250:] + 30)
            make.delete(rng.permutation(slots))
        assert len(make.points) <= 1_000
        assert len(make) == 0
        assert not len(make.live())
