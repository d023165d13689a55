"""Walks: the rows of one side of a join meet the window of the other.

A walk appends what it makes to the pool of the join above, without linking it. When the pool is
full it only counts on, so that its caller can make room and ask again: a walk changes nothing but
the dead composites that it takes out of its way. Helpers have one exit, so that the compiler sees
that nothing is to be counted as held.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.cascading_columns import (
    BACKWARDS, BASE, BUCKET, CANDIDATE, CAPACITY, CHAINED, FIELD, FIELDS, FOLLOWING, GREATER,
    GREATER_EQUAL, HASHED, HEAD, HIGH, IDS, KIND, LEAF, LEFT, LESS, LESS_EQUAL, LINK, LINKS, LOW,
    MEMBERS, NEXT, OP, OWN, OWN_FIELD, OWN_LEAF, OWN_POSITION, PARENT, PART_WORDS, POSITION, SHIFT,
    SIBLING, STRIDE, TABLE, TABLE_KIND, TABLES, TEST, TESTS, TIME, UNEQUAL, USED, WIDTH, WORD,
)  # fmt: skip
from penstock.kernels.compilation import kernel
from penstock.kernels.hashing import FINISHER, MULTIPLIER

Memory = npt.NDArray[np.int64]


@kernel
def word_bucket(word: int, shift: int) -> int:
    """Give the bucket of a word: the high bits of a product."""
    bits = np.uint64(word)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(MULTIPLIER)
    return np.int64(bits >> np.uint64(shift))


@kernel
def words_join(word: int, key: int) -> int:
    """Mix one more key into the hash of several."""
    bits = (np.uint64(word) ^ np.uint64(key)) * np.uint64(FINISHER)
    bits ^= bits >> np.uint64(31)
    return np.int64(bits * np.uint64(MULTIPLIER))


@kernel
def field_of(memory: Memory, leaf: int, number: int, field: int) -> int:
    """Give a field of a leaf's row."""
    slot = number & (memory[leaf + CAPACITY] - 1)
    return memory[memory[leaf + BASE] + slot * memory[leaf + STRIDE] + FIELDS + field]


@kernel
def test_holds(op: int, own: int, other: int, low: int, high: int) -> bool:
    """Compare two values; a difference that no 64 bits can hold is beyond every bound."""
    if op == LESS:
        holds = own < other
    elif op == LESS_EQUAL:
        holds = own <= other
    elif op == UNEQUAL:
        holds = own != other
    elif op == GREATER:
        holds = own > other
    elif op == GREATER_EQUAL:
        holds = own >= other
    else:
        if op == BACKWARDS:
            own, other = other, own
        apart = other - own
        holds = ((other ^ own) & (other ^ apart)) >= 0 and low <= apart and apart <= high
    return holds


@kernel
def words_write(memory: Memory, node: int, first: int, count: int) -> None:
    """Write the words of composites from place `first` on: the key, or the hash of several."""
    links, width, link = memory[node + LINKS], memory[node + WIDTH], memory[node + LINK]
    if links > 0:
        leaf, field, ids = memory[link + LEAF], memory[link + FIELD], IDS + memory[link + POSITION]
        for i in range(count):
            at = first + i * width
            memory[at + WORD] = field_of(memory, leaf, memory[at + ids], field)
    for part in range(link + PART_WORDS, link + links * PART_WORDS, PART_WORDS):
        leaf, field, ids = memory[part + LEAF], memory[part + FIELD], IDS + memory[part + POSITION]
        for i in range(count):
            at = first + i * width
            key = field_of(memory, leaf, memory[at + ids], field)
            memory[at + WORD] = words_join(memory[at + WORD], key)


@kernel
def own_load(memory: Memory, node: int, other: int, at: int) -> None:
    """Lay out what links and tests read of a composite of `node`, for candidates of `other`."""
    place = OWN
    link, test = memory[node + LINK], memory[other + TEST]
    for part in range(link, link + memory[node + LINKS] * PART_WORDS, PART_WORDS):
        number = memory[at + IDS + memory[part + POSITION]]
        memory[place] = field_of(memory, memory[part + LEAF], number, memory[part + FIELD])
        place += 1
    for part in range(test, test + memory[other + TESTS] * PART_WORDS, PART_WORDS):
        number = memory[at + IDS + memory[part + OWN_POSITION]]
        memory[place] = field_of(memory, memory[part + OWN_LEAF], number, memory[part + OWN_FIELD])
        place += 1


