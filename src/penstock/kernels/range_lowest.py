"""The k lowest values over ranges: who may be concerned by a change, and the values of a range.

The tree's keys are (partition, x, y), `low` being y: every tuple is an entry. A tuple is among the
k lowest of a range if fewer than k others up to its value are. With l1 >= l2 >= … the x of those on
its left, r1 <= r2 <= … on its right, and c at its own x, these are the disjoint rectangles from
behind l(a + 1) to l(a), up to before r(k - c - a), for a = 0 … k - c - 1, where l(0) is its x.
"""

from __future__ import annotations

from penstock.kernels.arrays import Ints
from penstock.kernels.compilation import tight
from penstock.kernels.range_messages import (
    DONE,
    MESSAGES,
    MISSING,
    NEXT,
    NODES,
    WRITTEN,
    RangeMessages,
    RangeUpdates,
    message_write,
)
from penstock.kernels.range_searches import (
    HIGHEST,
    LOWEST,
    trail_begin,
    trail_left,
    trail_right,
)
from penstock.kernels.range_trees import (
    HEIGHT,
    NONE,
    SPARE,
    RangeTree,
    tree_delete,
    tree_insert,
    tree_seek,
)


@tight
def lowest_tell(
    tree: RangeTree, partition: int, x: int, y: int, gone: bool, ordinal: int,
    messages: RangeMessages, written: int, lefts: Ints, rights: Ints,
) -> int:  # fmt: skip
    """Write who has a tuple, which is not in the tree, among the lowest; `lefts` has k places.

    Returns
    -------
    int
        How many messages are written.
    """
    tree_seek(tree, partition, x, LOWEST)
    wanted, left, right = len(lefts), 0, 0
    trail_begin(tree)
    tree.trail_places[tree.state[HEIGHT] - 1] -= 1
    while right < wanted:
        at = trail_right(tree, partition, y)
        if at == NONE:
            break
        if tree.xs[at] == x:
            wanted = max(wanted - tree.links[at], 0)
        else:
            for _ in range(min(tree.links[at], wanted - right)):
                rights[right] = tree.xs[at]
                right += 1
    trail_begin(tree)
    while left < wanted:
        at = trail_left(tree, partition, y)
        if at == NONE:
            break
        for _ in range(min(tree.links[at], wanted - left)):
            lefts[left] = tree.xs[at]
            left += 1
    for a in range(min(wanted, left + 1)):
        inner_l = lefts[a - 1] if a > 0 else x
        outer_l = lefts[a] + 1 if a < left else LOWEST
        last = wanted - a - 1
        outer_r = rights[last] - 1 if last < right else HIGHEST
        if outer_l <= inner_l:
            message_write(
                messages, written, ordinal, partition, y, gone, inner_l, x, outer_l, outer_r
            )
            written += 1
    return written


@tight
def lowest_process(
    tree: RangeTree, updates: RangeUpdates, messages: RangeMessages, lefts: Ints, rights: Ints,
    progress: Ints,
) -> int:  # fmt: skip
    """Make updates one after the other, and write whom they may concern.

    Returns
    -------
    int
        What is lacking: with more of it, the same call goes on where this one ended.
    """
    for i in range(progress[NEXT], len(updates.goes)):
        progress[NEXT] = i
        if tree.state[SPARE] < tree.state[HEIGHT] + 1:
            return NODES
        k = progress[WRITTEN]
        if k + 2 * len(lefts) > len(messages.values):
            return MESSAGES
        if updates.comes[i]:
            p, x, y = updates.new_partitions[i], updates.new_xs[i], updates.new_ys[i]
            k = lowest_tell(tree, p, x, y, False, i, messages, k, lefts, rights)
            at = tree_seek(tree, p, x, y)
            if at == NONE:
                tree_insert(tree, p, x, y, y, 1)
            else:
                tree.links[at] += 1
        if updates.goes[i]:
            p, x, y = updates.old_partitions[i], updates.old_xs[i], updates.old_ys[i]
            at = tree_seek(tree, p, x, y)
            if at == NONE:
                progress[MISSING] += 1
            else:
                tree.links[at] -= 1
                if tree.links[at] == 0:
                    tree_delete(tree)
                k = lowest_tell(tree, p, x, y, True, i, messages, k, lefts, rights)
        progress[WRITTEN] = k
    progress[NEXT] = len(updates.goes)
    return DONE


@tight
def ranges_lowest(
    tree: RangeTree, partitions: Ints, firsts: Ints, lasts: Ints, values: Ints, counts: Ints
) -> None:
    """Write the lowest values of every range in order, as many as a row has places; and how many.

    What is met from left to right is looked at only if it is lower than the last that is kept.
    """
    most = values.shape[1]
    for r in range(len(partitions)):
        tree_seek(tree, partitions[r], firsts[r], LOWEST)
        trail_begin(tree)
        tree.trail_places[tree.state[HEIGHT] - 1] -= 1
        bound, count = HIGHEST, 0
        while True:
            at = trail_right(tree, partitions[r], bound)
            if at == NONE or tree.xs[at] > lasts[r]:
                break
            for _ in range(min(tree.links[at], most)):
                if count == most and tree.lows[at] >= values[r, most - 1]:
                    break
                count = min(count + 1, most)
                place = count - 1
                while place > 0 and values[r, place - 1] > tree.lows[at]:
                    values[r, place] = values[r, place - 1]
                    place -= 1
                values[r, place] = tree.lows[at]
            if count == most:
                if values[r, most - 1] == LOWEST:
                    break
                bound = values[r, most - 1] - 1
        counts[r] = count
        for place in range(count, most):
            values[r, place] = 0
