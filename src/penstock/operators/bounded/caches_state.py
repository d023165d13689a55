"""What a cache keeps beside its policy: rows, their order, counts and what was learnt, as arrays.

The arrays are a function of what the cache was fed: neither of how much room it has, nor of what
once stood in places that are free. A cache that takes them goes on exactly as the other would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.kernels.bounding import (
    AGED_NOW,
    AGED_RATE,
    AGED_UNTIL,
    GROUP_LIST,
    GROUPS,
    HELD,
    HIGH_PLACE,
    LOW_PLACE,
    NONE,
    ORDERED,
    PEAK,
    ROW_LIST,
    groups_hash,
    pool_copy,
    pool_make,
    stream_at,
)
from penstock.kernels.bounding_counts import KEY, TOTAL, Counts, counts_fill, counts_make
from penstock.kernels.bounding_histograms import SETTING_WORDS, learning_make
from penstock.kernels.bounding_rows import counts_take, pool_reorder
from penstock.kernels.scoring import ScoreTable
from penstock.kernels.scoring_lines import lines_make
from penstock.operators.bounded.models import Ints
from penstock.operators.bounded.policies import (
    AGED,
    COUNTED,
    EXTREMES,
    LASTING,
    PROBABLE,
    RANKED,
    RECENT,
    Rule,
)
from penstock.vocabulary.batches import Flags

Arrays = dict[str, npt.NDArray[Any]]

KEYS_PER_ROW = 16
"""Keys that a counting policy remembers, per row of the budget."""
ROOM_MIN = 1 << 10
"""Slots to begin with, if the budget has so many."""
COUNTING = frozenset({COUNTED, PROBABLE, LASTING})
HEAPED = frozenset({EXTREMES, RANKED, COUNTED, RECENT})
"""Modes whose heaps decide between equal ranks."""


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
        self.pool = pool_make(self.capacity, len(joins), rule.seed)
        self._follow(rule)
        self.counts = self._no_counts()

    def _follow(self, rule: Rule) -> None:
        streams = len(self.joins)
        assert not rule.tables or len(rule.tables) == streams
        assert not len(rule.lives) or len(rule.lives) == streams
        self.rule = rule
        settings = rule.settings if len(rule.settings) else np.zeros(SETTING_WORDS)
        self.learning = learning_make(streams, rule.buckets, settings)
        self.lives = rule.lives if len(rule.lives) else np.zeros((streams, 3))
        self.tables = rule.tables or (_no_table(),) * streams
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
            larger = pool_make(self.capacity, len(self.joins), 0)
            pool_copy(self.pool, larger)
            self.pool = larger

    def replace(self, rule: Rule, now: int, seen: tuple[Ints, Ints] | None) -> None:
        """Go on under another rule; rows stay where they are.

        What keys came how often is kept, or counted anew from the arrivals `seen`; what was learnt
        of offsets is not.
        """
        old = self.rule
        self._follow(rule)
        if seen is not None or (rule.mode in COUNTING, rule.keys_max) != (
            old.mode in COUNTING, old.keys_max
        ):  # fmt: skip
            self.counts = self._no_counts()
        if seen is not None and rule.mode in COUNTING:
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
    peak, held, open_groups = (int(pool.meta[word]) for word in (PEAK, HELD, GROUPS))
    rows, groups = pool.rows[:peak].copy(), pool.groups[:peak].copy()
    rows[rows[held:, ROW_LIST], :ROW_LIST] = 0
    groups[groups[open_groups:, GROUP_LIST], :GROUP_LIST] = 0
    streams = range(len(memory.joins))
    ordered = [int(pool.meta[stream_at(stream, ORDERED)]) for stream in streams]
    heaps = np.zeros((len(pool.heaps), max(ordered, default=0), 2), dtype=np.int64)
    meta = pool.meta.copy()
    if mode in HEAPED:
        if mode != EXTREMES:
            # Only extremes have a second heap; what an earlier policy left of one is no state.
            groups[:, HIGH_PLACE] = 0
        for heap in range(len(heaps) if mode == EXTREMES else 1):
            heaps[heap, : ordered[heap // 2]] = pool.heaps[heap, : ordered[heap // 2]]
    else:
        heaps = heaps[:, :0]
        groups[:, [LOW_PLACE, HIGH_PLACE]] = 0
        meta[[stream_at(stream, ORDERED) for stream in streams]] = 0
    # Bounds decide nothing: they are made anew. An earlier policy may have left some.
    meta[AGED_UNTIL] = NONE
    for stream in streams:
        meta[[stream_at(stream, word) for word in (AGED_NOW, AGED_RATE)]] = 0
    cells = memory.counts.cells[memory.counts.cells[:, TOTAL] > 0]
    return {
        "pool_rows": rows,
        "pool_groups": groups,
        "pool_heaps": heaps,
        "pool_meta": meta,
        "counts_cells": cells[np.argsort(cells[:, KEY])],
        "counts_meta": memory.counts.meta.copy(),
        "learning_buckets": memory.learning.buckets.copy(),
        "learning_ranges": memory.learning.ranges.copy(),
        "learning_lines": memory.learning.lines.copy(),
    }


def memory_restore(memory: CacheMemory, arrays: Arrays) -> None:
    """Let an unused cache of the same budget and policy keep what `memory_arrays` gave."""
    rows, groups, heaps = (arrays[f"pool_{name}"] for name in ("rows", "groups", "heaps"))
    memory.capacity = max(memory.capacity, len(rows))
    pool = memory.pool = pool_make(memory.capacity, len(memory.joins), 0)
    pool.rows[: len(rows)] = rows
    pool.groups[: len(groups)] = groups
    pool.heaps[:, : heaps.shape[1]] = heaps
    pool.meta[:] = arrays["pool_meta"]
    groups_hash(pool)
    counts_fill(memory.counts, np.ascontiguousarray(arrays["counts_cells"]))
    memory.counts.meta[:] = arrays["counts_meta"]
    for name in ("buckets", "ranges", "lines"):
        getattr(memory.learning, name)[...] = arrays[f"learning_{name}"]
    if memory.rule.mode == AGED:
        memory.reorder(0)
