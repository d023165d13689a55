"""Results without a budget, counted exactly for a slice of the keys.

Keys whose hash begins with `level` zero bits are in the slice. Per stream and key it is known how
many rows are active; rows of a stream with a window stand in a ring, oldest first, and leave it
when their window has passed. Each further bit halves the slice, and what was in is nested in what
was in before: a key that stays was always counted.

A key with more rows in a window than a share of what may be remembered would empty the slice. Its
rows are thinned instead: half of them are forgotten by chance, and those left stand for two each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Flags, Ints
from penstock.kernels.bounded_windows import NO_WINDOW
from penstock.kernels.compilation import inlined, kernel, tight
from penstock.kernels.hash_tables import word_hash

LEVEL_MAX = 30
"""No slice is thinner than one key in 2^30, no key than one row: figures stay whole numbers."""
SHARE = 4
"""A key may have one in so many of the entries with each of its streams."""

# Words of a cell: its key, the active rows of each stream that are remembered, and how often they
# were thinned (`shift_at`); a cell without rows is empty.
KEY = 0
COUNT = 1

# Words of a row in a ring.
STAMP = 0
ROW_KEY = 1

# Words of `meta`.
LEVEL = 0
REMEMBERED = 1
SALT = 2
CHANCE = 3
"""How many coins were tossed."""
HEAD = 4
"""Of the first stream's ring; the others' follow, and then all their lengths (`length_at`)."""


class Slice(NamedTuple):
    """What is remembered of the keys in the slice."""

    cells: Ints
    """An open table of a power of two, at most half full."""
    rings: Ints
    """Per stream, stamps and keys of active rows; the length is a power of two."""
    meta: Ints


def power_above(count: int) -> int:
    """Give the least power of two that is not below a count, and not below 8.

    >>> power_above(3), power_above(9)
    (8, 16)
    """
    return max(8, 1 << (count - 1).bit_length())


def slice_make(entries: int, rows: int, salt: int, streams: int) -> Slice:
    """Make an empty slice with room for some entries, of them some rows in each stream's ring."""
    meta = np.zeros(HEAD + 2 * streams, dtype=np.int64)
    meta[SALT] = salt
    return Slice(
        cells=np.zeros((power_above(2 * entries + 2), COUNT + 2 * streams), dtype=np.int64),
        rings=np.zeros((streams, power_above(rows + 1), 2), dtype=np.int64),
        meta=meta,
    )


@inlined
def length_at(rings: Ints, stream: int) -> int:
    """Give the word of `meta` that says how many rows a stream's ring has."""
    return int(HEAD + rings.shape[0] + stream)


