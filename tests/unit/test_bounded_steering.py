"""Steering by example: what is counted anew when a stream has changed its nature."""

from __future__ import annotations

import numpy as np

from penstock.algebra.memories import AUTO, Memory
from penstock.kernels.bounded_counts import COUNT, KEY
from penstock.lab.caching.workload import alternating
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.policy_control import Steering


def test_names_are_counted_anew_from_where_the_streams_changed() -> None:
    """Names of before would stay for long: they came often."""
    generator = np.random.default_rng(12)
    names = generator.integers(-(2**62), 2**62, size=200)
    chances = 1 / np.arange(1, 101)
    picked = generator.choice(100, size=(2, 2, 2000), p=chances / chances.sum())
    keys = [names[np.concatenate((early, 100 + late))] for early, late in picked]
    steering = Steering(Memory(rows=40, laws=(AUTO, AUTO)), numeric=False, budget=40)
    cache, rows = JoinCache(40, steering.policy()), alternating(*keys)
    before: list[int] = []
    changes = 0
    for at in range(4000):
        part = [each[2 * at : 2 * at + 2] for each in rows]
        cache.feed(*part)
        steering.observe(part[0], part[1], part[2])
        if steering.next == at + 1:
            steering.steer(cache, at + 1)
            since = [fact.get("since_tick", 0) for fact in steering.facts()["streams"]]
            if since != before and min(since) > 1500:
                cells = cache.arrays()["counts_cells"]
                counted = dict(zip(cells[:, KEY].tolist(), cells[:, COUNT:].tolist(), strict=True))
                recent = [
                    each[begin : at + 1].tolist() for each, begin in zip(keys, since, strict=True)
                ]
                assert counted == {
                    key: [each.count(key) for each in recent] for key in {*recent[0], *recent[1]}
                }
                changes += 1
            before = since
    assert changes > 0
    assert all(1900 < since < 2200 for since in before)
