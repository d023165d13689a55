"""Window extremes: the least or greatest value in a sliding window, as a function of its end.

Curves are cut at their turns into monotone cells. The greatest value in a window is then the one at
its head, the one at its tail, or one at an end of a cell in between: the greatest of those is kept
in a queue, as of rows in a window. The least is the greatest of the negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.polynomial_roots import roots_find
from penstock.kernels.polynomials import (
    polynomial_degree,
    polynomial_derive,
    polynomial_evaluate,
    polynomial_shift,
    polynomial_strip,
)
from penstock.kernels.segment_curves import curve_build
from penstock.kernels.segment_instants import Solving
from penstock.kernels.segment_pieces import (
    Course,
    Parts,
    Zones,
    group_collect,
    piece_append,
)
from penstock.kernels.segment_stores import INSTANT, Stored

HEAD, TAIL, CONSTANT = 0, 1, 2


class Crests(NamedTuple):
    """The monotone cells of a curve, and what walking them needs."""

    begin: Floats
    end: Floats
    model: Ints
    """The place of a cell's model in the curve."""
    ends: Floats
    """(cells, 2): the values at the ends, negated for the least."""
    queue: Ints
    slots: Ints
    starts: Floats
    head: Floats
    tail: Floats
    constant: Floats
    cuts: Floats
    room: Floats


@inlined
def cell_add(
    curve: Course, p: int, begin: float, end: float, better: float, bonus: float, cells: Crests,
    count: int,
) -> int:  # fmt: skip
    """Write a cell; `bonus` is the value of an instant at its begin."""
    width = curve.models.shape[1]
    if count == len(cells.begin):
        return -1
    degree = polynomial_degree(curve.models[p], width - 1)
    cells.begin[count], cells.end[count], cells.model[count] = begin, end, p
    at = better * polynomial_evaluate(curve.models[p], degree, begin - curve.origin[p])
    cells.ends[count, 0] = max(at, bonus)
    at = better * polynomial_evaluate(curve.models[p], degree, end - curve.origin[p])
    cells.ends[count, 1] = at
    return count + 1


@inlined
def cells_build(
    curve: Course, models: int, stored: Stored, found: int, better: float, cells: Crests,
    solving: Solving,
) -> int:  # fmt: skip
    """Write the cells of a curve, cut at turns and at single instants; -1 without room."""
    width = curve.models.shape[1]
    count = 0
    point = 0
    for p in range(models):
        degree = polynomial_degree(curve.models[p], width - 1)
        turns = 0
        origin = curve.origin[p]
        if degree > 1:
            polynomial_derive(curve.models[p], degree, solving.one)
            low, high = curve.begin[p] - origin, curve.end[p] - origin
            own = polynomial_strip(solving.one, degree - 1, low, high)
            if own > 0:
                turns = roots_find(
                    solving.one, own, low, high, solving.roots, solving.signs, solving.chain,
                    solving.turns,
                )  # fmt: skip
        at = curve.begin[p]
        bonus = -np.inf
        for turn in range(turns + 1):
            until = solving.roots[turn] + origin if turn < turns else curve.end[p]
            while point < found and cells.starts[point] < until - INSTANT:
                slot = cells.slots[point]
                start = cells.starts[point]
                point += 1
                if stored.low[slot] != stored.high[slot] or start < curve.begin[p] - INSTANT:
                    continue
                value = better * polynomial_evaluate(
                    stored.models[slot, 0], width - 1, stored.low[slot]
                )
                if start - at > INSTANT:
                    count = cell_add(curve, p, at, start, better, bonus, cells, count)
                    if count < 0:
                        return -1
                    at, bonus = start, value
                else:
                    bonus = max(bonus, value)
            if until - at > INSTANT or (turn == turns and until > at):
                count = cell_add(curve, p, at, until, better, bonus, cells, count)
                if count < 0:
                    return -1
                at, bonus = until, -np.inf
    return count


@inlined
def cuts_find(
    model: Floats, top: int, span: float, solving: Solving, cuts: Floats, count: int
) -> int:
    """Write the roots of a polynomial inside (0, span) among the cuts, in order."""
    degree = polynomial_strip(model, top, 0.0, span)
    if degree <= 0:
        return count
    found = roots_find(
        model, degree, 0.0, span, solving.roots, solving.signs, solving.chain, solving.turns
    )
    for k in range(found):
        at = count
        while at > 0 and cuts[at - 1] > solving.roots[k]:
            cuts[at] = cuts[at - 1]
            at -= 1
        cuts[at] = solving.roots[k]
        count += 1
    return count


@inlined
def contest_cut(
    better: float, constant: float, width: int, span: float, cells: Crests, solving: Solving
) -> int:
    """Write where head, tail and constant may take the lead from each other; count the cuts."""
    count = 0
    head, tail, cuts, one = cells.head, cells.tail, cells.cuts, solving.one
    for k in range(width):
        one[k] = head[k] - tail[k]
    count = cuts_find(one, width - 1, span, solving, cuts, count)
    if constant > -np.inf:
        for k in range(width):
            one[k] = head[k]
        one[0] -= better * constant
        count = cuts_find(one, width - 1, span, solving, cuts, count)
        for k in range(width):
            one[k] = tail[k]
        one[0] -= better * constant
        count = cuts_find(one, width - 1, span, solving, cuts, count)
    cuts[count] = span
    return count + 1


