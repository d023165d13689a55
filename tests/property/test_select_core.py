"""Select-joins: all strategies find what brute force finds, whatever changes in between."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from penstock.kernels.group_cells import CELL_MIN
from penstock.kernels.group_probes import DESCENTS, PROBES
from penstock.lab.joins.published import Published
from penstock.operators.join.options import Options
from penstock.operators.join.runs import Runs
from penstock.operators.join.select import SelectCore
from penstock.operators.join.select.grouped import Grouped
from penstock.operators.shared.boxes import Boxes
from penstock.vocabulary.batches import Ints, Rows
from tests.oracle.selectjoins import Rectangle, affected

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
INSTANCES = 150


STRATEGIES = ("scan", "selection", "join", "ssi", "hot", "dynamic")


class Life:
    """Queries and rows under random change, and cores that follow them."""

    def __init__(self, rng: np.random.Generator, cores: dict[str, SelectCore]) -> None:
        self.rng, self.cores, self.runs = rng, cores, Runs()
        self.span = int(rng.choice([3, 12, 200]))
        self.codes = int(rng.choice([1, 3, 8]))
        self.wide = int(rng.choice([1, 4, self.span + 1]))
        self.queries: dict[int, Rectangle] = {}
        self.rows: dict[int, tuple[int, int]] = {}

    def key(self) -> int:
        if self.rng.random() < 0.02:
            return int(self.rng.choice([LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST]))
        return int(self.rng.integers(0, self.span))

    def range(self) -> tuple[int, int]:
        low = self.key()
        high = min(low + int(self.rng.integers(0, self.wide)), HIGHEST)
        kind = self.rng.random()
        if kind < 0.03:
            return LOWEST, HIGHEST
        if kind < 0.08:
            return LOWEST, high
        if kind < 0.13:
            return low, HIGHEST
        return (low, high) if kind < 0.98 else (high, low)

    def change_queries(self) -> None:
        drops = [slot for slot in self.queries if self.rng.random() < 0.2]
        for slot in drops:
            del self.queries[slot]
        free = [slot for slot in range(60) if slot not in self.queries]
        size = int(self.rng.integers(0, 1 + min(len(free), int(self.rng.choice([3, 40])))))
        adds = self.rng.choice(free, size, replace=False) if free else np.empty(0, dtype=int)
        added = {int(slot): (*self.range(), *self.range()) for slot in adds}
        self.queries |= added
        columns = np.array(list(added.values()), dtype=np.int64).reshape(-1, 4).T
        for core in self.cores.values():
            core.drop(np.array(drops, dtype=np.int32))
            core.add(np.array(list(added), dtype=np.int32), *columns)

    def change_rows(self) -> None:
        gone = [slot for slot in self.rows if self.rng.random() < 0.3]
        changes = [(*self.rows.pop(slot), slot, False) for slot in gone]
        for slot in range(int(self.rng.choice([0, 5, 80]))):
            if slot not in self.rows and self.rng.random() < 0.5:
                self.rows[slot] = int(self.rng.integers(0, self.codes)), self.key()
                changes.append((*self.rows[slot], slot, True))
        self.runs.change(*(zip(*changes, strict=True) if changes else [()] * 4))

    def compare(self) -> None:
        size = int(self.rng.choice([0, 1, 7, 60]))
        a = np.array([self.key() for _ in range(size)], dtype=np.int64)
        codes = self.rng.integers(-1, self.codes + 2, size).astype(np.int32)
        expected = affected(a, codes, self.rows.values(), self.queries)
        for name, core in self.cores.items():
            tuples, slots = core.identify(a, codes, self.runs)
            found = list(zip(tuples.tolist(), slots.tolist(), strict=True))
            assert len(found) == len(set(found)), name
            assert set(found) == expected, name
            assert core.find(a, codes, self.runs) == len(expected), name
        grouped = self.cores["ssi"].strategy
        assert isinstance(grouped, Grouped)
        if self.rng.random() < 0.3:
            grouped.settle()
            published = Published(grouped.groups, self.runs)
            tuples, slots = published.identify(a, codes)
            assert len(tuples) == len(expected) == published.find(a, codes)
            assert set(zip(tuples.tolist(), slots.tolist(), strict=True)) == expected


@pytest.mark.parametrize("part", range(6))
def test_all_strategies_find_what_brute_force_finds(part: int, seed: int) -> None:
    for instance in range(INSTANCES):
        rng = np.random.default_rng([seed, part, instance])
        options = Options(
            alpha=float(rng.choice([0.02, 0.2, 0.6])),
            scattered=str(rng.choice(["", "scan", "join"])),
            maintainer=str(rng.choice(["lazy-witness", "lazy-count", "refined"])),
        )
        life = Life(rng, {name: SelectCore(name, options) for name in STRATEGIES})
        for _ in range(int(rng.integers(1, 5))):
            if rng.random() < 0.9:
                life.change_queries()
            if rng.random() < 0.9:
                life.change_rows()
            life.compare()


def test_changes_wait_for_a_batch_that_pays_for_building(seed: int) -> None:
    rng = np.random.default_rng(seed)
    core, queries = SelectCore("ssi", threads=1), 5_000
    low = rng.integers(0, 1_000, (2, queries))
    core.add(np.arange(queries), low[0], low[0] + 100, low[1], low[1] + 100)
    runs = Runs()
    runs.change(np.zeros(50), rng.integers(0, 1_200, 50), np.arange(50), np.ones(50))
    a, codes = rng.integers(0, 1_100, 2_000), np.zeros(2_000)
    core.identify(a, codes, runs)
    assert core.counts()["builds"] == 1 and core.counts()["scattered"] == 0
    core.drop([7])
    core.add([queries, 7], [0, 0], [1_000, 1_000], [400, 900], [500, 950])
    core.identify(a[:5], codes[:5], runs)
    assert core.counts()["builds"] == 1 and core.counts()["scattered"] == 2
    for _ in range(20):
        core.identify(a, codes, runs)
    assert core.counts()["builds"] == 2 and core.counts()["scattered"] == 0


class Sized(NamedTuple):
    """A core whose groups are built, with what it is asked."""

    core: SelectCore
    runs: Runs
    a: Ints
    codes: Rows
    queries: dict[int, Rectangle]
    grouped: Grouped


def sized(seed: int, queries: int, rows: int, wide: int) -> Sized:
    """Give 60 tuples of 5 codes; code 4 has no rows."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 10_000, (2, queries))
    bounds = np.stack([low[0], low[0] + wide, low[1], low[1] + 600])
    core, runs = SelectCore("ssi", threads=1), Runs()
    core.add(np.arange(queries), *bounds)
    runs.change(
        rng.integers(0, 4, rows), rng.integers(0, 10_000, rows), np.arange(rows), np.ones(rows)
    )
    a, codes = rng.integers(0, 10_000, 60), np.arange(60, dtype=np.int32) % 5
    assert isinstance(core.strategy, Grouped)
    core.strategy.settle()
    known = {slot: tuple(bounds[:, slot].tolist()) for slot in range(queries)}
    return Sized(core, runs, a, codes, known, core.strategy)