@inlined
def shift_at(cells: Ints, stream: int) -> int:
    """Give the word of a cell that says how often a stream's rows were thinned."""
    return int(COUNT + (cells.shape[1] - COUNT) // 2 + stream)


@inlined
def salted_hash(key: int, salt: int) -> np.uint64:
    """Hash a key for the slice; its first bits decide, its last ones find the cell."""
    return word_hash(np.uint64(key) ^ np.uint64(salt))


@inlined
def is_outside(word: np.uint64, level: int) -> bool:
    """Say whether a key with this hash is not in the slice."""
    return level > 0 and (word >> np.uint64(64 - level)) != np.uint64(0)


@inlined
def is_missed(meta: Ints, shift: int) -> bool:
    """Toss coins, once per thinning; say whether any of them is against a row."""
    if shift == 0:
        return False
    meta[CHANCE] += 1
    return is_outside(salted_hash(~meta[CHANCE], meta[SALT]), shift)


@tight
def keys_sliced(keys: Ints, salt: int, level: int, inside: Flags) -> None:
    """Mark the keys that are in a slice."""
    for i in range(len(keys)):
        inside[i] = not is_outside(salted_hash(keys[i], salt), level)


@inlined
def line_copy(lines: Ints, line: int, others: Ints, other: int) -> None:
    """Copy a line word by word: an assignment would first copy it elsewhere."""
    for word in range(lines.shape[1]):
        others[other, word] = lines[line, word]


@inlined
def is_empty(cells: Ints, cell: int) -> bool:
    """Say whether a cell has no rows."""
    for word in range(COUNT, COUNT + (cells.shape[1] - COUNT) // 2):
        if cells[cell, word] != 0:
            return False
    return True


@inlined
def sliced_cell(cells: Ints, key: int, word: np.uint64) -> int:
    """Give the cell of a key, or the empty one where it would stand."""
    mask = np.uint64(len(cells) - 1)
    cell = int(np.int64(word & mask))
    while not is_empty(cells, cell) and cells[cell, KEY] != key:
        cell = int(np.int64(np.uint64(cell + 1) & mask))
    return cell


@tight
def cell_empty(cells: Ints, hole: int, salt: int) -> None:
    """Close the gap that a cell leaves that has just lost its last row."""
    mask = len(cells) - 1
    at = hole
    cells[hole] = 0
    while True:
        at = (at + 1) & mask
        if is_empty(cells, at):
            break
        home = int(np.int64(salted_hash(cells[at, KEY], salt) & np.uint64(mask)))
        if ((at - home) & mask) >= ((at - hole) & mask):
            line_copy(cells, at, cells, hole)
            cells[at] = 0
            hole = at


@tight
def cells_fill(before: Ints, cells: Ints, salt: int, level: int) -> None:
    """Put cells that are in a slice into an empty table."""
    for old in range(len(before)):
        if is_empty(before, old):
            continue
        word = salted_hash(before[old, KEY], salt)
        if not is_outside(word, level):
            line_copy(before, old, cells, sliced_cell(cells, before[old, KEY], word))


@kernel
def slice_copy(part: Slice, larger: Slice) -> None:
    """Fill an empty slice with everything that one remembers."""
    cells_fill(part.cells, larger.cells, part.meta[SALT], 0)
    larger.meta[:] = part.meta
    mask = part.rings.shape[1] - 1
    for stream in range(part.rings.shape[0]):
        for place in range(part.meta[length_at(part.rings, stream)]):
            at = (part.meta[HEAD + stream] + place) & mask
            larger.rings[stream, place] = part.rings[stream, at]
        larger.meta[HEAD + stream] = 0


@tight
def rows_forget(part: Slice, sizes: Ints, nows: Ints, at: int) -> None:
    """Let rows go whose windows have passed when the arrival `at` came."""
    meta, mask = part.meta, part.rings.shape[1] - 1
    for stream in range(part.rings.shape[0]):
        if sizes[stream] == NO_WINDOW:
            continue
        ring = part.rings[stream]
        while meta[length_at(part.rings, stream)] > 0:
            first = meta[HEAD + stream]
            if nows[at, stream] - ring[first, STAMP] < sizes[stream]:
                break
            key = ring[first, ROW_KEY]
            cell = sliced_cell(part.cells, key, salted_hash(key, meta[SALT]))
            part.cells[cell, COUNT + stream] -= 1
            if part.cells[cell, COUNT + stream] == 0:
                part.cells[cell, shift_at(part.cells, stream)] = 0
            if is_empty(part.cells, cell):
                cell_empty(part.cells, cell, meta[SALT])
            meta[HEAD + stream] = (first + 1) & mask
            meta[length_at(part.rings, stream)] -= 1
            meta[REMEMBERED] -= 1


@kernel
def slice_halve(part: Slice, sizes: Ints) -> None:
    """Keep the keys whose hash has one zero bit more at its beginning."""
    meta, mask = part.meta, part.rings.shape[1] - 1
    meta[LEVEL] += 1
    before = part.cells.copy()
    part.cells[:] = 0
    cells_fill(before, part.cells, meta[SALT], meta[LEVEL])
    meta[REMEMBERED] = 0
    for stream in range(part.rings.shape[0]):
        if sizes[stream] == NO_WINDOW:
            for cell in range(len(part.cells)):
                meta[REMEMBERED] += part.cells[cell, COUNT + stream] > 0
            continue
        ring = part.rings[stream]
        at = until = meta[HEAD + stream]
        kept = 0
        for _ in range(meta[length_at(part.rings, stream)]):
            if not is_outside(salted_hash(ring[at, ROW_KEY], meta[SALT]), meta[LEVEL]):
                line_copy(ring, at, ring, until)
                until = (until + 1) & mask
                kept += 1
            at = (at + 1) & mask
        meta[length_at(part.rings, stream)] = kept
        meta[REMEMBERED] += kept


@tight
def key_thin(part: Slice, stream: int, key: int, cell: int) -> None:
    """Forget half of a key's rows of one stream, by chance."""
    meta, mask = part.meta, part.rings.shape[1] - 1
    part.cells[cell, shift_at(part.cells, stream)] += 1
    ring = part.rings[stream]
    at = until = meta[HEAD + stream]
    kept, gone = 0, 0
    for _ in range(meta[length_at(part.rings, stream)]):
        if ring[at, ROW_KEY] == key and is_missed(meta, 1):
            gone += 1
        else:
            line_copy(ring, at, ring, until)
            until = (until + 1) & mask
            kept += 1
        at = (at + 1) & mask
    meta[length_at(part.rings, stream)] = kept
    meta[REMEMBERED] -= gone
    part.cells[cell, COUNT + stream] -= gone


@tight
def has_room(
    part: Slice, sizes: Ints, limit: int, stream: int, key: int, word: np.uint64
) -> bool:  # fmt: skip
    """Make room for a row by thinning its key or halving the slice; say whether it stays in."""
    most = max(limit // SHARE, 1)
    cell = sliced_cell(part.cells, key, word)
    if sizes[stream] == NO_WINDOW and part.cells[cell, COUNT + stream] > 0:
        return True
    if sizes[stream] != NO_WINDOW and part.cells[cell, COUNT + stream] > 0:
        while part.cells[cell, COUNT + stream] >= most:
            if part.cells[cell, shift_at(part.cells, stream)] >= LEVEL_MAX:
                return False
            key_thin(part, stream, key, cell)
        # Where no row is left, all that come are remembered again.
        if part.cells[cell, COUNT + stream] == 0:
            part.cells[cell, shift_at(part.cells, stream)] = 0
        shift = part.cells[cell, shift_at(part.cells, stream)]
        if is_empty(part.cells, cell):
            cell_empty(part.cells, cell, part.meta[SALT])
        if is_missed(part.meta, shift):
            return False
    while part.meta[REMEMBERED] >= limit and part.meta[LEVEL] < LEVEL_MAX:
        slice_halve(part, sizes)
    return not is_outside(word, part.meta[LEVEL]) and part.meta[REMEMBERED] < limit


@tight
def row_remember(
    part: Slice, sizes: Ints, stream: int, key: int, stamp: int, count: int
) -> None:  # fmt: skip
    """Put a row into the slice, or `count` of them if its stream has no window."""
    meta = part.meta
    cell = sliced_cell(part.cells, key, salted_hash(key, meta[SALT]))
    if sizes[stream] != NO_WINDOW:
        at = (meta[HEAD + stream] + meta[length_at(part.rings, stream)]) & (part.rings.shape[1] - 1)
        part.rings[stream, at, STAMP] = stamp
        part.rings[stream, at, ROW_KEY] = key
        meta[length_at(part.rings, stream)] += 1
        meta[REMEMBERED] += 1
    elif part.cells[cell, COUNT + stream] == 0:
        meta[REMEMBERED] += 1
    part.cells[cell, KEY] = key
    part.cells[cell, COUNT + stream] += count


@tight
def slice_fill(
    part: Slice, sizes: Ints, counted: Ints, rows: Ints, ends: Ints, thinned: Ints
) -> None:  # fmt: skip
    """Fill an empty slice with cells of streams without windows, and rows of those with one.

    The rows of stream s end before place `ends[s]`, where those of the next begin.
    """
    begin = 0
    for stream in range(part.rings.shape[0]):
        for line in range(len(counted)):
            count = counted[line, COUNT + stream]
            if count > 0:
                row_remember(part, sizes, stream, counted[line, KEY], 0, count)
        for row in range(begin, ends[stream]):
            row_remember(part, sizes, stream, rows[row, ROW_KEY], rows[row, STAMP], 1)
        begin = ends[stream]
    for line in range(len(thinned)):
        key = thinned[line, KEY]
        cell = sliced_cell(part.cells, key, salted_hash(key, part.meta[SALT]))
        for stream in range(part.rings.shape[0]):
            word = shift_at(part.cells, stream)
            part.cells[cell, word] = thinned[line, word]


@tight
def recall_feed(
    part: Slice, sizes: Ints, joins: Flags, limit: int, streams: Ints, keys: Ints, stamps: Ints,
    nows: Ints, found: Ints, owned: Flags, made: Ints, there: Ints,
) -> None:  # fmt: skip
    """Feed arrivals in their order; add up what was found and what there was, both weighted.

    `found[i, p]` are the results of an arrival with rows of stream p; `made[s, p]` and
    `there[s, p]` are those of arrivals of stream s with rows of stream p.

    An arrival counts with the weight that the slice has when it comes; only then may the slice be
    halved, or its key thinned, to make room for it. So a key counts if its hash lies in a slice
    that the other keys decide upon, and a row if all coins fell for it: the expected weight of both
    is 1 at every moment.
    """
    salt = part.meta[SALT]
    for i in range(len(keys)):
        if not owned[i]:
            continue
        key, stream = keys[i], streams[i]
        level = part.meta[LEVEL]
        word = salted_hash(key, salt)
        if is_outside(word, level):
            continue
        rows_forget(part, sizes, nows, i)
        cell = sliced_cell(part.cells, key, word)
        for partner in range(len(sizes)):
            if joins[stream, partner]:
                weight = level + part.cells[cell, shift_at(part.cells, partner)]
                made[stream, partner] += found[i, partner] << level
                there[stream, partner] += part.cells[cell, COUNT + partner] << weight
        if has_room(part, sizes, limit, stream, key, word):
            row_remember(part, sizes, stream, key, stamps[i], 1)
    if len(keys):
        rows_forget(part, sizes, nows, len(keys) - 1)
