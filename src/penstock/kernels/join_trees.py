"""Planning: the cheapest trees of joins, by dynamic programming over sets of inputs.

A state is a set of inputs and the set of its selections that wait to be asked further up:
mask | waiting << inputs. Its rate and window depend on the state alone, never on the tree below,
which is why the search is exact. A split is written as its left part; every one is met once.

`windows` (rows of a set when no selection that floats has been asked), `turnovers`, `logs` (of the
equalities' selectivities inside a set), `equal` and `linked` (how many equalities and predicates
are inside), `weights` (memory of a kept row) and `waits` (the selections that float, as bits) have
a place for every set; `shares` (what a set of selections lets through), for every set of
selections. `lines` are the cost library's: see the constants.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import kernel

Flags = npt.NDArray[np.uint8]

PROBE, PROBE_LOG, PROBE_ROW, PROBE_MATCH, KEEP, KEEP_LOG, NEEDS_EQUALITY = range(7)
COMPOSITE, COMPOSITE_MATCH, SEVERAL, SEVERAL_MATCH, COMPOSITE_ROW = range(7, 12)
"""Columns of `lines`: the parts of a probe, then insert and invalidate together; last, what a
probe takes more, whatever the index: of a window of composites, by several predicates."""
LINE = 12
DEEP, PRODUCTS, BY_MEMORY, WORST = 1, 2, 4, 8
"""Bits of `options`: an input on one side of every join, Cartesian products, what is made least,
and whether it is made greatest instead."""
LEAF, NONE = -1, -2
"""In place of a split: the state is an input; there is no such state."""
CLOSE = 1e-12
"""Costs that differ by less are equal: only their rounding differs."""


@kernel
def index_cost(
    line: int, rows: float, log: float, f: float, composite: bool, rate: float, other: float,
    lines: Floats,
) -> float:  # fmt: skip
    """Give what an index of a window takes: rows come at `rate`, probes at `other`."""
    probe = lines[line, PROBE] + lines[line, PROBE_LOG] * log
    probe += (lines[line, PROBE_ROW] + lines[line, PROBE_MATCH] * f) * rows
    if composite:
        probe += lines[line, COMPOSITE_ROW] * rows
    spent: float = other * probe + rate * (lines[line, KEEP] + lines[line, KEEP_LOG] * log)
    return spent


@kernel
def probe_beside(window: int, predicates: int, matches: float, lines: Floats) -> float:
    """Give what a probe of a set's window takes more, whatever its index."""
    more = 0.0
    if window & (window - 1):
        more += lines[0, COMPOSITE] + lines[0, COMPOSITE_MATCH] * matches
    if predicates > 1:
        more += lines[0, SEVERAL] + lines[0, SEVERAL_MATCH] * matches
    return more


@kernel
def join_cost(
    spent: float, left: int, right: int, rows_left: float, rows_right: float, f: float,
    meets: bool, turnovers: Floats, linked: Ints, lines: Floats,
) -> float:  # fmt: skip
    """Add to `spent` what a join of two sets takes, the window of each by its best index.

    So many of their rows are kept; `f` is the share of them that have a key looked for, if the sets
    meet by any.
    """
    rate_left = rows_left * turnovers[left]
    rate_right = rows_right * turnovers[right]
    if not rate_left + rate_right > 0:
        return spent
    log_left, log_right = np.log2(1.0 + rows_left), np.log2(1.0 + rows_right)
    made_left, made_right = left & (left - 1) != 0, right & (right - 1) != 0
    best_left = best_right = np.inf
    for line in range(lines.shape[0]):
        if lines[line, NEEDS_EQUALITY] > 0 and not meets:
            continue
        on_left = index_cost(line, rows_left, log_left, f, made_left, rate_left, rate_right, lines)
        on_right = index_cost(
            line, rows_right, log_right, f, made_right, rate_right, rate_left, lines
        )
        best_left, best_right = min(best_left, on_left), min(best_right, on_right)
    spent += best_left
    spent += best_right
    asks = linked[left | right] - linked[left] - linked[right]
    spent += rate_right * probe_beside(left, asks, f * rows_left, lines)
    spent += rate_left * probe_beside(right, asks, f * rows_right, lines)
    return spent


