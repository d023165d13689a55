"""Walks: the rows of one side of a join meet the window of the other.

A walk appends what it makes to the pool of the join above, without linking it. When the pool is
full it only counts on, so that its caller can make room and ask again: a walk changes nothing but
the dead composites that it takes out of its way. Helpers have one exit, so that the compiler sees
that nothing is to be counted as held.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.cascade_columns import (
    BACKWARDS,
    BASE,
    BUCKET,
    CANDIDATE,
    CAPACITY,
    CHAINED,
    CONDITIONS,
    EQUAL,
    FIELD,
    FIELDS,
    FOLLOWING,
    GREATER,
    GREATER_EQUAL,
    HASHED,
    HEAD,
    HIGH,
    IDS,
    KIND,
    LEAF,
    LEFT,
    LESS,
    LESS_EQUAL,
    LINK,
    LINKS,
    LOW,
    MEMBERS,
    NEXT,
    OP,
    OWN,
    OWN_FIELD,
    OWN_LEAF,
    OWN_POSITION,
    PARENT,
    PART_WORDS,
    POSITION,
    SHIFT,
    SIBLING,
    STRIDE,
    TABLE,
    TABLE_KIND,
    TABLES,
    TIME,
    UNEQUAL,
    USED,
    WIDTH,
    WORD,
)
from penstock.kernels.compilation import kernel
from penstock.kernels.hash_tables import FINISHER, MULTIPLIER

Memory = npt.NDArray[np.int64]

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1


@kernel
def word_bucket(word: int, shift: int) -> np.int64:
    """Give the bucket of a word: the high bits of a product."""
    bits = np.uint64(word)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(MULTIPLIER)
    return np.int64(bits >> np.uint64(shift))


@kernel
def words_join(word: int, key: int) -> np.int64:
    """Mix one more key into the hash of several."""
    bits = (np.uint64(word) * np.uint64(MULTIPLIER)) ^ np.uint64(key)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(FINISHER)
    bits ^= bits >> np.uint64(31)
    return np.int64(bits * np.uint64(MULTIPLIER))


@kernel
def field_of(memory: Memory, leaf: int, number: int, field: int) -> int:
    """Give a field of a leaf's row."""
    slot = number & (memory[leaf + CAPACITY] - 1)
    value: int = memory[memory[leaf + BASE] + slot * memory[leaf + STRIDE] + FIELDS + field]
    return value


@kernel
def range_of(op: int, own: int, low: int, high: int) -> tuple[bool, int, int]:
    """Give the values that a condition lets a candidate have, given the other side's value.

    Returns
    -------
    tuple[bool, int, int]
        Whether there are any, the lowest, and how many more: up to 2^64 - 1, as a signed number.
        A sum that 64 bits cannot hold is beyond every value. Differences from LOWEST on, or up to
        HIGHEST, have no bound there.
    """
    first, last, some = own, own, True
    if op == LESS:
        some, first, last = own < HIGHEST, own + 1, HIGHEST
    elif op == LESS_EQUAL:
        last = HIGHEST
    elif op == GREATER:
        some, first, last = own > LOWEST, LOWEST, own - 1
    elif op == GREATER_EQUAL:
        first = LOWEST
    elif op == UNEQUAL:
        first, last = own + 1, own - 1
    elif op != EQUAL:
        if op == BACKWARDS:
            first, last = own - high, own - low
            first_off = ((own ^ high) & (own ^ first)) < 0
            last_off = ((own ^ low) & (own ^ last)) < 0
            first_open, last_open = high == HIGHEST, low == LOWEST
        else:
            first, last = own + low, own + high
            first_off = ((own ^ first) & (low ^ first)) < 0
            last_off = ((own ^ last) & (high ^ last)) < 0
            first_open, last_open = low == LOWEST, high == HIGHEST
        some = low <= high
        some = some and not (first_off and own >= 0 and not first_open)
        some = some and not (last_off and own < 0 and not last_open)
        first = LOWEST if first_off or first_open else first
        last = HIGHEST if last_off or last_open else last
    return some, first, last - first


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
def ranges_load(memory: Memory, other: int, at: int) -> bool:
    """Lay out the ranges in which values of candidates of `other` must be, to meet a composite.

    Returns
    -------
    bool
        Whether all ranges have values.
    """
    place, possible, link = OWN, True, memory[other + LINK]
    for part in range(link, link + memory[other + CONDITIONS] * PART_WORDS, PART_WORDS):
        number = memory[at + IDS + memory[part + OWN_POSITION]]
        own = field_of(memory, memory[part + OWN_LEAF], number, memory[part + OWN_FIELD])
        low, high = memory[part + LOW], memory[part + HIGH]
        some, first, more = range_of(memory[part + OP], own, low, high)
        memory[place], memory[place + 1] = first, more
        possible &= some
        place += 2
    return possible


