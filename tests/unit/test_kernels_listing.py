"""Sorted lists with slack say what plain sorted lists say, alone and beside a partition."""

from __future__ import annotations

import numpy as np

from penstock.kernels.partition_trees import (
    NODE,
    PATH,
    Tree,
    tree_build,
    tree_items,
)
from penstock.lab.kernels.lists import (
    ListPool,
    grouped_change,
    lists_change,
    lists_fill,
    lists_pack,
    tree_change,
)
from penstock.operators.join.partition import LazyPartition
from tests.support.groupings import random_range


def contents(pool: ListPool) -> list[list[tuple[int, int]]]:
    found = []
    for start, length, room in pool.lists.tolist():
        assert length <= room
        part = slice(start, start + length)
        found.append(list(zip(pool.keys[part].tolist(), pool.slots[part].tolist(), strict=True)))
    return found


def test_lists_follow_their_plain_twins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plain: list[list[tuple[int, int]]] = [[] for _ in range(5)]
    nothing = np.empty(0, dtype=np.int32)
    pool = lists_fill(nothing, 5, np.empty(0, dtype=np.int64), nothing, 0.1)
    packed = 0
    for turn in range(60):
        numbers, keys, slots, added = [], [], [], []
        for step in range(20):
            number = int(rng.integers(0, 5))
            if plain[number] and rng.random() < 0.4:
                key, slot = plain[number].pop(int(rng.integers(0, len(plain[number]))))
                added.append(False)
            else:
                key, slot = int(rng.integers(-9, 9)), 100 * turn + step
                plain[number].append((key, slot))
                added.append(True)
            numbers.append(number)
            keys.append(key)
            slots.append(slot)
        batch = (np.array(numbers, np.int32), np.array(keys), np.array(slots, np.int32))
        done = lists_change(pool, *batch, np.array(added), 0)
        while done < 20:
            pool = lists_pack(pool, 0.1)
            packed += 1
            done = lists_change(pool, *batch, np.array(added), done)
        assert contents(pool) == [sorted(part) for part in plain]
    assert packed > 0


def test_lists_beside_a_partition_hold_the_ends_of_its_groups(seed: int) -> None:
    rng = np.random.default_rng(seed)
    partition = LazyPartition(0.5)
    here = dict(enumerate(random_range(rng, 300, 30) for _ in range(100)))
    lows, highs = (np.array([r[k] for r in here.values()]) for k in (0, 1))
    partition.insert(np.arange(100, dtype=np.int32), lows, highs)
    partition.reserve_slots(2_000)
    partition.reserve_groups(2_000)

    def fill(sign: int) -> ListPool:
        slots = np.array(sorted(here), dtype=np.int32)
        keys = np.array([here[s][0] if sign == 0 else ~here[s][1] for s in slots.tolist()])
        order = np.lexsort((slots, keys))
        groups = partition.group_of[slots]
        return lists_fill(groups[order], 2_000, keys[order], slots[order], 0.1)

    lefts, rights, refills = fill(0), fill(1), 0
    for step in range(1_000):
        if rng.random() < 0.5:
            slot, added = 100 + step, True
            here[slot] = random_range(rng, 300, 30)
        else:
            slot, added = int(rng.choice(sorted(here))), False
        low, high = here[slot]
        rebuilds = partition.rebuilds
        update = (np.array([slot], np.int32), np.array([low]), np.array([high]), np.array([added]))
        while not grouped_change(partition.state, lefts, rights, *update, 0):
            lefts, rights = lists_pack(lefts, 0.1), lists_pack(rights, 0.1)
        if not added:
            del here[slot]
        if partition.rebuilds != rebuilds:
            lefts, rights, refills = fill(0), fill(1), refills + 1
        if step % 10 == 0:
            left_lists, right_lists = contents(lefts), contents(rights)
            for group in partition.live().tolist():
                members = np.flatnonzero(partition.group_of == group).tolist()
                assert left_lists[group] == sorted((here[s][0], s) for s in members)
                assert right_lists[group] == sorted((~here[s][1], s) for s in members)
            assert sum(map(len, left_lists)) == len(here)
    assert refills > 0


def test_a_tree_of_changes_keeps_order_and_least_highs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = np.zeros(600, dtype=NODE)
    nodes["low"], nodes["high"] = rng.integers(0, 50, 600), rng.integers(0, 500, 600)
    tree = Tree(nodes, True, np.empty(PATH, dtype=np.int32))
    first = np.arange(300)
    order = first[np.lexsort((first, nodes["low"][:300]))].astype(np.int32)
    root = int(tree_build(tree, order, 0, 300))
    here = set(range(300))
    for slot in range(300, 600):
        gone = int(rng.choice(sorted(here)))
        changed = np.array([slot, gone], dtype=np.int32)
        root = tree_change(tree, root, changed, np.array([True, False]))
        here = (here | {slot}) - {gone}
    expected = sorted(here, key=lambda s: (int(nodes["low"][s]), s))
    out = np.empty(300, dtype=np.int32)
    assert tree_items(tree, root, expected[0], expected[-1], out, 0) == 300
    assert out.tolist() == expected
    stack, seen = [root], 0
    while stack:
        node = nodes[stack.pop()]
        below = [nodes[child] for child in (node["left"], node["right"]) if child >= 0]
        assert node["count"] == 1 + sum(child["count"] for child in below)
        assert node["least"] == min(node["high"], *(child["least"] for child in below), 10**9)
        stack += [int(child) for child in (node["left"], node["right"]) if child >= 0]
        seen += 1
    assert seen == 300