@kernel
def is_better(first: float, second: float, best: float, best_second: float, worst: bool) -> bool:
    """Compare by the first figure, then by the second."""
    if worst:
        first, second, best, best_second = -first, -second, -best, -best_second
    if np.isinf(best):
        return first < best
    if first < best - CLOSE * abs(best):
        return True
    return first <= best + CLOSE * abs(best) and second < best_second - CLOSE * abs(best_second)


@kernel
def next_split(left: int, mask: int, options: int) -> int:
    """Give the next split of a set, or 0 after the last; begin with the set.

    >>> next_split(0b111, 0b111, 0), next_split(0b101, 0b111, 0), next_split(0b001, 0b111, 0)
    (5, 3, 0)
    """
    if options & DEEP:
        out = mask ^ left
        later = mask if out == 0 else mask & ~(2 * out - 1)
        pair = mask & (mask - 1)
        if later == 0 or (out and pair & (pair - 1) == 0):
            return 0
        return mask ^ (later & -later)
    low = mask & -mask
    rest = mask ^ low
    part = left & rest
    return 0 if part == 0 else low | ((part - 1) & rest)


@kernel
def is_split(left: int, right: int, allowed: Flags, linked: Ints, options: int) -> bool:
    """Say whether two sets may be joined."""
    if not allowed[left] or not allowed[right]:
        return False
    if options & PRODUCTS:
        return True
    return bool(linked[left | right] > linked[left] + linked[right])


@kernel
def plans_best(
    inputs: int, options: int, limit: float, allowed: Flags, lines: Floats,
    windows: Floats, turnovers: Floats, logs: Floats, equal: Ints, linked: Ints, weights: Floats,
    waits: Ints, shares: Floats, ask_s: Floats, between: Flags,
    cpu: Floats, memory: Floats, splits: Ints, asked: Ints,
) -> None:  # fmt: skip
    """Fill the best `cpu`, `memory`, `splits` and `asked` selection (or -1) of every state.

    The inputs' own states are given. `ask_s` is what a selection takes per row; those not
    `between` are asked at the root, if not at their input. A plan that takes up to `limit` is
    known: parts that take more alone are passed over. For the worst, and by memory, it is infinite.
    """
    everything = (1 << inputs) - 1
    worst = options & WORST != 0
    by_memory = options & BY_MEMORY != 0
    for mask in range(1, everything + 1):
        if mask & (mask - 1) == 0 or not allowed[mask]:
            continue
        waiting = waits[mask]
        left = mask
        while True:
            left = next_split(left, mask, options)
            if left == 0:
                break
            right = mask ^ left
            if not is_split(left, right, allowed, linked, options):
                continue
            pending = waiting
            while True:
                at_left = left | ((pending & waits[left]) << inputs)
                at_right = right | ((pending & waits[right]) << inputs)
                state = mask | (pending << inputs)
                if splits[at_left] != NONE and splits[at_right] != NONE:
                    spent = cpu[at_left] + cpu[at_right]
                    if worst or by_memory or spent <= min(cpu[state], limit):
                        meets = equal[mask] > equal[left] + equal[right]
                        f = np.exp(logs[mask] - logs[left] - logs[right])
                        rows_left = windows[left] * shares[waits[left] & ~pending]
                        rows_right = windows[right] * shares[waits[right] & ~pending]
                        kept = memory[at_left] + memory[at_right]
                        kept += rows_left * weights[left] + rows_right * weights[right]
                        spent = join_cost(
                            spent, left, right, rows_left, rows_right, f, meets,
                            turnovers, linked, lines,
                        )  # fmt: skip
                        if by_memory:
                            better = is_better(kept, spent, memory[state], cpu[state], worst)
                        else:
                            better = is_better(spent, kept, cpu[state], memory[state], worst)
                        if spent <= limit and (better or splits[state] == NONE):
                            cpu[state], memory[state] = spent, kept
                            splits[state] = left
                if pending == 0:
                    break
                pending = (pending - 1) & waiting
        pending = waiting
        while pending:
            state = mask | (pending << inputs)
            if splits[state] != NONE:
                rate = windows[mask] * shares[waiting & ~pending] * turnovers[mask]
                for selection in range(ask_s.shape[0]):
                    bit = 1 << selection
                    if not pending & bit or not (between[selection] or mask == everything):
                        continue
                    after = mask | ((pending ^ bit) << inputs)
                    spent = cpu[state] + ask_s[selection] * rate
                    if by_memory:
                        better = is_better(memory[state], spent, memory[after], cpu[after], worst)
                    else:
                        better = is_better(spent, memory[state], cpu[after], memory[after], worst)
                    if better or splits[after] == NONE:
                        cpu[after], memory[after] = spent, memory[state]
                        splits[after] = splits[state]
                        asked[after] = selection
            pending = (pending - 1) & waiting


