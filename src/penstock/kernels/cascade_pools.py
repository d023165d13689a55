"""Windows of a cascade: linking what is new, sweeping out what is dead, building all anew."""

from __future__ import annotations

from penstock.kernels.cascade_columns import (
    BASE,
    BUCKET,
    CAPACITY,
    CHAINED,
    FIELD,
    FIELDS,
    FOLLOWING,
    FRESH_ASKED,
    FRESH_PASSED,
    HASHED,
    HEAD,
    HIGH,
    IDS,
    KIND,
    LEAF,
    LINK,
    LINKS,
    LOW,
    MEMBERS,
    NEXT,
    NODE_WORDS,
    PART_WORDS,
    POSITION,
    SHIFT,
    SINGLE,
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
from penstock.kernels.cascade_walks import (
    Memory,
    composite_dead,
    field_of,
    side_walk,
    word_bucket,
    words_join,
    words_write,
)  # fmt: skip
from penstock.kernels.compilation import kernel

EMPTY = -1


@kernel
def terms_keep(memory: Memory, node: int, used: int, until: int) -> int:
    """Keep, in place, those of the composites [used, until) for which all terms are true.

    Returns
    -------
    int
        How many composites are in the pool.
    """
    first, width, base = memory[node + TERM], memory[node + WIDTH], memory[node + BASE]
    last = first + memory[node + TERMS] * PART_WORDS
    for term in range(first, last, PART_WORDS):
        memory[term + FRESH_ASKED] = 0
        memory[term + FRESH_PASSED] = 0
    for slot in range(used, until):
        at, fits = base + slot * width, True
        for term in range(first, last, PART_WORDS):
            memory[term + FRESH_ASKED] += 1
            number = memory[at + IDS + memory[term + POSITION]]
            value = field_of(memory, memory[term + LEAF], number, memory[term + FIELD])
            fits = memory[term + LOW] <= value <= memory[term + HIGH]
            if not fits:
                break
            memory[term + FRESH_PASSED] += 1
        if fits:
            for k in range(width):
                memory[base + used * width + k] = memory[at + k]
            used += 1
    return used


@kernel
def composites_link(memory: Memory, node: int, first: int) -> None:
    """Put the composites from slot `first` on into their buckets; their words are written."""
    base, width = memory[node + BASE], memory[node + WIDTH]
    bucket, shift = memory[node + BUCKET], memory[node + SHIFT]
    for slot in range(first, memory[node + USED]):
        at = base + slot * width
        place = bucket + word_bucket(memory[at + WORD], shift)
        memory[at + NEXT] = memory[place]
        memory[place] = slot


@kernel
def buckets_clear(memory: Memory, node: int) -> None:
    """Empty the buckets of a window."""
    first = memory[node + BUCKET]
    for place in range(first, first + (1 << (64 - memory[node + SHIFT]))):
        memory[place] = EMPTY


@kernel
def pool_sweep(memory: Memory, node: int) -> None:
    """Close up where composites are dead, and link all others anew."""
    base, width, used = memory[node + BASE], memory[node + WIDTH], 0
    for slot in range(memory[node + USED]):
        at = base + slot * width
        if not composite_dead(memory, node, at):
            kept = base + used * width
            used += 1
            if kept != at:
                for k in range(width):
                    memory[kept + k] = memory[at + k]
    memory[node + USED] = used
    memory[node + SWEPT] = 2 * used + 64
    if memory[node + HASHED] != 0:
        buckets_clear(memory, node)
        composites_link(memory, node, 0)


@kernel
def leaf_link(memory: Memory, leaf: int) -> None:
    """Put all rows of a leaf into their buckets, oldest first."""
    buckets_clear(memory, leaf)
    link = memory[leaf + LINK]
    for number in range(memory[memory[leaf + HEAD]], memory[leaf + FOLLOWING]):
        slot = number & (memory[leaf + CAPACITY] - 1)
        row = memory[leaf + BASE] + slot * memory[leaf + STRIDE]
        word = memory[row + FIELDS + memory[link + FIELD]]
        for part in range(link + PART_WORDS, link + memory[leaf + LINKS] * PART_WORDS, PART_WORDS):
            word = words_join(word, memory[row + FIELDS + memory[part + FIELD]])
        place = memory[leaf + BUCKET] + word_bucket(word, memory[leaf + SHIFT])
        memory[row + CHAINED] = memory[place]
        memory[place] = number


@kernel
def windows_link(memory: Memory, first: int, root: int) -> None:
    """Sweep and link all windows anew: they have been laid out again."""
    for node in range(first, root, NODE_WORDS):
        if memory[node + MEMBERS] > 1:
            pool_sweep(memory, node)
        elif memory[node + HASHED] != 0:
            leaf_link(memory, node)


@kernel
def node_build(memory: Memory, side: int, node: int) -> int:
    """Make all composites of a join below the root anew, from `side`, whose windows stand.

    Returns
    -------
    int
        How many composites there are. Above the pool's capacity: ask again with more room.
    """
    memory[node + USED] = 0
    if memory[side + MEMBERS] == 1:
        table = memory[side + KIND] == TABLE_KIND
        for number in range(memory[memory[side + HEAD]], memory[side + FOLLOWING]):
            slot = number & (memory[side + CAPACITY] - 1)
            row = memory[side + BASE] + slot * memory[side + STRIDE]
            if not (table and memory[row + TIME] == 0):
                memory[SINGLE + IDS] = number
                words_write(memory, side, SINGLE, 1)
                memory[node + USED] = side_walk(memory, side, SINGLE, 1)
    else:
        memory[node + USED] = side_walk(memory, side, memory[side + BASE], memory[side + USED])
    used: int = memory[node + USED]
    if used > memory[node + CAPACITY]:
        memory[node + USED] = 0
    else:
        used = terms_keep(memory, node, 0, used)
        memory[node + USED] = used
        words_write(memory, node, memory[node + BASE], used)
        pool_sweep(memory, node)
    return used
