"""Score tables as plain lines of numbers, for the loops that score at every tick.

Indexing a tuple of tables copies a table and counts references of all its arrays, which costs more
than the look-up. So the tables of one dimension are laid out one behind the other, once per feed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import inlined, kernel
from penstock.kernels.prefetch import line_fetch
from penstock.kernels.scores import KEYED, LINEAR, STEPS, ScoreTable, key_score, offset_score

(KIND, BEGIN, COUNT, FIRST, WIDTH, LEFT, RIGHT, SLOPE, INTERCEPT, FOLLOWS, DECAY, WORDS) = range(12)


class Lines(NamedTuple):
    """The tables of all partners that are LINEAR, STEPS or KEYED; of others there is nothing."""

    cells: Floats
    keys: Ints
    """Of KEYED tables: the key of every cell."""
    words: Floats
    """Per partner: its kind, where its cells begin, how many they are, its table's numbers."""


@kernel
def lines_make(tables: tuple[ScoreTable, ...]) -> Lines:
    """Lay the last layers of tables out one behind the other."""
    size = 0
    for i in range(len(tables)):
        if tables[i].kind <= KEYED:
            size += tables[i].cells.shape[2]
    cells, keys = np.zeros(size), np.zeros(size, dtype=np.int64)
    words = np.zeros((len(tables), WORDS))
    begin = 0
    for i in range(len(tables)):
        table = tables[i]
        if table.kind > KEYED:
            continue
        count = table.cells.shape[2]
        cells[begin : begin + count] = table.cells[table.cells.shape[0] - 1, 0]
        if table.kind == KEYED:
            keys[begin : begin + count] = table.keys
        line = words[i]
        line[KIND], line[BEGIN], line[COUNT] = table.kind, begin, count
        line[FIRST], line[WIDTH] = table.first, table.width
        line[LEFT], line[RIGHT] = table.left, table.right
        line[SLOPE], line[INTERCEPT] = table.slope, table.intercept
        line[FOLLOWS], line[DECAY] = table.follows, table.decay
        begin += count
    return Lines(cells, keys, words)


@inlined
def line_score(lines: Lines, partner: int, key: int, now: int, last: int) -> float:
    """Give what `table_score` gives for a partner whose table is among the lines."""
    words = lines.words
    begin = int(words[partner, BEGIN])
    end = begin + int(words[partner, COUNT])
    first, width = words[partner, FIRST], words[partner, WIDTH]
    if words[partner, KIND] != LINEAR:
        kind, keys = int(words[partner, KIND]), lines.keys[begin:end]
        return key_score(kind, lines.cells[begin:end], keys, first, width, key)
    slope = words[partner, SLOPE]
    centre = words[partner, FOLLOWS] * last + slope * now + words[partner, INTERCEPT]
    return offset_score(
        lines.cells[begin:end], first, width, words[partner, LEFT], words[partner, RIGHT], slope,
        words[partner, DECAY], key - centre,
    )  # fmt: skip


@inlined
def cell_fetch(lines: Lines, partner: int, key: int) -> None:
    """Ask for the cell where a key's score will be looked up, if its table has one per key."""
    words = lines.words
    if words[partner, KIND] == STEPS:
        position = (key - words[partner, FIRST]) / words[partner, WIDTH]
        if 0.0 <= position < words[partner, COUNT]:
            line_fetch(lines.cells, int(words[partner, BEGIN] + position))
