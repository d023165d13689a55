"""Trees of many inputs: built greedily, then improved step by step, until no step helps.

A tree is an array of nodes: the inputs first, then the joins. A step cuts out a part and puts it
in elsewhere. Every place for a part is priced in one walk down the rest of the tree: what lies
beside the way is as it was, what lies on it has the part among its inputs. Sets of inputs, and the
arrays over them, are those of `kernels.planning`.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Floats, Ints
from penstock.kernels.compilation import kernel, tight
from penstock.kernels.join_trees import BY_MEMORY, PRODUCTS, WORST, join_cost

Nodes = tuple[Ints, Ints, Ints, Ints]
"""Left and right parts, parents and sets; -1 for none."""
Sets = tuple[Floats, Floats, Floats, Floats, Ints, Ints, Floats]
"""Lines, windows, turnovers, logs, equal, linked and weights: see `kernels.planning`."""
Kept = tuple[Floats, Ints, Ints]
"""The best trees met: what they are ordered by, their number, and the parts of their joins."""

BEYOND, FIRST, SECOND = range(3)
"""What trees are ordered by: how far beyond the bound, then the objective, then the other."""
GAIN = 1e-12
"""A step gains more than this, relatively: sums are rounded."""
MIX = 0x9E3779B97F4A7C15 - (1 << 64)


@tight
def join_figures(left: int, right: int, sets: Sets) -> tuple[float, float]:
    """Give what a join of two sets takes, and what it keeps."""
    lines, windows, turnovers, logs, equal, linked, weights = sets
    mask = left | right
    meets = equal[mask] > equal[left] + equal[right]
    f = np.exp(logs[mask] - logs[left] - logs[right])
    spent = join_cost(
        0.0, left, right, windows[left], windows[right], f, meets, turnovers, linked, lines
    )
    return spent, windows[left] * weights[left] + windows[right] * weights[right]


@tight
def is_barred(left: int, right: int, options: int, linked: Ints) -> bool:
    """Say whether a join of two sets is a product, and products are forbidden."""
    return options & PRODUCTS == 0 and linked[left | right] <= linked[left] + linked[right]


@tight
def figures_of(spent: float, kept: float, options: int, bound: float, out: Floats) -> None:
    """Write what a tree is ordered by."""
    sign = -1.0 if options & WORST else 1.0
    first, second = (kept, spent) if options & BY_MEMORY else (spent, kept)
    out[BEYOND] = max(second - bound, 0.0)
    out[FIRST], out[SECOND] = sign * first, sign * second


@tight
def is_before(one: Floats, other: Floats) -> bool:
    """Say whether figures are better than others, by more than rounding."""
    for place in range(3):
        if one[place] == other[place]:
            continue
        if np.isinf(other[place]) or np.isinf(one[place]):
            return bool(one[place] < other[place])
        close = GAIN * max(abs(one[place]), abs(other[place]))
        if one[place] < other[place] - close:
            return True
        if one[place] > other[place] + close:
            return False
    return False


@tight
def set_number(mask: int) -> int:
    """Mix a set's bits: the sum over a tree's joins names the tree."""
    mixed = mask * MIX
    mixed ^= (mixed >> 29) & 0x7FFFFFFFF
    return mixed * MIX


@kernel
def tree_greedy(inputs: int, by_window: bool, options: int, sets: Sets, nodes: Nodes) -> bool:
    """Join, again and again, the parts whose result is the smallest; for the worst, the largest.

    Rates are compared, or windows. Says whether a tree was found without forbidden products.
    """
    left, right, parent, masks = nodes
    windows, turnovers, linked = sets[1], sets[2], sets[5]
    sign = -1.0 if options & WORST else 1.0
    parts = np.arange(inputs)
    count = inputs
    for number in range(inputs):
        left[number] = right[number] = parent[number] = -1
        masks[number] = 1 << number
    node = inputs
    while count > 1:
        best, one, other = np.inf, -1, -1
        for i in range(count):
            for j in range(i + 1, count):
                mask = masks[parts[i]] | masks[parts[j]]
                if is_barred(masks[parts[i]], masks[parts[j]], options, linked):
                    continue
                size = windows[mask] if by_window else windows[mask] * turnovers[mask]
                if one < 0 or sign * size < best:
                    best, one, other = sign * size, i, j
        if one < 0:
            return False
        left[node], right[node] = parts[one], parts[other]
        parent[parts[one]] = parent[parts[other]] = node
        masks[node] = masks[parts[one]] | masks[parts[other]]
        parent[node] = -1
        parts[one] = node
        parts[other] = parts[count - 1]
        count -= 1
        node += 1
    return True


@kernel
def tree_figures(
    inputs: int, options: int, bound: float, sets: Sets, nodes: Nodes, below: Floats, out: Floats
) -> bool:
    """Sum up what the parts of a tree take and keep (`below`), and order the tree by it.

    Says whether it has no forbidden product.
    """
    left, right, _, masks = nodes
    below[:] = 0.0
    root = -1
    order = np.argsort(masks[inputs:])  # a part's set is a smaller number than the whole's
    for place in order:
        node = inputs + place
        one, other = left[node], right[node]
        if is_barred(masks[one], masks[other], options, sets[5]):
            return False
        spent, kept = join_figures(masks[one], masks[other], sets)
        below[node, 0] = spent + below[one, 0] + below[other, 0]
        below[node, 1] = kept + below[one, 1] + below[other, 1]
        root = node
    figures_of(below[root, 0], below[root, 1], options, bound, out)
    return True


@kernel
def tree_keep(found: Floats, number: int, parts: Ints, kept: Kept) -> None:
    """Put a tree among the best that were met, unless it is there already; the last falls out."""
    figures, numbers, joins = kept
    count = len(numbers)
    for place in range(count):
        if not np.isinf(figures[place, FIRST]) and numbers[place] == number:
            return
    place = count
    while place > 0 and is_before(found, figures[place - 1]):
        place -= 1
    for moved in range(count - 1, place, -1):
        figures[moved] = figures[moved - 1]
        numbers[moved] = numbers[moved - 1]
        joins[moved] = joins[moved - 1]
    if place < count:
        figures[place], numbers[place], joins[place] = found, number, parts


@tight
def tree_number(inputs: int, nodes: Nodes, parts: Ints) -> int:
    """Give a tree's number, and write the parts of its joins."""
    left, right, _, masks = nodes
    number = 0
    for place in range(inputs - 1):
        node = inputs + place
        parts[place, 0], parts[place, 1] = masks[left[node]], masks[right[node]]
        number += set_number(masks[node])
    return number