@inlined
def leader_write(
    leader: int, curve: Course, h: int, t: int, size: float, constant: float, group: int, base: int,
    begin: float, end: float, cells: Crests, pieces: Parts, total: int,
) -> int:  # fmt: skip
    """Write the piece of whoever leads."""
    if leader == CONSTANT:
        cells.constant[0] = constant
        return piece_append(
            pieces, total, group, base, begin, end, cells.constant, begin, cells.room
        )
    if leader == HEAD:
        return piece_append(
            pieces, total, group, base, begin, end, curve.models[h], curve.origin[h], cells.room
        )
    return piece_append(
        pieces, total, group, base, begin, end, curve.models[t], curve.origin[t] + size, cells.room
    )


@inlined
def lead_write(
    curve: Course, h: int, t: int, size: float, better: float, constant: float, group: int,
    base: int, begin: float, end: float, cells: Crests, solving: Solving, pieces: Parts,
    total: int,
) -> int:  # fmt: skip
    """Write the greatest of head, tail and constant from `begin` to `end`; -1 without room."""
    width = curve.models.shape[1]
    span = end - begin
    for k in range(width):
        cells.head[k] = cells.tail[k] = 0.0
    degree = polynomial_degree(curve.models[h], width - 1)
    polynomial_shift(curve.models[h], degree, begin - curve.origin[h], cells.head)
    degree = polynomial_degree(curve.models[t], width - 1)
    polynomial_shift(curve.models[t], degree, begin - size - curve.origin[t], cells.tail)
    # They are monotone: their values at the ends bound them.
    one, two = better * cells.head[0], better * polynomial_evaluate(cells.head, width - 1, span)
    head_least, head_most = min(one, two), max(one, two)
    one, two = better * cells.tail[0], better * polynomial_evaluate(cells.tail, width - 1, span)
    tail_least, tail_most = min(one, two), max(one, two)
    leader = -1
    if constant >= head_most and constant >= tail_most:
        leader = CONSTANT
    elif head_least >= tail_most and head_least >= constant:
        leader = HEAD
    elif tail_least >= head_most and tail_least >= constant:
        leader = TAIL
    if leader >= 0:
        return leader_write(
            leader, curve, h, t, size, better * constant, group, base, begin, end, cells, pieces,
            total,
        )  # fmt: skip
    cuts = contest_cut(better, constant, width, span, cells, solving)
    at = 0.0
    for k in range(cuts):
        until = cells.cuts[k]
        if until - at <= INSTANT and k + 1 < cuts:
            continue
        if until <= at:
            continue
        middle = 0.5 * (at + until)
        head = better * polynomial_evaluate(cells.head, width - 1, middle)
        tail = better * polynomial_evaluate(cells.tail, width - 1, middle)
        leader = HEAD if head >= tail else TAIL
        leader = CONSTANT if constant >= max(head, tail) else leader
        total = leader_write(
            leader, curve, h, t, size, better * constant, group, base, begin + at,
            end if k + 1 == cuts else begin + until, cells, pieces, total,
        )  # fmt: skip
        if total < 0:
            return -1
        at = until
    return total


@inlined
def run_walk(
    curve: Course, first: int, last: int, begin: float, end: float, size: float, better: float,
    group: int, base: int, cells: Crests, solving: Solving, pieces: Parts, total: int,
) -> int:  # fmt: skip
    """Write the window extremes of the cells of one run; -1 without room."""
    at = max(cells.begin[first] + size, begin)
    stop = min(cells.end[last], end)
    head, tail = first, first
    front, back = 0, 0  # of the queue
    behind = 2 * first  # the end of a cell that comes next
    while stop - at > INSTANT:
        while head < last and cells.end[head] <= at + INSTANT:
            head += 1
        while tail < last and cells.end[tail] + size <= at + INSTANT:
            tail += 1
        behind = max(behind, 2 * tail + 1)
        while behind <= 2 * head:
            value = cells.ends[behind >> 1, behind & 1]
            while back > front:
                other = cells.queue[back - 1]
                if cells.ends[other >> 1, other & 1] > value:
                    break
                back -= 1
            cells.queue[back] = behind
            back += 1
            behind += 1
        while front < back and cells.queue[front] < 2 * tail + 1:
            front += 1
        constant = -np.inf
        if front < back:
            constant = cells.ends[cells.queue[front] >> 1, cells.queue[front] & 1]
        there = min(cells.end[head], cells.end[tail] + size, stop)
        if stop - there <= INSTANT:
            there = stop
        total = lead_write(
            curve, cells.model[head], cells.model[tail], size, better, constant, group, base, at,
            there, cells, solving, pieces, total,
        )  # fmt: skip
        if total < 0:
            return -1
        at = there
    return total


@tight
def extremes_write(
    size: float, better: float, gap: int, stored: Stored, columns: Ints, asked: Zones, own: Ints,
    curve: Course, cells: Crests, solving: Solving, pieces: Parts,
) -> int:  # fmt: skip
    """Write the window extremes of groups; give how many pieces there are, or -1 without room."""
    total = 0
    for g in range(len(asked.base)):
        base, begin, end = asked.base[g], asked.begin[g], asked.end[g]
        found = group_collect(
            stored, columns, asked.key[g], own, base, begin - 2.0 * size - INSTANT, end + size,
            cells.slots, cells.starts,
        )  # fmt: skip
        models = curve_build(
            stored, base, cells.slots, cells.starts, found, size, gap, curve, cells.room
        )
        count = cells_build(curve, models, stored, found, better, cells, solving)
        if count < 0:
            return -1
        first = 0
        while first < count:
            last = first
            run = curve.run[cells.model[first]]
            while last + 1 < count and curve.run[cells.model[last + 1]] == run:
                last += 1
            total = run_walk(
                curve, first, last, begin, end, size, better, g, base, cells, solving, pieces,
                total,
            )  # fmt: skip
            if total < 0:
                return -1
            first = last + 1
    return total
