"""Scoring: what a row kept within a budget is worth, looked up once per row.

A score table is one type for all laws of streams, so that a loop over rows is compiled once and
takes tables of both sides. The kinds differ in what the score depends on:

- LINEAR: the key's distance from the partner's centre, which moves with a trend or follows the
  partner's last key; straight lines between cells, exponential beyond the ends;
- STEPS and KEYED: the key alone, in cells of equal width or in a sorted list of keys;
- TIMED: the key's next time on the partner, for streams whose law is given tick by tick;
- SURFACE and SPLINE: the key and the partner's last key, cell by cell or through control points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import inlined

LINEAR = 0
STEPS = 1
KEYED = 2
TIMED = 3
SURFACE = 4
SPLINE = 5

ROUNDING = 1e-9
"""A difference of scores that is such a part of them is nothing but rounding."""


class ScoreTable(NamedTuple):
    """Scores of all keys against one partner, ready for a loop.

    `cells` has one layer for each of `lifetimes`, or a single one; then one line per key (surfaces)
    and one cell per distance, key or partner's key.
    """

    kind: int
    cells: Floats
    keys: Ints
    """KEYED, TIMED: the keys with a score, sorted."""
    places: Ints
    """TIMED: where each key's times begin, and the end of the last."""
    times: Ints
    """TIMED: the ticks at which a key may come, sorted for each key."""
    lifetimes: Ints
    """Remaining lifetimes that have a layer; empty where none is needed."""
    shares: Floats
    """STEPS, KEYED: the share of the score that is earned within 0, 1, 2... ticks."""
    first: float
    width: float
    state_first: float
    state_width: float
    left: float
    """Beyond the ends a score changes by the factor exp(left * distance), exp(right * distance)."""
    right: float
    slope: float
    intercept: float
    follows: float
    """The partner's centre is follows * last + slope * now + intercept."""
    decay: float
    """1 / alpha of the exponential weighting, 0 for others."""


@inlined
def offset_score(
    cells: Floats,
    first: float,
    width: float,
    left: float,
    right: float,
    slope: float,
    decay: float,
    offset: float,
) -> float:
    """Look up the score at a distance from the partner's centre.

    Ahead of a trend's noise a tick changes nothing but the weights: rows so far ahead are looked
    up as many ticks later as bring them into the cells.
    """
    end = len(cells) - 1
    position = (offset - first) / width
    if slope != 0.0 and decay > 0.0:
        beyond = position - end if slope > 0.0 else -position
        if beyond > 0.0:
            ticks = np.ceil(beyond * width / abs(slope))
            nearer = (offset - ticks * slope - first) / width
            cell = min(max(int(nearer), 0), end - 1)
            here = cells[cell]
            there = cells[cell + 1]
            return float(np.exp(-decay * ticks) * (here + (nearer - cell) * (there - here)))
    if position <= 0.0:
        edge = cells[0]
        if position == 0.0 or edge == 0.0:
            return float(edge)
        return float(edge * np.exp(-left * position * width))
    if position >= end:
        edge = cells[end]
        if position == end or edge == 0.0:
            return float(edge)
        return float(edge * np.exp(right * (position - end) * width))
    cell = int(position)
    share = position - cell
    here = cells[cell]
    if share == 0.0:
        return float(here)
    return float(here + share * (cells[cell + 1] - here))


@inlined
def key_place(keys: Ints, key: int) -> int:
    """Find a key in a sorted list, -1 where it is not."""
    low = 0
    high = len(keys)
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < len(keys) and keys[low] == key:
        return low
    return -1


@inlined
def key_score(kind: int, cells: Floats, keys: Ints, first: float, width: float, key: int) -> float:
    """Look up the score of a key that depends on nothing else."""
    if kind == KEYED:
        place = key_place(keys, key)
        return float(cells[place]) if place >= 0 else 0.0
    position = np.floor((key - first) / width)
    if position < 0.0 or position >= len(cells):
        return 0.0
    return float(cells[int(position)])


@inlined
def timed_score(
    cells: Floats, keys: Ints, places: Ints, times: Ints, decay: float, key: int, now: int
) -> float:
    """Look up the score of a key by its next time after a tick."""
    place = key_place(keys, key)
    if place < 0:
        return 0.0
    low = places[place]
    end = places[place + 1]
    high = end
    while low < high:
        middle = (low + high) >> 1
        if times[middle] <= now:
            low = middle + 1
        else:
            high = middle
    if low == end:
        return 0.0
    return float(np.exp(-decay * (times[low] - now)) * cells[low])


