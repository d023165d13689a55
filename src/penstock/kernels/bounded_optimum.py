"""The best that could have been done, with all keys known beforehand.

Joining: a flow of slots through time. Node t is a slot that is free at tick t; node n + i is a row
that has just made its i-th result (results are numbered row by row). A slot waits (t to t + 1, free
of charge), takes the row that arrives (t to the row's first result), keeps it (to its next result)
or lets it go at the tick of the result. Every result is worth 1. Costs are whole numbers and so
are potentials: the queue of a shortest path is an array of lists by distance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.kernels.arrays import Flags, Ints, Rows
from penstock.kernels.bounded_heaps import ITEM, heap_fix, heap_push, heap_remove
from penstock.kernels.compilation import kernel

FAR = 1 << 60


class OptimalResults(NamedTuple):
    """All results by the row that would be held: row x has those in [firsts[x], firsts[x + 1]).

    Rows are numbered 2t (first stream) and 2t + 1 (second). `ticks` says when a result is made,
    `rows` whose it is, `by_tick` lists them by tick, from `tick_starts[t]` on.
    """

    firsts: Ints
    ticks: Ints
    rows: Ints
    tick_starts: Ints
    by_tick: Ints


@kernel
def results_list(codes: Ints, distinct: int, lasts: Ints) -> OptimalResults:
    """List all results of two streams; `codes[s, t]` < distinct is the key of stream s at t.

    `lasts[x]` is the last tick at which row x joins.
    """
    n = codes.shape[1]
    starts = np.zeros((2, distinct + 1), dtype=np.int64)
    for stream in range(2):
        for t in range(n):
            starts[stream, codes[stream, t] + 1] += 1
        for code in range(distinct):
            starts[stream, code + 1] += starts[stream, code]
    listed = np.empty((2, n), dtype=np.int64)
    after = np.empty((2, 2 * n), dtype=np.int64)
    nexts = starts.copy()
    for t in range(n):
        for stream in range(2):
            code = codes[stream, t]
            listed[stream, nexts[stream, code]] = t
            nexts[stream, code] += 1
        for stream in range(2):
            # Matches of the row lie behind those that have come in the partner stream.
            code = codes[stream, t]
            after[0, 2 * t + stream] = nexts[1 - stream, code]
            after[1, 2 * t + stream] = starts[1 - stream, code + 1]
    firsts = np.zeros(2 * n + 1, dtype=np.int64)
    for row in range(2 * n):
        begin, end = after[0, row], after[1, row]
        active = np.searchsorted(listed[1 - row % 2, begin:end], lasts[row], side="right")
        after[1, row] = begin + active
        firsts[row + 1] = firsts[row] + after[1, row] - after[0, row]
    total = firsts[2 * n]
    ticks, rows = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    tick_starts = np.zeros(n + 1, dtype=np.int64)
    for row in range(2 * n):
        at = firsts[row]
        for place in range(after[0, row], after[1, row]):
            ticks[at] = listed[1 - row % 2, place]
            rows[at] = row
            tick_starts[ticks[at] + 1] += 1
            at += 1
    for t in range(n):
        tick_starts[t + 1] += tick_starts[t]
    by_tick = np.empty(total, dtype=np.int64)
    places = tick_starts.copy()
    for result in range(total):
        by_tick[places[ticks[result]]] = result
        places[ticks[result]] += 1
    return OptimalResults(firsts, ticks, rows, tick_starts, by_tick)


@kernel
def before_result(results: OptimalResults, result: int, n: int) -> int:
    """Give the node before a result: the row's result before it, or the tick of its arrival."""
    row = results.rows[result]
    return row // 2 if result == results.firsts[row] else n + result - 1


@kernel
def slots_start(results: OptimalResults, worth: Ints, potentials: Ints) -> None:
    """Give every node its distance from tick 0, tick by tick."""
    n = len(results.tick_starts) - 1
    potentials[0] = 0
    for t in range(n):
        best = potentials[t - 1] if t > 0 else 0
        for place in range(results.tick_starts[t], results.tick_starts[t + 1]):
            result = results.by_tick[place]
            reached = potentials[before_result(results, result, n)] - worth[result]
            potentials[n + result] = reached
            best = min(best, reached)
        potentials[t] = best


@kernel
def step_try(
    node: int, head: int, cost: int, used: int, potentials: Ints, distances: Ints, sources: Ints,
    lists: Rows, entries: Rows,
) -> int:  # fmt: skip
    """Try an arc; queue its head if that comes nearer. Give how many entries the queue has."""
    reached = distances[node] + cost + potentials[node] - potentials[head]
    if reached < distances[head] and reached < len(lists):
        distances[head] = reached
        sources[head] = node
        entries[used, 0] = head
        entries[used, 1] = lists[reached]
        lists[reached] = used
        return used + 1
    return used


