"""Cascading: rows of many streams, one at a time in their order, climb a tree of window joins.

A row advances its window, meets the window at its side, and what it makes climbs on, join by join.
Nothing is linked before the whole climb has succeeded: when a window is too small the row is taken
back, and its caller makes room and runs on from there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.arrays import Flags
from penstock.kernels.cascade_columns import (
    ASKED,
    BASE,
    BROUGHT,
    BUCKET,
    CAPACITY,
    CHAINED,
    COUNTER,
    FIELDS,
    FOLLOWING,
    FRESH,
    FRESH_ASKED,
    FRESH_MADE,
    FRESH_PASSED,
    HASHED,
    HEAD,
    IDS,
    KIND,
    MADE,
    NODE_WORDS,
    PARENT,
    PART_WORDS,
    PASSED,
    RANGE,
    ROWS,
    SEQUENCE,
    SHIFT,
    SINGLE,
    SIZE,
    STRIDE,
    SWEPT,
    TABLE_KIND,
    TERM,
    TERMS,
    TIME,
    USED,
    WIDTH,
    WORD,
)  # fmt: skip
from penstock.kernels.cascade_pools import composites_link, pool_sweep, terms_keep
from penstock.kernels.cascade_walks import Memory, side_walk, word_bucket, words_write
from penstock.kernels.compilation import kernel

Leaves = npt.NDArray[np.int32]

DONE = -1


@kernel
def times_expire(memory: Memory, first: int, leaves: int, now: int) -> None:
    """Advance the heads of all range windows to an instant."""
    for leaf in range(first, first + leaves * NODE_WORDS, NODE_WORDS):
        if memory[leaf + KIND] == RANGE:
            head, following = memory[memory[leaf + HEAD]], memory[leaf + FOLLOWING]
            base, stride = memory[leaf + BASE], memory[leaf + STRIDE]
            mask, size = memory[leaf + CAPACITY] - 1, np.uint64(memory[leaf + SIZE])
            while head < following:
                time = memory[base + (head & mask) * stride + TIME]
                if np.uint64(now) - np.uint64(time) < size:
                    break
                head += 1
            memory[memory[leaf + HEAD]] = head


@kernel
def rows_expire(memory: Memory, leaf: int) -> None:
    """Advance the head of a window of rows past those that have been counted out."""
    head, following = memory[memory[leaf + HEAD]], memory[leaf + FOLLOWING]
    base, stride, mask = memory[leaf + BASE], memory[leaf + STRIDE], memory[leaf + CAPACITY] - 1
    last = memory[leaf + COUNTER] - memory[leaf + SIZE]
    while head < following and memory[base + (head & mask) * stride + SEQUENCE] <= last:
        head += 1
    memory[memory[leaf + HEAD]] = head


@kernel
def row_climb(memory: Memory, leaf: int, emit: bool) -> int:
    """Let the row in the place SINGLE climb as far as it makes composites.

    Returns
    -------
    int
        The join whose pool was too small, which then says in FRESH how much room it needs; or -1.
    """
    node, first, count = leaf, SINGLE, 1
    full = DONE
    while count > 0 and memory[node + PARENT] != 0:
        words_write(memory, node, first, count)
        above = memory[node + PARENT]
        used = memory[above + USED]
        until = used
        if emit or memory[above + PARENT] != 0:
            until = side_walk(memory, node, first, count)
        memory[above + FRESH_MADE] = until - used
        if until > memory[above + CAPACITY]:
            full, until = above, used
        elif memory[above + TERMS] > 0:
            until = terms_keep(memory, above, used, until)
        node, count = above, until - used
        first = memory[node + BASE] + used * memory[node + WIDTH]
        memory[node + FRESH] = count
    return full


@kernel
def climb_commit(memory: Memory, leaf: int) -> None:
    """Put what a climb made into the windows, and sweep those that have grown twofold."""
    node, count = leaf, 1
    while count > 0 and memory[node + PARENT] != 0:
        below, node = node, memory[node + PARENT]
        count, used = memory[node + FRESH], memory[node + USED]
        memory[node + MADE] += memory[node + FRESH_MADE]
        memory[below + BROUGHT] += memory[node + FRESH_MADE]
        term = memory[node + TERM]
        for part in range(term, term + memory[node + TERMS] * PART_WORDS, PART_WORDS):
            memory[part + ASKED] += memory[part + FRESH_ASKED]
            memory[part + PASSED] += memory[part + FRESH_PASSED]
            memory[part + FRESH_ASKED] = 0
            memory[part + FRESH_PASSED] = 0
        memory[node + USED] = used + count
        if count > 0 and memory[node + PARENT] != 0:
            if used + count > memory[node + SWEPT]:
                pool_sweep(memory, node)
            elif memory[node + HASHED] != 0:
                composites_link(memory, node, used)


@kernel
def events_run(
    memory: Memory, nodes: int, heads: int, leaves: Leaves, times: Memory, counts: Flags,
    stored: Flags, fields: Memory, places: Memory, first: int, now: int, emit: bool,
) -> tuple[int, int]:  # fmt: skip
    """Run events from number `first` on.

    Parameters
    ----------
    nodes, heads : int
        Where the leaves begin, and how many they are.
    leaves : array
        For every event which leaf, counted from 0.
    fields, places : array
        The fields of rows that are stored, and for every leaf where its next row's begin.

    Returns
    -------
    tuple[int, int]
        How many events have been run, and the node that needs more room, -1 if none does.
    """
    done, full = len(leaves), DONE
    for i in range(first, len(leaves)):
        which, time = leaves[i], times[i]
        leaf = nodes + which * NODE_WORDS
        if time != now:
            now = time
            times_expire(memory, nodes, heads, now)
        kind = memory[leaf + KIND]
        if counts[i]:
            memory[leaf + COUNTER] += 1
            if kind == ROWS:
                rows_expire(memory, leaf)
        if not stored[i]:
            continue
        number, capacity = memory[leaf + FOLLOWING], memory[leaf + CAPACITY]
        full = leaf
        if number - memory[memory[leaf + HEAD]] < capacity:
            stride = memory[leaf + STRIDE]
            row = memory[leaf + BASE] + (number & (capacity - 1)) * stride
            memory[row + TIME] = 1 if kind == TABLE_KIND else time
            memory[row + SEQUENCE] = memory[leaf + COUNTER]
            for k in range(stride - FIELDS):
                memory[row + FIELDS + k] = fields[places[which] + k]
            memory[SINGLE + IDS] = number
            full = row_climb(memory, leaf, emit)
            if full < 0:
                memory[leaf + FOLLOWING] = number + 1
                places[which] += stride - FIELDS
                if memory[leaf + HASHED] != 0:
                    place = word_bucket(memory[SINGLE + WORD], memory[leaf + SHIFT])
                    place += memory[leaf + BUCKET]
                    memory[row + CHAINED] = memory[place]
                    memory[place] = number
                climb_commit(memory, leaf)
        if full >= 0:
            if counts[i]:
                memory[leaf + COUNTER] -= 1
            done = i
            break
    return done, full