@tight
def part_moved(part: int, place: int, nodes: Nodes) -> None:
    """Cut a part out of a tree, and put it in beside another."""
    left, right, parent, masks = nodes
    join = parent[part]
    beside = left[join] if right[join] == part else right[join]
    above = parent[join]
    parent[beside] = above
    if above >= 0:
        if left[above] == join:
            left[above] = beside
        else:
            right[above] = beside
    while above >= 0:
        masks[above] = masks[left[above]] | masks[right[above]]
        above = parent[above]
    above = parent[place]
    parent[join] = above
    if above >= 0:
        if left[above] == place:
            left[above] = join
        else:
            right[above] = join
    left[join], right[join] = place, part
    parent[place] = parent[part] = join
    masks[join] = masks[place] | masks[part]
    while above >= 0:
        masks[above] = masks[left[above]] | masks[right[above]]
        above = parent[above]


@kernel
def tree_step(
    inputs: int, options: int, bound: float, sets: Sets, nodes: Nodes, below: Floats,
    best: Floats, kept: Kept,
) -> tuple[int, int]:  # fmt: skip
    """Price every step from a tree; give the part and the place of the best one, or -1.

    `below` is what parts take and keep, `best` what the tree is ordered by: it becomes that of the
    best step. All that are met are kept, as far as there is room.
    """
    left, right, parent, masks = nodes
    size = len(masks)
    linked = sets[5]
    rest, on_way, own = np.zeros((size, 2)), np.zeros((size, 2)), np.zeros(size, dtype=np.int64)
    order = np.empty(size, dtype=np.int64)
    child = np.empty((size, 2), dtype=np.int64)
    found = np.empty(3)
    copy = (left.copy(), right.copy(), parent.copy(), masks.copy())
    parts = np.empty((inputs - 1, 2), dtype=np.int64)
    best_part = best_place = -1
    many = len(kept[1]) > 1
    for part in range(size):
        join = parent[part]
        if join < 0:
            continue
        mask = masks[part]
        beside = left[join] if right[join] == part else right[join]
        # The rest of the tree, every node after the one above it.
        count, done = 1, 0
        order[0] = beside if parent[join] < 0 else -1
        if order[0] < 0:
            top = join
            while parent[top] >= 0:
                top = parent[top]
            order[0] = top
        while done < count:
            node = order[done]
            done += 1
            own[node] = masks[node] & ~mask
            if left[node] < 0:
                continue
            for side in range(2):
                below_it = left[node] if side == 0 else right[node]
                child[node, side] = beside if below_it == join else below_it
                order[count] = child[node, side]
                count += 1
        # What the rest takes without the part, from below.
        for place in range(count - 1, -1, -1):
            node = order[place]
            rest[node] = 0.0
            if left[node] < 0:
                continue
            one, other = child[node, 0], child[node, 1]
            if own[node] == masks[node]:
                rest[node] = below[node]
            else:
                spent, keeps = join_figures(own[one], own[other], sets)
                rest[node, 0] = spent + rest[one, 0] + rest[other, 0]
                rest[node, 1] = keeps + rest[one, 1] + rest[other, 1]
        # What lies on the way to every place, with the part among its inputs, from above.
        on_way[order[0]] = 0.0
        for place in range(count):
            node = order[place]
            if left[node] >= 0:
                one, other = child[node, 0], child[node, 1]
                spent, keeps = join_figures(own[one] | mask, own[other], sets)
                on_way[one, 0] = on_way[node, 0] + spent + rest[other, 0]
                on_way[one, 1] = on_way[node, 1] + keeps + rest[other, 1]
                spent, keeps = join_figures(own[one], own[other] | mask, sets)
                on_way[other, 0] = on_way[node, 0] + spent + rest[one, 0]
                on_way[other, 1] = on_way[node, 1] + keeps + rest[one, 1]
            if node == beside:
                continue
            spent, keeps = join_figures(own[node], mask, sets)
            figures_of(
                on_way[node, 0] + rest[node, 0] + spent + below[part, 0],
                on_way[node, 1] + rest[node, 1] + keeps + below[part, 1],
                options, bound, found,
            )  # fmt: skip
            better = is_before(found, best)
            worth_keeping = many and is_before(found, kept[0][-1])
            if not better and not worth_keeping:
                continue
            if options & PRODUCTS == 0 or worth_keeping:
                for k in range(4):
                    copy[k][:] = nodes[k]
                part_moved(part, node, copy)
                if options & PRODUCTS == 0 and has_product(inputs, copy, linked):
                    continue
                if worth_keeping:
                    number = tree_number(inputs, copy, parts)
                    tree_keep(found, number, parts, kept)
            if better:
                best[:] = found
                best_part, best_place = part, node
    return best_part, best_place


@tight
def has_product(inputs: int, nodes: Nodes, linked: Ints) -> bool:
    """Say whether a join of the tree is a product."""
    left, right, _, masks = nodes
    for node in range(inputs, len(masks)):
        one, other = masks[left[node]], masks[right[node]]
        if linked[one | other] <= linked[one] + linked[other]:
            return True
    return False


@kernel
def tree_improve(
    inputs: int, options: int, bound: float, steps_max: int, sets: Sets, nodes: Nodes, kept: Kept
) -> None:
    """Improve a tree by its best step, and again, until none helps; keep the best trees met."""
    below = np.zeros((len(nodes[3]), 2))
    best = np.empty(3)
    parts = np.empty((inputs - 1, 2), dtype=np.int64)
    if not tree_figures(inputs, options, bound, sets, nodes, below, best):
        return
    tree_keep(best, tree_number(inputs, nodes, parts), parts, kept)
    for _ in range(steps_max):
        part, place = tree_step(inputs, options, bound, sets, nodes, below, best, kept)
        if part < 0:
            break
        part_moved(part, place, nodes)
        tree_figures(inputs, options, bound, sets, nodes, below, best)
        tree_keep(best, tree_number(inputs, nodes, parts), parts, kept)
