"""Sets of distinct values over ranges: which subscriptions gain or lose a value by a change.

The tree's keys are (partition, y, x): the tuples of one value lie together, by x. A tuple that is
the first of its value at x tells all ranges around x up to the neighbours of the same value.
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
def value_tell(
    tree: RangeTree, at: int, partition: int, x: int, y: int, gone: bool, ordinal: int,
    messages: RangeMessages, k: int,
) -> None:  # fmt: skip
    """Write who gains or loses a value at x, which was sought last: all up to its neighbours."""
    trail_begin(tree)
    left = trail_left(tree, partition, HIGHEST)
    trail_begin(tree)
    if at == NONE:
        tree.trail_places[tree.state[HEIGHT] - 1] -= 1
    right = trail_right(tree, partition, HIGHEST)
    outer_l = LOWEST if left == NONE or tree.xs[left] != y else tree.ys[left] + 1
    outer_r = HIGHEST if right == NONE or tree.xs[right] != y else tree.ys[right] - 1
    message_write(messages, k, ordinal, partition, y, gone, x, x, outer_l, outer_r)


@tight
def sets_process(
    tree: RangeTree, updates: RangeUpdates, messages: RangeMessages, progress: Ints
) -> int:
    """Make updates one after the other, each by inserting first, and write what they tell.

    Returns
    -------
    int
        What is lacking: with more of it, the same call goes on where this one ended.
    """
    for i in range(progress[NEXT], len(updates.goes)):
        progress[NEXT] = i
        if tree.state[SPARE] < tree.state[HEIGHT] + 1:
            return NODES
        if progress[WRITTEN] + 2 > len(messages.values):
            return MESSAGES
        if updates.comes[i]:
            p, x, y = updates.new_partitions[i], updates.new_xs[i], updates.new_ys[i]
            at = tree_seek(tree, p, y, x)
            if at == NONE:
                value_tell(tree, at, p, x, y, False, i, messages, progress[WRITTEN])
                progress[WRITTEN] += 1
                tree_insert(tree, p, y, x, 0, 1)
            else:
                tree.links[at] += 1
        if updates.goes[i]:
            p, x, y = updates.old_partitions[i], updates.old_xs[i], updates.old_ys[i]
            at = tree_seek(tree, p, y, x)
            if at == NONE:
                progress[MISSING] += 1
            elif tree.links[at] > 1:
                tree.links[at] -= 1
            else:
                value_tell(tree, at, p, x, y, True, i, messages, progress[WRITTEN])
                progress[WRITTEN] += 1
                tree_delete(tree)
    progress[NEXT] = len(updates.goes)
    return DONE