@kernel
def row_fits(memory: Memory, leaf: int, row: int) -> bool:
    """Say whether a leaf's row passes all links and tests, against what `own_load` laid out."""
    place, fits = OWN, True
    link, test = memory[leaf + LINK], memory[leaf + TEST]
    for part in range(link, link + memory[leaf + LINKS] * PART_WORDS, PART_WORDS):
        fits &= memory[row + FIELDS + memory[part + FIELD]] == memory[place]
        place += 1
    if fits:
        for part in range(test, test + memory[leaf + TESTS] * PART_WORDS, PART_WORDS):
            value = memory[row + FIELDS + memory[part + FIELD]]
            low, high = memory[part + LOW], memory[part + HIGH]
            fits &= test_holds(memory[part + OP], memory[place], value, low, high)
            place += 1
    return fits


@kernel
def composite_fits(memory: Memory, node: int, at: int) -> bool:
    """Say whether a composite passes all links and tests, against what `own_load` laid out."""
    place, fits = OWN, True
    link, test = memory[node + LINK], memory[node + TEST]
    for part in range(link, link + memory[node + LINKS] * PART_WORDS, PART_WORDS):
        number = memory[at + IDS + memory[part + POSITION]]
        key = field_of(memory, memory[part + LEAF], number, memory[part + FIELD])
        fits &= key == memory[place]
        place += 1
    if fits:
        for part in range(test, test + memory[node + TESTS] * PART_WORDS, PART_WORDS):
            number = memory[at + IDS + memory[part + POSITION]]
            value = field_of(memory, memory[part + LEAF], number, memory[part + FIELD])
            low, high = memory[part + LOW], memory[part + HIGH]
            fits &= test_holds(memory[part + OP], memory[place], value, low, high)
            place += 1
    return fits


@kernel
def composite_dead(memory: Memory, node: int, at: int) -> bool:
    """Say whether a row of a composite has expired or been deleted."""
    head, dead = memory[node + HEAD], False
    for i in range(memory[node + MEMBERS]):
        dead |= memory[at + IDS + i] < memory[head + i]
    table = memory[node + TABLE]
    for part in range(table, table + memory[node + TABLES] * PART_WORDS, PART_WORDS):
        leaf = memory[part + LEAF]
        slot = memory[at + IDS + memory[part + POSITION]]
        dead |= memory[memory[leaf + BASE] + slot * memory[leaf + STRIDE] + TIME] == 0
    return dead


@kernel
def pair_write(
    memory: Memory, at: int, left: int, left_count: int, right: int, right_count: int
) -> None:
    """Write the row numbers of a composite: those of its left part, then those of its right."""
    memory[at] = memory[left]
    for i in range(1, left_count):
        memory[at + i] = memory[left + i]
    at += left_count
    memory[at] = memory[right]
    for i in range(1, right_count):
        memory[at + i] = memory[right + i]


@kernel
def leaf_walk(memory: Memory, node: int, first: int, count: int) -> int:
    """Let composites of `node` meet the leaf at its side.

    Returns
    -------
    int
        How many composites are, or should be, in the pool above.
    """
    leaf, above = memory[node + SIBLING], memory[node + PARENT]
    used, room, width = memory[above + USED], memory[above + CAPACITY], memory[above + WIDTH]
    target = memory[above + BASE] + IDS
    head, mask = memory[memory[leaf + HEAD]], memory[leaf + CAPACITY] - 1
    base, stride, members = memory[leaf + BASE], memory[leaf + STRIDE], memory[node + MEMBERS]
    links, tests = memory[leaf + LINKS], memory[leaf + TESTS]
    field = FIELDS + memory[memory[leaf + LINK] + FIELD]
    hashed, table = memory[leaf + HASHED] != 0, memory[leaf + KIND] == TABLE_KIND
    simple, is_left = links == 1 and tests == 0, memory[node + LEFT] != 0
    bucket, shift, newest = (
        memory[leaf + BUCKET],
        memory[leaf + SHIFT],
        memory[leaf + FOLLOWING] - 1,
    )
    for i in range(count):
        at = first + i * memory[node + WIDTH]
        word = memory[at + WORD]
        if not simple:
            own_load(memory, node, leaf, at)
        candidate = memory[bucket + word_bucket(word, shift)] if hashed else newest
        while candidate >= head:
            row = base + (candidate & mask) * stride
            fits = memory[row + field] == word if simple else row_fits(memory, leaf, row)
            if fits and not (table and memory[row + TIME] == 0):
                if used < room:
                    memory[CANDIDATE] = candidate
                    new = target + used * width
                    if is_left:
                        pair_write(memory, new, at + IDS, members, CANDIDATE, 1)
                    else:
                        pair_write(memory, new, CANDIDATE, 1, at + IDS, members)
                used += 1
            candidate = memory[row + CHAINED] if hashed else candidate - 1
    return used