@inlined
def spline_weight(which: int, share: float) -> float:
    """Give a weight of the cubic spline, for the coefficient `which` of the four around a place."""
    if which == 0:
        return (1.0 - share) ** 3 / 6.0
    if which == 1:
        return (3.0 * share**3 - 6.0 * share**2 + 4.0) / 6.0
    if which == 2:
        return (-3.0 * share**3 + 3.0 * share**2 + 3.0 * share + 1.0) / 6.0
    return share**3 / 6.0


@inlined
def surface_score(
    kind: int,
    cells: Floats,
    first: float,
    width: float,
    state_first: float,
    state_width: float,
    left: float,
    right: float,
    key: int,
    last: int,
) -> float:
    """Look up the score of a key beside the partner's last key."""
    margin = 2 if kind == SPLINE else 0
    lines = cells.shape[0] - margin
    columns = cells.shape[1] - margin
    line = (key - first) / width
    column = (last - state_first) / state_width
    beyond = 0.0
    if line < 0.0:
        beyond = -line * width * left
    elif line > lines - 1:
        beyond = (line - (lines - 1)) * width * right
    line = min(max(line, 0.0), float(lines - 1))
    column = min(max(column, 0.0), float(columns - 1))
    if kind == SURFACE:
        score = cells[int(line + 0.5), int(column + 0.5)]
    else:
        top = min(int(line), lines - 2)
        start = min(int(column), columns - 2)
        score = 0.0
        for i in range(4):
            weight = spline_weight(i, line - top)
            for j in range(4):
                each = weight * spline_weight(j, column - start)
                score += each * cells[top + i, start + j]
    return float(score) if beyond == 0.0 else float(score * np.exp(beyond))


@inlined
def table_score(table: ScoreTable, key: int, now: int, last: int) -> float:
    """Give the score of a key at a tick, without a window.

    `last` is the partner's key at that tick; only walks and autoregressions look at it. The table
    is passed on to no other kernel: counting its arrays' references costs more than looking up.
    """
    layer = table.cells.shape[0] - 1
    if table.kind == LINEAR:
        centre = table.follows * last + table.slope * now + table.intercept
        return offset_score(
            table.cells[layer, 0],
            table.first,
            table.width,
            table.left,
            table.right,
            table.slope,
            table.decay,
            key - centre,
        )
    if table.kind <= KEYED:
        return key_score(table.kind, table.cells[0, 0], table.keys, table.first, table.width, key)
    if table.kind == TIMED:
        return timed_score(
            table.cells[0, 0], table.keys, table.places, table.times, table.decay, key, now
        )
    return surface_score(
        table.kind,
        table.cells[layer],
        table.first,
        table.width,
        table.state_first,
        table.state_width,
        table.left,
        table.right,
        key,
        last,
    )


@inlined
def layer_score(table: ScoreTable, layer: int, key: int, now: int, last: int) -> float:
    """Give the score of a key at a tick, for one of the lifetimes that have a layer."""
    if table.kind == LINEAR:
        centre = table.follows * last + table.slope * now + table.intercept
        return offset_score(
            table.cells[layer, 0],
            table.first,
            table.width,
            table.left,
            table.right,
            table.slope,
            table.decay,
            key - centre,
        )
    return surface_score(
        table.kind,
        table.cells[layer],
        table.first,
        table.width,
        table.state_first,
        table.state_width,
        table.left,
        table.right,
        key,
        last,
    )


@inlined
def window_score(table: ScoreTable, key: int, now: int, last: int, remaining: int) -> float:
    """Give the score of a key that leaves its window after `remaining` ticks.

    Where the law depends on the tick alone, the part beyond is what the row is worth then; other
    laws have a layer per lifetime, with straight lines between.
    """
    if remaining <= 0:
        return 0.0
    if STEPS <= table.kind <= KEYED:
        # Without shares the table is exponential: the geometric series has a closed form.
        if len(table.shares) == 0:
            return float(-np.expm1(-table.decay * remaining) * table_score(table, key, now, last))
        share = table.shares[min(remaining, len(table.shares) - 1)]
        return float(share * table_score(table, key, now, last))
    if len(table.lifetimes) == 0:
        whole = table_score(table, key, now, last)
        later = table_score(table, key, now + remaining, last)
        rest = whole - np.exp(-table.decay * remaining) * later
        return float(rest) if rest > ROUNDING * whole else 0.0
    layer = int(np.searchsorted(table.lifetimes, remaining))
    if layer >= len(table.lifetimes):
        return layer_score(table, len(table.lifetimes) - 1, key, now, last)
    score = layer_score(table, layer, key, now, last)
    above = table.lifetimes[layer]
    if above == remaining:
        return score
    below = table.lifetimes[layer - 1]
    lower = layer_score(table, layer - 1, key, now, last)
    return float(lower + (score - lower) * (remaining - below) / (above - below))
