"""Boxes: the tree finds the boxes that contain a point, whatever was added and dropped."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.operators.shared.boxes import Boxes

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_tree_finds_the_boxes_that_contain_a_point(dimensions: int, seed: int) -> None:
    for instance in range(60):
        rng = np.random.default_rng([seed, instance])
        span, wide = int(rng.choice([4, 50, 1000])), int(rng.choice([1, 5, 100]))
        boxes, twin = Boxes(dimensions), dict[int, np.ndarray]()
        for _ in range(6):
            drops = np.array([slot for slot in twin if rng.random() < 0.3], dtype=np.int32)
            boxes.drop(drops)
            for slot in drops.tolist():
                del twin[slot]
            free = np.array([slot for slot in range(900) if slot not in twin], dtype=np.int32)
            size = min(len(free), int(rng.choice([0, 3, 70, 500])))
            adds = rng.permutation(free)[:size]
            low = rng.integers(0, span, (size, dimensions))
            high = low + rng.integers(0, wide, (size, dimensions))
            low[rng.random(low.shape) < 0.03] = LOWEST
            high[rng.random(high.shape) < 0.03] = HIGHEST
            sides = np.stack([low, high], axis=2).reshape(size, 2 * dimensions)
            boxes.add(adds, sides)
            twin |= dict(zip(adds.tolist(), sides, strict=True))
            assert len(boxes) == len(twin)
            for point in rng.integers(0, span + wide, (5, dimensions)):
                expected = [
                    slot
                    for slot, side in twin.items()
                    if (side[0::2] <= point).all() and (point <= side[1::2]).all()
                ]
                assert sorted(boxes.stab(point).tolist()) == sorted(expected)


def test_a_large_tree_is_packed_once_and_looks_at_little(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 1_000_000, (20_000, 2))
    sides = np.stack([low, low + 1000], axis=2).reshape(-1, 4)
    boxes = Boxes(2)
    boxes.add(np.arange(len(sides), dtype=np.int32), sides)
    tree = boxes.packed()
    assert boxes.rebuilds == 1 and len(tree.tail_slots) == 0
    # Leaves of a good packing are small: their total half perimeter says so.
    leaves = tree.boxes[tree.starts[1] : tree.starts[2]]
    widths = (leaves[:, 1] - leaves[:, 0]) + (leaves[:, 3] - leaves[:, 2])
    assert widths.mean() < 4 * (1_000_000 / np.sqrt(len(leaves)) + 1000)