@kernel
def pool_walk(memory: Memory, node: int, first: int, count: int) -> int:
    """Let composites of `node` meet those of the join at its side, through its buckets.

    Returns
    -------
    int
        How many composites are, or should be, in the pool above.
    """
    other, above = memory[node + SIBLING], memory[node + PARENT]
    used, room, width = memory[above + USED], memory[above + CAPACITY], memory[above + WIDTH]
    target, members = memory[above + BASE] + IDS, memory[node + MEMBERS]
    base, other_width = memory[other + BASE], memory[other + WIDTH]
    others, head, tables = memory[other + MEMBERS], memory[other + HEAD], memory[other + TABLES]
    simple = memory[other + LINKS] == 1 and memory[other + TESTS] == 0
    is_left, bucket, shift = memory[node + LEFT] != 0, memory[other + BUCKET], memory[other + SHIFT]
    for i in range(count):
        at = first + i * memory[node + WIDTH]
        word = memory[at + WORD]
        if not simple:
            own_load(memory, node, other, at)
        back = bucket + word_bucket(word, shift)
        slot = memory[back]
        while slot >= 0:
            met = base + slot * other_width
            slot = memory[met + NEXT]
            dead = memory[met + IDS] < memory[head]
            for k in range(1, others):
                dead |= memory[met + IDS + k] < memory[head + k]
            if dead or (tables > 0 and composite_dead(memory, other, met)):
                memory[back] = slot
                continue
            back = met + NEXT
            if memory[met + WORD] == word and (simple or composite_fits(memory, other, met)):
                if used < room:
                    new = target + used * width
                    if is_left:
                        pair_write(memory, new, at + IDS, members, met + IDS, others)
                    else:
                        pair_write(memory, new, met + IDS, others, at + IDS, members)
                used += 1
    return used


@kernel
def pool_scan(memory: Memory, node: int, first: int, count: int) -> int:
    """Let composites of `node` meet all those of the join at its side; close up where some died.

    Returns
    -------
    int
        How many composites are, or should be, in the pool above.
    """
    other, above = memory[node + SIBLING], memory[node + PARENT]
    used, room, width = memory[above + USED], memory[above + CAPACITY], memory[above + WIDTH]
    target, members = memory[above + BASE] + IDS, memory[node + MEMBERS]
    base, other_width = memory[other + BASE], memory[other + WIDTH]
    others, head, tables = memory[other + MEMBERS], memory[other + HEAD], memory[other + TABLES]
    linked = memory[other + LINKS] > 0
    simple = memory[other + LINKS] <= 1 and memory[other + TESTS] == 0
    is_left = memory[node + LEFT] != 0
    for i in range(count):
        at = first + i * memory[node + WIDTH]
        word = memory[at + WORD]
        if not simple:
            own_load(memory, node, other, at)
        kept = base
        for slot in range(memory[other + USED]):
            seen = base + slot * other_width
            met = seen
            if i == 0:
                dead = memory[seen + IDS] < memory[head]
                for k in range(1, others):
                    dead |= memory[seen + IDS + k] < memory[head + k]
                if dead or (tables > 0 and composite_dead(memory, other, seen)):
                    continue
                met = kept
                kept += other_width
                if met != seen:
                    for k in range(other_width):
                        memory[met + k] = memory[seen + k]
            if linked and memory[met + WORD] != word:
                continue
            if simple or composite_fits(memory, other, met):
                if used < room:
                    new = target + used * width
                    if is_left:
                        pair_write(memory, new, at + IDS, members, met + IDS, others)
                    else:
                        pair_write(memory, new, met + IDS, others, at + IDS, members)
                used += 1
        if i == 0:
            memory[other + USED] = (kept - base) // other_width
    return used


@kernel
def side_walk(memory: Memory, node: int, first: int, count: int) -> int:
    """Let composites of `node`, from place `first` on, meet the other side of the join above."""
    other = memory[node + SIBLING]
    if memory[other + MEMBERS] == 1:
        used = leaf_walk(memory, node, first, count)
    elif memory[other + HASHED] != 0:
        used = pool_walk(memory, node, first, count)
    else:
        used = pool_scan(memory, node, first, count)
    return used
