"""Runs: whatever is added and removed, each run is its rows, sorted by value and row slot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators.join.runs import Runs

CODES = 4
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
values = st.integers(-4, 4) | st.sampled_from([LOWEST, LOWEST + 1, HIGHEST])
ops = st.lists(st.tuples(st.integers(0, CODES), values, st.integers(0, 6), st.booleans()))
items = st.lists(st.tuples(st.integers(-1, CODES + 3), values, values), max_size=8)


def held(runs: Runs) -> set[tuple[int, int, int]]:
    found = []
    for code in range(len(runs.start)):
        begin, end = int(runs.start[code]), int(runs.start[code]) + int(runs.length[code])
        run = list(zip(runs.value[begin:end].tolist(), runs.slot[begin:end].tolist(), strict=True))
        assert run == sorted(run) == sorted(set(run))
        assert runs.run(code).tolist() == [value for value, _ in run]
        found += [(code, value, slot) for value, slot in run]
    assert len(found) == len(runs)
    return set(found)


@given(batches=st.lists(ops, max_size=8), items=items)
def test_runs_hold_what_a_set_holds(
    batches: list[list[tuple[int, int, int, bool]]], items: list[tuple[int, int, int]]
) -> None:
    runs, twin = Runs(), set[tuple[int, int, int]]()
    for batch in batches:
        changes = []
        for code, value, slot, _ in batch:
            # A row that is there goes, one that is not there comes: both may happen in one batch.
            row = (code, value, slot)
            changes.append((*row, row not in twin))
            twin ^= {row}
        order = np.random.default_rng(len(batch)).permutation(len(changes))
        columns = list(zip(*(changes[i] for i in order), strict=True)) or [(), (), (), ()]
        runs.change(*columns)
        assert held(runs) == twin
        used, waste = runs.pool
        assert 0 <= waste <= used <= len(runs.value) and 2 * waste <= used
    columns = list(zip(*items, strict=True)) or [(), (), ()]
    offsets, slots = runs.expand(*columns)
    assert len(offsets) == len(items) + 1 and offsets[-1] == len(slots)
    for i, (code, low, high) in enumerate(items):
        expected = sorted((v, s) for c, v, s in twin if c == code and low <= v <= high)
        assert slots[offsets[i] : offsets[i + 1]].tolist() == [slot for _, slot in expected]


def test_a_pool_is_packed_when_half_of_it_is_waste(seed: int) -> None:
    rng, runs = np.random.default_rng(seed), Runs()
    codes, rows = rng.integers(0, 50, 5_000), np.arange(5_000)
    keys = rng.integers(0, 100, 5_000)
    for part in np.array_split(rows, 40):
        runs.change(codes[part], keys[part], part, np.ones(len(part), dtype=bool))
    before = runs.pool[0]
    for part in np.array_split(rng.permutation(rows)[:4_900], 7):
        runs.change(codes[part], keys[part], part, np.zeros(len(part), dtype=bool))
    assert len(runs) == 100 == len(held(runs))
    assert runs.pool[0] < before / 5


def test_a_removal_of_a_row_that_is_not_there_is_a_mistake() -> None:
    runs = Runs()
    runs.change([1], [5], [0], [True])
    with pytest.raises(AssertionError):
        runs.change([1], [5], [1], [False])
