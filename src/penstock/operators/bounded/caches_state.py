"""What a cache keeps beside its policy: rows, their order, counts and what was learnt, as arrays.

The arrays are a function of what the cache was fed: neither of how much room it has, nor of what
once stood in places that are free. A cache that takes them goes on exactly as the other would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.kernels import bounded_slots as slot
from penstock.kernels import bounded_victims as way
from penstock.kernels.bounded_counts import KEY, TOTAL, Counts, counts_fill, counts_make
from penstock.kernels.bounded_feeds import AT, CURSOR_WORDS, NEEDED, USED, joins_feed
from penstock.kernels.bounded_histograms import SETTING_WORDS, learning_make
from penstock.kernels.bounded_rows import counts_take, pool_reorder
from penstock.kernels.bounded_windows import has_windows
from penstock.kernels.score_lines import lines_make
from penstock.kernels.scores import ScoreTable
from penstock.operators.bounded.policies import Candidates, Rule
from penstock.operators.bounded.policies_plain import WENT
from penstock.vocabulary.batches import Flags, Ints

Arrays = dict[str, npt.NDArray[Any]]

TABLES = (1, 2, 4, 16)
"""Kernels are compiled for so many tables, of which a cache may use fewer."""
KEYS_PER_ROW = 16
"""Keys that a counting policy remembers, per row of the budget."""
ROOM_MIN = 1 << 10
"""Slots to begin with, if the budget has so many."""
COUNTING = frozenset({way.COUNTED, way.PROBABLE, way.LASTING})
MOVING = frozenset({way.COUNTED, way.RECENT})
"""Modes whose groups know their place in the heap."""
HEAPED = MOVING | {way.RANKED}
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

    def __init__(self, rule: Rule, budget: int, joins: Flags, windows: Ints) -> None:
        self._budget = budget
        self.joins = joins
        self.windows = windows
        self.capacity = min(budget, ROOM_MIN)
        self.pool = self.empty_pool(rule.seed)
        self._follow(rule)
        self.counts = self._no_counts()

    def empty_pool(self, seed: int) -> slot.Pool:
        """Give a pool with all the room there is now."""
        return slot.pool_make(self.capacity, len(self.joins), seed, has_windows(self.windows))

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
        return int(self.pool.meta[slot.HELD])

    def reserve(self, arrivals: int, burst: int) -> None:
        """Make room for arrivals, `burst` of them at most in one tick; nothing else changes."""
        most = self._budget + burst
        wanted = min(most, len(self) + arrivals)
        if wanted > self.capacity:
            self.capacity = max(wanted, min(most, 2 * self.capacity))
            larger = self.empty_pool(0)
            slot.pool_copy(self.pool, larger)
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
        if not rule.mode == old.mode == way.EXTREMES:
            self.reorder(now)

    def reorder(self, now: int) -> None:
        """Order rows as the rule wants them."""
        pool_reorder(
            self.pool, self.tables, self.lines, self.counts, self.learning, self.joins,
            self.windows, self.rule.mode, now,
        )  # fmt: skip

    def feed(
        self, streams: Ints, keys: Ints, ticks: Ints, stamps: Ints, nows: Ints, owned: Flags,
        first: int, burst: int, made: Ints, together: Ints, held: Ints, found: Ints, *, emit: bool,
    ) -> Ints:  # fmt: skip
        """Feed arrivals to compiled code; fill the counts and give the pairs."""
        self.reserve(len(keys), burst)
        pairs = np.empty((len(keys) if emit else 0, 2), dtype=np.int64)
        cursor = np.zeros(CURSOR_WORDS, dtype=np.int64)
        while True:
            joins_feed(
                self.pool, self.tables, self.lines, self.counts, self.learning, self.lives,
                self.joins, self.windows, streams, keys, ticks, stamps, nows, owned, first,
                self.rule.mode, self.rule.windowed, self._budget, made, together, held, found, emit,
                pairs, cursor,
            )  # fmt: skip
            used = int(cursor[USED])
            if cursor[AT] == len(keys):
                break
            room = np.empty((2 * used + int(cursor[NEEDED]), 2), dtype=np.int64)
            room[:used] = pairs[:used]
            pairs = room
        return pairs[:used].copy()

    def passed(self, now: int) -> list[int]:
        """Give by how much every stream's measure, and the tick, grew since the first arrival."""
        meta, at = self.pool.meta, slot.stream_at
        grown = [
            int(meta[at(s, slot.NOW)] - meta[at(s, slot.ORIGIN)]) for s in range(len(self.joins))
        ]
        return [*grown, now - int(meta[slot.ORIGIN_TICK])]

    @property
    def held(self) -> tuple[int, ...]:
        """The rows of every stream."""
        streams = range(len(self.joins))
        return tuple(int(self.pool.meta[slot.stream_at(s, slot.STREAM_ROWS)]) for s in streams)

    @property
    def candidates(self) -> Candidates:
        """The rows held, oldest first."""
        rows = self.pool.rows[: self.pool.meta[slot.PEAK]]
        rows = rows[rows[:, slot.ROW_GROUP] != slot.NONE]
        rows = rows[np.argsort(rows[:, slot.ROW_NUMBER])]
        groups = self.pool.groups[rows[:, slot.ROW_GROUP]]
        return Candidates(
            streams=groups[:, slot.GROUP_STREAM],
            keys=groups[:, slot.GROUP_KEY],
            born=rows[:, slot.ROW_BORN],
            numbers=rows[:, slot.ROW_NUMBER],
        )

    @property
    def went(self) -> dict[str, int]:
        """How many rows left, and how."""
        return {name: int(self.pool.meta[getattr(slot, name.upper())]) for name in WENT}

    def rejoin(self, joins: Flags, now: int) -> None:
        """Let other streams join each other; rows stay where they are."""
        self.joins = joins
        self.reorder(now)

    def arrays(self) -> Arrays:
        """Give all that a cache keeps."""
        pool, mode = self.pool, self.rule.mode
        peak, open_groups = int(pool.meta[slot.PEAK]), int(pool.meta[slot.GROUPS])
        rows, ages, marks, groups, places = (part[:peak].copy() for part in pool[:5])
        lists, meta = pool.lists[:, :peak].copy(), pool.meta.copy()
        free = rows[:, slot.ROW_GROUP] == slot.NONE
        rows[free, : slot.ROW_GROUP] = 0
        ages[free] = 0
        groups[lists[slot.GROUP_LIST, open_groups:]] = 0
        # What an earlier policy left is no state.
        marks[free if mode == way.LEARNED else slice(None)] = 0
        places[lists[slot.GROUP_LIST, open_groups if mode in MOVING else 0 :]] = 0
        if mode != way.RANKED:
            groups[:, slot.GROUP_RANK] = 0
        heap = pool.heaps[
            0, : meta[slot.stream_at(0, slot.ORDERED)] if mode in HEAPED else 0
        ].copy()
        young = pool.heaps[1, : meta[slot.YOUNG] if mode == way.RANKED else 0].copy()
        meta[slot.YOUNG] = len(young)
        # What decides nothing is made anew.
        meta[slot.AGED_UNTIL] = slot.NONE
        for stream in range(len(self.joins)):
            meta[[slot.stream_at(stream, word) for word in (slot.AGED_NOW, slot.AGED_RATE)]] = 0
            if mode not in HEAPED:
                meta[[slot.stream_at(stream, word) for word in (slot.ORDERED, slot.STALE)]] = 0
        cells = self.counts.cells[self.counts.cells[:, TOTAL] > 0]
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
            "counts_meta": self.counts.meta.copy(),
            "learning_buckets": self.learning.buckets.copy(),
            "learning_ranges": self.learning.ranges.copy(),
            "learning_lines": self.learning.lines.copy(),
        }

    def restore(self, arrays: Arrays) -> None:
        """Let an unused cache of the same budget and policy keep what `arrays` gave."""
        heap, young, lists = (arrays[f"pool_{name}"] for name in ("heap", "young", "lists"))
        self.capacity = max(self.capacity, lists.shape[1])
        pool = self.pool = self.empty_pool(0)
        for name in ("rows", "ages", "marks", "groups", "places"):
            getattr(pool, name)[: lists.shape[1]] = arrays[f"pool_{name}"]
        pool.lists[:, : lists.shape[1]] = lists
        pool.heaps[0, : len(heap)], pool.heaps[1, : len(young)] = heap, young
        pool.meta[:] = arrays["pool_meta"]
        slot.groups_hash(pool)
        counts_fill(self.counts, np.ascontiguousarray(arrays["counts_cells"]))
        self.counts.meta[:] = arrays["counts_meta"]
        for name in ("buckets", "ranges", "lines"):
            getattr(self.learning, name)[...] = arrays[f"learning_{name}"]
        if self.rule.mode in (way.AGED, way.EXTREMES):
            self.reorder(0)