@kernel
def slot_route(
    results: OptimalResults, worth: Ints, into: Flags, out: Flags, waiting: Ints, potentials: Ints,
    distances: Ints, sources: Ints, lists: Rows, entries: Rows,
) -> None:  # fmt: skip
    """Find the best use of one slot more; `sources` is the node before each on its path."""
    n = len(waiting)
    distances[:] = FAR
    lists[:] = -1
    distances[0] = 0
    entries[0, 0], entries[0, 1] = 0, -1
    lists[0] = 0
    used, level = 1, 0
    queue = (potentials, distances, sources, lists, entries)
    while True:
        while lists[level] < 0:
            level += 1
        node = int(entries[lists[level], 0])
        lists[level] = entries[lists[level], 1]
        if distances[node] != level:
            continue
        if node == n - 1:
            return
        if node < n:
            used = step_try(node, node + 1, 0, used, *queue)
            if node > 0 and waiting[node - 1] > 0:
                used = step_try(node, node - 1, 0, used, *queue)
            for row in range(2 * node, 2 * node + 2):
                result = results.firsts[row]
                if result < results.firsts[row + 1] and not into[result]:
                    used = step_try(node, n + result, -worth[result], used, *queue)
            for place in range(results.tick_starts[node], results.tick_starts[node + 1]):
                result = results.by_tick[place]
                if out[result]:
                    used = step_try(node, n + result, 0, used, *queue)
        else:
            result = node - n
            row = results.rows[result]
            if result + 1 < results.firsts[row + 1] and not into[result + 1]:
                used = step_try(node, node + 1, -worth[result + 1], used, *queue)
            if not out[result]:
                used = step_try(node, results.ticks[result], 0, used, *queue)
            if into[result]:
                before = before_result(results, result, n)
                used = step_try(node, before, worth[result], used, *queue)


@kernel
def slot_take(
    results: OptimalResults, sources: Ints, into: Flags, out: Flags, waiting: Ints
) -> None:  # fmt: skip
    """Let one slot more flow along the path found."""
    n = len(waiting)
    node = n - 1
    while node != 0:
        before = sources[node]
        if before < n and node < n:
            if node > before:
                waiting[before] += 1
            else:
                waiting[node] -= 1
        elif before < n:
            result = node - n
            if results.ticks[result] == before:
                out[result] = False
            else:
                into[result] = True
        elif node < n:
            result = before - n
            if results.ticks[result] == node:
                out[result] = True
            else:
                into[result] = False
        elif node == before + 1:
            into[node - n] = True
        else:
            into[before - n] = False
        node = before


@kernel
def slots_flow(codes: Ints, distinct: int, lasts: Ints, budget: int, warm_up: int) -> Any:
    """Give the most results for every budget up to `budget`, and how long rows stay for the last.

    Row x joins up to the tick `lasts[x]`. Results before the tick `warm_up` are worth nothing.

    Returns
    -------
    values, until
        `values[k]` for a budget of k; `until[2t + s]` the tick of the last result for which the
        row of stream s that arrived at t is held, or -1.
    """
    n = codes.shape[1]
    results = results_list(codes, distinct, lasts)
    total = len(results.ticks)
    worth = (results.ticks >= warm_up).astype(np.int64)
    into, out = np.zeros(total, dtype=np.bool_), np.zeros(total, dtype=np.bool_)
    waiting = np.zeros(n, dtype=np.int64)
    potentials, distances = np.zeros(n + total, dtype=np.int64), np.empty(n + total, dtype=np.int64)
    sources = np.zeros(n + total, dtype=np.int64)
    lists = np.empty(n + 2, dtype=np.int32)
    entries = np.empty((4 * n + 4 * total + 4, 2), dtype=np.int32)
    slots_start(results, worth, potentials)
    values = np.zeros(budget + 1, dtype=np.int64)
    for k in range(1, budget + 1):
        slot_route(
            results, worth, into, out, waiting, potentials, distances, sources, lists, entries
        )
        reached = distances[n - 1]
        for node in range(n + total):
            potentials[node] += min(distances[node], reached)
        gain = potentials[0] - potentials[n - 1]
        if gain == 0:
            values[k:] = values[k - 1]
            break
        values[k] = values[k - 1] + gain
        slot_take(results, sources, into, out, waiting)
    until = np.full(2 * n, -1, dtype=np.int64)
    for result in range(total):
        if out[result]:
            until[results.rows[result]] = results.ticks[result]
    return values, until


@kernel
def farthest_discard(codes: Ints, nexts: Ints, distinct: int, budget: int) -> Any:
    """Say which references are held when what is needed last is discarded (or never admitted)."""
    heap = np.empty((distinct, 2), dtype=np.int64)
    places = np.zeros((distinct, 1), dtype=np.int64)
    held = np.zeros(distinct, dtype=np.bool_)
    hits = np.zeros(len(codes), dtype=np.bool_)
    size = 0
    for t in range(len(codes)):
        code = codes[t]
        hits[t] = held[code]
        if held[code]:
            heap_fix(heap, places, 0, size, -nexts[t], code)
            continue
        held[code] = True
        heap_push(heap, places, 0, size, -nexts[t], code)
        size += 1
        if size > budget:
            victim = heap[0, ITEM]
            heap_remove(heap, places, 0, size, victim)
            held[victim] = False
            size -= 1
        assert size <= budget
    return hits