@kernel
def keep_best(
    at: int, spent: float, kept: float, split: int, one: int, other: int, selection: int,
    counts: Ints, cpu: Floats, memory: Floats, sources: Ints, by_memory: bool,
) -> None:  # fmt: skip
    """Put an entry into a state's list of its best ones, ascending; the last falls out."""
    size = cpu.shape[1]
    worst = bool(0)
    place = counts[at]
    while place > 0:
        if by_memory:
            above = is_better(kept, spent, memory[at, place - 1], cpu[at, place - 1], worst)
        else:
            above = is_better(spent, kept, cpu[at, place - 1], memory[at, place - 1], worst)
        if not above:
            break
        place -= 1
    if place == size:
        return
    last = min(counts[at], size - 1)
    for moved in range(last, place, -1):
        cpu[at, moved], memory[at, moved] = cpu[at, moved - 1], memory[at, moved - 1]
        sources[at, moved] = sources[at, moved - 1]
    cpu[at, place], memory[at, place] = spent, kept
    sources[at, place, 0], sources[at, place, 1] = split, one
    sources[at, place, 2], sources[at, place, 3] = other, selection
    counts[at] = last + 1


@kernel
def keep_frontier(
    at: int, spent: float, kept: float, split: int, one: int, other: int, selection: int,
    counts: Ints, cpu: Floats, memory: Floats, sources: Ints,
) -> bool:  # fmt: skip
    """Put an entry into a state's list of those that none beats in both; say if one was lost.

    A full list gives up the entry whose memory differs least from its neighbour's.
    """
    size = cpu.shape[1]
    for place in range(counts[at]):
        dear = spent >= cpu[at, place] * (1.0 - CLOSE)
        if dear and kept >= memory[at, place] * (1.0 - CLOSE):
            return False
    left = 0
    for place in range(counts[at]):
        if cpu[at, place] >= spent and memory[at, place] >= kept:
            continue
        cpu[at, left], memory[at, left] = cpu[at, place], memory[at, place]
        sources[at, left] = sources[at, place]
        left += 1
    counts[at] = left
    lost = bool(left == size)
    if lost:
        out, least = 1, np.inf
        for place in range(1, size - 1):
            gap = memory[at, place - 1] / max(memory[at, place], 1e-300)
            if gap < least:
                out, least = place, gap
        for place in range(out, size - 1):
            cpu[at, place], memory[at, place] = cpu[at, place + 1], memory[at, place + 1]
            sources[at, place] = sources[at, place + 1]
        counts[at] = size - 1
    by_memory = bool(0)
    keep_best(
        at, spent, kept, split, one, other, selection, counts, cpu, memory, sources, by_memory
    )
    return lost