@pytest.mark.parametrize(("queries", "rows", "wide"), [(300, 40, 1_000), (9_000, 4_000, 300)])
def test_groups_cost_one_descent_and_two_probes_each(
    queries: int, rows: int, wide: int, seed: int
) -> None:
    given = sized(seed, queries, rows, wide)
    groups = len(given.grouped.grouping.live())
    published = Published(given.grouped.groups, given.runs)
    found = given.core.find(given.a, given.codes, given.runs)
    assert published.find(given.a, given.codes) == found > 0
    # Nothing else enters: not the number of queries, of rows that join, of selections that accept.
    assert published.work[DESCENTS] == 60 * groups
    assert published.work[PROBES] <= 2 * 60 * groups
    # A batch shares the descents among tuples of one code; four codes have rows.
    counts = given.core.counts()
    assert counts["descents"] == 4 * groups
    assert counts["probes"] <= published.work[PROBES]


def test_a_probe_reads_almost_only_hits(seed: int) -> None:
    for wide in (20, 300, 3_000):
        given = sized(seed, 20_000, 4_000, wide)
        hits = given.core.find(given.a, given.codes, given.runs)
        probes = 2 * 48 * len(given.grouped.grouping.live())
        # A hit may stand in both lists; what is read in vain are ranges that end in the cell.
        assert given.core.counts()["visited"] <= 3 * hits + CELL_MIN * probes


def test_groups_find_what_a_tree_per_group_finds(seed: int) -> None:
    """The published algorithm, with an R-tree per group: two probes, united."""
    given = sized(seed, 2_000, 300, 1_000)
    grouping, runs = given.grouped.grouping, given.runs
    ids = grouping.live()
    trees = {int(group): Boxes(2) for group in ids}
    for group, tree in trees.items():
        slots = np.flatnonzero(grouping.group_of == group).astype(np.int32)
        tree.add(slots, np.array([given.queries[int(slot)] for slot in slots]))
    expected = set()
    for i, (key, code) in enumerate(zip(given.a, given.codes, strict=True)):
        run, probes = runs.run(int(code)), 0
        for group, tree in trees.items():
            point = grouping.points[group]
            at = int(np.searchsorted(run, point, side="right"))
            near = [*run[max(at - 1, 0) : at], *run[at : at + 1]]
            if at > 0 and run[at - 1] == point:
                near = near[:1]
            probes += len(near)
            for value in near:
                expected |= {(i, int(slot)) for slot in tree.stab(np.array([key, value]))}
        assert probes <= 2 * len(ids)
    tuples, slots = given.core.identify(given.a, given.codes, runs)
    assert len(tuples) == len(expected)
    assert set(zip(tuples.tolist(), slots.tolist(), strict=True)) == expected


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_threads_and_full_buffers_change_nothing(strategy: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 1_000, (2, 300))
    rows, tuples = 400, 9_000
    runs = Runs()
    values = rng.integers(0, 1_200, rows)
    runs.change(rng.integers(0, 9, rows), values, np.arange(rows), np.ones(rows))
    a, codes = rng.integers(0, 1_200, tuples), rng.integers(-1, 10, tuples)
    answers = []
    for threads in (1, 2):
        core = SelectCore(strategy, threads=threads)
        core.add(np.arange(300), low[0], low[0] + 500, low[1], low[1] + 90)
        found = core.identify(a, codes, runs)
        answers.append(sorted(zip(*(side.tolist() for side in found), strict=True)))
        assert core.find(a, codes, runs) == len(found[0])
    # More pairs than a buffer holds: kernels stopped and went on.
    assert answers[0] == answers[1] and len(answers[0]) > 1 << 17
    parts = np.array_split(np.arange(tuples), 40)
    core = SelectCore(strategy)
    core.add(np.arange(300), low[0], low[0] + 500, low[1], low[1] + 90)
    small = [core.identify(a[part], codes[part], runs) for part in parts]
    pieces = [
        (int(part[i]), slot)
        for part, (rows_, slots) in zip(parts, small, strict=True)
        for i, slot in zip(rows_.tolist(), slots.tolist(), strict=True)
    ]
    assert sorted(pieces) == answers[0]