@kernel
def in_range(value: int, first: int, more: int) -> bool:
    """Say whether a value is one of a range."""
    return bool(np.uint64(value) - np.uint64(first) <= np.uint64(more))


@kernel
def row_fits(memory: Memory, leaf: int, row: int) -> bool:
    """Say whether a leaf's row passes all conditions but the first."""
    place, fits, link = OWN + 2, True, memory[leaf + LINK]
    last = link + memory[leaf + CONDITIONS] * PART_WORDS
    for part in range(link + PART_WORDS, last, PART_WORDS):
        value = memory[row + FIELDS + memory[part + FIELD]]
        fits &= in_range(value, memory[place], memory[place + 1])
        place += 2
    return fits


@kernel
def composite_fits(memory: Memory, node: int, at: int) -> bool:
    """Say whether a composite passes all conditions."""
    place, fits, link = OWN, True, memory[node + LINK]
    for part in range(link, link + memory[node + CONDITIONS] * PART_WORDS, PART_WORDS):
        if fits:
            number = memory[at + IDS + memory[part + POSITION]]
            value = field_of(memory, memory[part + LEAF], number, memory[part + FIELD])
            fits = in_range(value, memory[place], memory[place + 1])
            place += 2
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
    used: int = memory[above + USED]
    room, width = memory[above + CAPACITY], memory[above + WIDTH]
    target = memory[above + BASE] + IDS
    head, mask = memory[memory[leaf + HEAD]], memory[leaf + CAPACITY] - 1
    base, stride, members = memory[leaf + BASE], memory[leaf + STRIDE], memory[node + MEMBERS]
    conditions, linked = memory[leaf + CONDITIONS], memory[leaf + LINKS] > 0
    # Without any condition, all values of some word are in range.
    field = FIELDS + memory[memory[leaf + LINK] + FIELD] if conditions > 0 else TIME
    hashed, table = memory[leaf + HASHED] != 0, memory[leaf + KIND] == TABLE_KIND
    simple = conditions == 0 or (conditions == 1 and linked)
    is_left = memory[node + LEFT] != 0
    bucket, shift = memory[leaf + BUCKET], memory[leaf + SHIFT]
    for i in range(count):
        at = first + i * memory[node + WIDTH]
        word = memory[at + WORD]
        low, more = word, 0 if linked else -1
        candidate = memory[leaf + FOLLOWING] - 1
        if hashed:
            candidate = memory[bucket + word_bucket(word, shift)]
        if not simple:
            if not ranges_load(memory, leaf, at):
                continue
            low, more = memory[OWN], memory[OWN + 1]
        while candidate >= head:
            row = base + (candidate & mask) * stride
            if (
                in_range(memory[row + field], low, more)
                and (conditions < 2 or row_fits(memory, leaf, row))
                and not (table and memory[row + TIME] == 0)
            ):
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
    used: int = memory[above + USED]
    room, width = memory[above + CAPACITY], memory[above + WIDTH]
    target, members = memory[above + BASE] + IDS, memory[node + MEMBERS]
    base, other_width = memory[other + BASE], memory[other + WIDTH]
    others, head, tables = memory[other + MEMBERS], memory[other + HEAD], memory[other + TABLES]
    simple = memory[other + CONDITIONS] == 1
    is_left, bucket, shift = memory[node + LEFT] != 0, memory[other + BUCKET], memory[other + SHIFT]
    for i in range(count):
        at = first + i * memory[node + WIDTH]
        word = memory[at + WORD]
        if not simple and not ranges_load(memory, other, at):
            continue
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
    used: int = memory[above + USED]
    room, width = memory[above + CAPACITY], memory[above + WIDTH]
    target, members = memory[above + BASE] + IDS, memory[node + MEMBERS]
    base, other_width = memory[other + BASE], memory[other + WIDTH]
    others, head, tables = memory[other + MEMBERS], memory[other + HEAD], memory[other + TABLES]
    linked = memory[other + LINKS] > 0
    conditions = memory[other + CONDITIONS]
    simple = conditions == 0 or (conditions == 1 and linked)
    is_left = memory[node + LEFT] != 0
    for i in range(count):
        at = first + i * memory[node + WIDTH]
        word = memory[at + WORD]
        if not simple and not ranges_load(memory, other, at):
            continue
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