@kernel
def plans_list(
    inputs: int, options: int, allowed: Flags, lines: Floats,
    windows: Floats, turnovers: Floats, logs: Floats, equal: Ints, linked: Ints, weights: Floats,
    waits: Ints, shares: Floats, ask_s: Floats, between: Flags,
    frontier: bool, cpu_max: float, memory_max: float, least: Floats,
    counts: Ints, cpu: Floats, memory: Floats, sources: Ints,
) -> bool:  # fmt: skip
    """Fill every state's list of its best entries, or of those that none beats in cpu and memory.

    A source is (split, entry of the left part, of the right part, -1), or, where a selection is
    asked, (NONE, entry of the state before, 0, selection). `least` is what memory the rest of a
    plan takes at least, for every set. Entries beyond `cpu_max` or `memory_max` are left out. Says
    whether a list was too short.
    """
    everything = (1 << inputs) - 1
    by_memory = options & BY_MEMORY != 0
    size = cpu.shape[1]
    lost = False
    for mask in range(1, everything + 1):
        if mask & (mask - 1) == 0 or not allowed[mask]:
            continue
        waiting = waits[mask]
        left = mask
        while True:
            left = next_split(left, mask, options)
            if left == 0:
                break
            right = mask ^ left
            if not is_split(left, right, allowed, linked, options):
                continue
            meets = equal[mask] > equal[left] + equal[right]
            f = np.exp(logs[mask] - logs[left] - logs[right])
            pending = waiting
            while True:
                at_left = left | ((pending & waits[left]) << inputs)
                at_right = right | ((pending & waits[right]) << inputs)
                state = mask | (pending << inputs)
                rows_left = windows[left] * shares[waits[left] & ~pending]
                rows_right = windows[right] * shares[waits[right] & ~pending]
                kept = rows_left * weights[left] + rows_right * weights[right]
                spent = join_cost(
                    0.0, left, right, rows_left, rows_right, f, meets, turnovers, linked, lines
                )
                for i in range(counts[at_left]):
                    for j in range(counts[at_right]):
                        all_spent = spent + cpu[at_left, i] + cpu[at_right, j]
                        all_kept = kept + memory[at_left, i] + memory[at_right, j]
                        if all_spent > cpu_max or all_kept + least[mask] > memory_max:
                            continue
                        full = not frontier and counts[state] == size
                        if full and not by_memory and all_spent > cpu[state, size - 1]:
                            break
                        if full and by_memory and all_kept > memory[state, size - 1]:
                            break
                        if frontier:
                            lost |= keep_frontier(
                                state,
                                all_spent,
                                all_kept,
                                left,
                                i,
                                j,
                                -1,
                                counts,
                                cpu,
                                memory,
                                sources,
                            )
                        else:
                            keep_best(
                                state, all_spent, all_kept, left, i, j, -1, counts, cpu,
                                memory, sources, by_memory,
                            )  # fmt: skip
                if pending == 0:
                    break
                pending = (pending - 1) & waiting
        pending = waiting
        while pending:
            state = mask | (pending << inputs)
            rate = windows[mask] * shares[waiting & ~pending] * turnovers[mask]
            for selection in range(ask_s.shape[0]):
                bit = 1 << selection
                if not pending & bit or not (between[selection] or mask == everything):
                    continue
                after = mask | ((pending ^ bit) << inputs)
                for i in range(counts[state]):
                    all_spent = cpu[state, i] + ask_s[selection] * rate
                    if all_spent > cpu_max:
                        continue
                    if frontier:
                        lost |= keep_frontier(
                            after,
                            all_spent,
                            memory[state, i],
                            NONE,
                            i,
                            0,
                            selection,
                            counts,
                            cpu,
                            memory,
                            sources,
                        )
                    else:
                        keep_best(
                            after, all_spent, memory[state, i], NONE, i, 0, selection,
                            counts, cpu, memory, sources, by_memory,
                        )  # fmt: skip
            pending = (pending - 1) & waiting
    return lost
