"""What a cache keeps beside its policy: rows, their order, counts and what was learnt, as arrays.

The arrays are a function of what the cache was fed: neither of how much room it has, nor of what
once stood in places that are free. A cache that takes them goes on exactly as the other would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.kernels.bounded_counts import KEY, TOTAL, Counts, counts_fill, counts_make
from penstock.kernels.bounded_histograms import SETTING_WORDS, learning_make
from penstock.kernels.bounded_rows import counts_take, pool_reorder
from penstock.kernels.bounded_slots import (
    AGED_NOW,
    AGED_RATE,
    AGED_UNTIL,
    GROUP_LIST,
    GROUP_RANK,
    GROUPS,
    HELD,
    NONE,
    ORDERED,
    PEAK,
    ROW_GROUP,
    STALE,
    YOUNG,
    Pool,
    groups_hash,
    pool_copy,
    pool_make,
    stream_at,
)
from penstock.kernels.bounded_windows import has_windows
from penstock.kernels.score_lines import lines_make
from penstock.kernels.scores import ScoreTable
from penstock.operators.bounded.policies import (
    AGED,
    COUNTED,
    EXTREMES,
    LASTING,
    LEARNED,
    PROBABLE,
    RANKED,
    RECENT,
    Rule,
)
from penstock.vocabulary.batches import Flags, Ints

Arrays = dict[str, npt.NDArray[Any]]

TABLES = (1, 2, 4, 16)
"""Kernels are compiled for so many tables, of which a cache may use fewer."""
KEYS_PER_ROW = 16
"""Keys that a counting policy remembers, per row of the budget."""
ROOM_MIN = 1 << 10
"""Slots to begin with, if the budget has so many."""
COUNTING = frozenset({COUNTED, PROBABLE, LASTING})
MOVING = frozenset({COUNTED, RECENT})
"""Modes whose groups know their place in the heap."""
HEAPED = MOVING | {RANKED}
"""Modes whose heap decides between equal ranks."""


def _no_table() -> ScoreTable:
    none = np.empty(0, dtype=np.int64)
    return ScoreTable(
        kind=0, cells=np.zeros((1, 1, 1)), keys=none, places=none, times=none, lifetimes=none,
        shares=np.empty(0), first=0.0, width=1.0, state_first=0.0, state_width=1.0, left=0.0,
        right=0.0, slope=0.0, intercept=0.0, follows=0.0, decay=0.0,
    )  # fmt: skip


class CacheMemory:
    """A pool of slots with everything that a rule asks for.

    `windows` are the streams' windows as `kernels.bounding_windows` wants them, `joins` says which
    streams join.
    """

    __slots__ = (
        "_budget", "capacity", "counts", "joins", "learning", "lines", "lives", "pool", "rule",
        "tables", "windows",
    )  # fmt: skip

    def __init__(self, rule: Rule, budget: int, joins: Flags, windows: Ints) -> None:
        self._budget = budget
        self.joins = joins
        self.windows = windows
        self.capacity = min(budget, ROOM_MIN)
        self.pool = self.empty_pool(rule.seed)
        self._follow(rule)
        self.counts = self._no_counts()

    def empty_pool(self, seed: int) -> Pool:
        """Give a pool with all the room there is now."""
        return pool_make(self.capacity, len(self.joins), seed, has_windows(self.windows))

    def _follow(self, rule: Rule) -> None:
        streams = len(self.joins)
        assert not rule.tables or len(rule.tables) == streams
        assert not len(rule.lives) or len(rule.lives) == streams
        self.rule = rule
        settings = rule.settings if len(rule.settings) else np.zeros(SETTING_WORDS)
        self.learning = learning_make(streams, rule.buckets, settings)
        self.lives = rule.lives if len(rule.lives) else np.zeros((streams, 3))
        room = next((room for room in TABLES if room >= streams), streams)
        self.tables = rule.tables + (_no_table(),) * (room - len(rule.tables))
        self.lines = lines_make(self.tables)

    def _no_counts(self) -> Counts:
        keys = self.rule.keys_max or KEYS_PER_ROW * self._budget
        return counts_make(keys if self.rule.mode in COUNTING else 1, len(self.joins))

    def __len__(self) -> int:
        return int(self.pool.meta[HELD])

    def reserve(self, arrivals: int, burst: int) -> None:
        """Make room for arrivals, `burst` of them at most in one tick; nothing else changes."""
        most = self._budget + burst
        wanted = min(most, len(self) + arrivals)
        if wanted > self.capacity:
            self.capacity = max(wanted, min(most, 2 * self.capacity))
            larger = self.empty_pool(0)
            pool_copy(self.pool, larger)
            self.pool = larger

    def replace(
        self, rule: Rule, now: int, seen: tuple[Ints, Ints] | None,
        counted: CacheMemory | None = None,
    ) -> None:  # fmt: skip
        """Go on under another rule; rows stay where they are.

        What keys came how often is kept, or counted anew from the arrivals `seen`, or taken from
        another memory that has `counted`; what was learnt of offsets is not.
        """
        old = self.rule
        self._follow(rule)
        if seen is not None or (rule.mode in COUNTING, rule.keys_max) != (
            old.mode in COUNTING, old.keys_max
        ):  # fmt: skip
            self.counts = self._no_counts()
        if rule.mode in COUNTING and counted is not None and counted.rule.mode in COUNTING:
            self.counts = Counts(*(part.copy() for part in counted.counts))
        elif seen is not None and rule.mode in COUNTING:
            counts_take(self.counts, *seen)
        if not rule.mode == old.mode == EXTREMES:
            self.reorder(now)

    def reorder(self, now: int) -> None:
        """Order rows as the rule wants them."""
        pool_reorder(
            self.pool, self.tables, self.lines, self.counts, self.learning, self.joins,
            self.windows, self.rule.mode, now,
        )  # fmt: skip


def memory_arrays(memory: CacheMemory) -> Arrays:
    """Give all that a cache keeps."""
    pool, mode = memory.pool, memory.rule.mode
    peak, open_groups = int(pool.meta[PEAK]), int(pool.meta[GROUPS])
    rows, ages, marks, groups, places = (part[:peak].copy() for part in pool[:5])
    lists, meta = pool.lists[:, :peak].copy(), pool.meta.copy()
    free = rows[:, ROW_GROUP] == NONE
    rows[free, :ROW_GROUP] = 0
    ages[free] = 0
    groups[lists[GROUP_LIST, open_groups:]] = 0
    # What an earlier policy left is no state.
    marks[free if mode == LEARNED else slice(None)] = 0
    places[lists[GROUP_LIST, open_groups if mode in MOVING else 0 :]] = 0
    if mode != RANKED:
        groups[:, GROUP_RANK] = 0
    heap = pool.heaps[0, : meta[stream_at(0, ORDERED)] if mode in HEAPED else 0].copy()
    young = pool.heaps[1, : meta[YOUNG] if mode == RANKED else 0].copy()
    meta[YOUNG] = len(young)
    # What decides nothing is made anew.
    meta[AGED_UNTIL] = NONE
    for stream in range(len(memory.joins)):
        meta[[stream_at(stream, word) for word in (AGED_NOW, AGED_RATE)]] = 0
        if mode not in HEAPED:
            meta[[stream_at(stream, word) for word in (ORDERED, STALE)]] = 0
    cells = memory.counts.cells[memory.counts.cells[:, TOTAL] > 0]
    return {
        "pool_rows": rows,
        "pool_ages": ages,
        "pool_marks": marks,
        "pool_groups": groups,
        "pool_places": places,
        "pool_lists": lists,
        "pool_heap": heap,
        "pool_young": young,
        "pool_meta": meta,
        "counts_cells": cells[np.argsort(cells[:, KEY])],
        "counts_meta": memory.counts.meta.copy(),
        "learning_buckets": memory.learning.buckets.copy(),
        "learning_ranges": memory.learning.ranges.copy(),
        "learning_lines": memory.learning.lines.copy(),
    }


def memory_restore(memory: CacheMemory, arrays: Arrays) -> None:
    """Let an unused cache of the same budget and policy keep what `memory_arrays` gave."""
    heap, young, lists = (arrays[f"pool_{name}"] for name in ("heap", "young", "lists"))
    memory.capacity = max(memory.capacity, lists.shape[1])
    pool = memory.pool = memory.empty_pool(0)
    for name in ("rows", "ages", "marks", "groups", "places"):
        getattr(pool, name)[: lists.shape[1]] = arrays[f"pool_{name}"]
    pool.lists[:, : lists.shape[1]] = lists
    pool.heaps[0, : len(heap)], pool.heaps[1, : len(young)] = heap, young
    pool.meta[:] = arrays["pool_meta"]
    groups_hash(pool)
    counts_fill(memory.counts, np.ascontiguousarray(arrays["counts_cells"]))
    memory.counts.meta[:] = arrays["counts_meta"]
    for name in ("buckets", "ranges", "lines"):
        getattr(memory.learning, name)[...] = arrays[f"learning_{name}"]
    if memory.rule.mode in (AGED, EXTREMES):
        memory.reorder(0)
