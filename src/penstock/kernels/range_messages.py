"""Messages of range minima: which subscriptions a change concerns, told as rectangles.

A subscription [x1, x2] is a point. A message says that all subscriptions of a partition with
outer_l <= x1 <= inner_l and inner_r <= x2 <= outer_r have a new minimum, or, if it is `empty`, no
tuple any more. All four bounds are inclusive, so that the least and the greatest integers are
values like others: the open bound of the specification is outer_l - 1, and the least integer means
that there is none.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.kernels.arrays import Flags, Ints
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.range_searches import (
    HIGHEST,
    LOWEST,
    trail_begin,
    trail_left,
    trail_right,
    tree_find_right,
)
from penstock.kernels.range_trees import (
    ENTRIES,
    HEIGHT,
    NONE,
    SPARE,
    RangeTree,
    leaf_fetch,
    tree_delete,
    tree_insert,
    tree_seek,
    tree_seek_x,
    way_lower,
)

NEXT, STAGE, WRITTEN, INSERTED, MISSING = range(5)
"""Places of `progress`: the next update, what of it is done, messages written, the message of its
insertion, and deletions of what is not there."""
PROGRESS = 5
WHOLE, HULL = 0, 1
"""Stages: nothing is done, or all but the messages of the deletion."""
AHEAD = 8
"""So many updates before its turn, memory of an update's leaf is asked for."""
DONE, NODES, MESSAGES, POINTS = range(4)
"""What a run lacks when it ends: nothing, nodes, room for messages or for points of a hull."""


class RangeTuples(NamedTuple):
    """Tuples by column; one that stands several times is several."""

    partitions: Ints
    xs: Ints
    ys: Ints


class RangeUpdates(NamedTuple):
    """Tuples that go and that come, by update; either may be absent."""

    goes: Flags
    old_partitions: Ints
    old_xs: Ints
    old_ys: Ints
    comes: Flags
    new_partitions: Ints
    new_xs: Ints
    new_ys: Ints


class RangeMessages(NamedTuple):
    """Rectangles of subscriptions with the new minimum of all of them."""

    ordinals: Ints
    """The number of the update."""
    partitions: Ints
    values: Ints
    empty: Flags
    inner_l: Ints
    inner_r: Ints
    outer_l: Ints
    outer_r: Ints


class RangeHull(NamedTuple):
    """Room for the points of an upper hull left and right of its peak."""

    left_xs: Ints
    left_ys: Ints
    right_xs: Ints
    right_ys: Ints


@tight
def left_bound(upper: RangeTree, at: int) -> int:
    """Give the first x right of an entry, or the least integer if there is none."""
    return LOWEST if at == NONE else upper.xs[at] + 1


@tight
def right_bound(upper: RangeTree, at: int) -> int:
    """Give the last x left of an entry, or the greatest integer if there is none."""
    return HIGHEST if at == NONE else upper.xs[at] - 1


@tight
def tuple_insert(
    upper: RangeTree, lower: RangeTree, at: int, partition: int, x: int, y: int
) -> None:
    """Add a tuple to the two tiers; its x was sought in the upper one, and is at entry `at`."""
    if at == NONE:
        tree_insert(upper, partition, x, 0, y, 1)
        return
    least = upper.lows[at]
    if y == least:
        upper.links[at] += 1
        return
    rest, count = y, 1
    if y < least:
        rest, count = least, upper.links[at]
        upper.lows[at], upper.links[at] = y, 1
        way_lower(upper)
    found = tree_seek(lower, partition, x, rest)
    if found == NONE:
        tree_insert(lower, partition, x, rest, rest, count)
    else:
        lower.links[found] += count


@tight
def tuple_delete(upper: RangeTree, lower: RangeTree, partition: int, x: int, y: int) -> bool:
    """Take a tuple out of the two tiers; say whether it was there."""
    at = tree_seek_x(upper, partition, x)
    if at == NONE or y < upper.lows[at]:
        return False
    if y > upper.lows[at]:
        found = tree_seek(lower, partition, x, y)
        if found == NONE:
            return False
        lower.links[found] -= 1
        if lower.links[found] == 0:
            tree_delete(lower)
        return True
    upper.links[at] -= 1
    if upper.links[at] > 0:
        return True
    found = tree_find_right(lower, partition, x, LOWEST, HIGHEST)
    if found == NONE or lower.xs[found] != x:
        tree_delete(upper)
        return True
    upper.lows[at], upper.links[at] = lower.lows[found], lower.links[found]
    way_lower(upper)
    tree_seek(lower, partition, x, lower.ys[found])
    tree_delete(lower)
    return True


@tight
def message_write(
    messages: RangeMessages, k: int, ordinal: int, partition: int, value: int, empty: bool,
    inner_l: int, inner_r: int, outer_l: int, outer_r: int,
) -> None:  # fmt: skip
    """Write message k."""
    messages.ordinals[k], messages.partitions[k] = ordinal, partition
    messages.values[k], messages.empty[k] = value, empty
    messages.inner_l[k], messages.inner_r[k] = inner_l, inner_r
    messages.outer_l[k], messages.outer_r[k] = outer_l, outer_r


@inlined
def trail_begin_right(upper: RangeTree, at: int) -> None:
    """Begin a search to the right of the x that was sought last, and is at entry `at` if any."""
    trail_begin(upper)
    if at == NONE:
        upper.trail_places[upper.state[HEIGHT] - 1] -= 1


@tight
def insertion_tell(
    upper: RangeTree, at: int, partition: int, x: int, y: int, ordinal: int,
    messages: RangeMessages, k: int,
) -> int:  # fmt: skip
    """Write the message of a tuple that is about to come, if any: its maximum affected range.

    Returns
    -------
    int
        How many messages are written.
    """
    if at != NONE and upper.lows[at] <= y:
        return k
    trail_begin(upper)
    left = left_bound(upper, trail_left(upper, partition, y))
    trail_begin_right(upper, at)
    right = right_bound(upper, trail_right(upper, partition, y))
    message_write(messages, k, ordinal, partition, y, False, x, x, left, right)
    return k + 1


@tight
def deletion_tell(
    upper: RangeTree, at: int, partition: int, x: int, y: int, ordinal: int,
    messages: RangeMessages, k: int, hull: RangeHull,
) -> int:  # fmt: skip
    """Write the messages of a tuple that is gone: its upper hull, each point with what it exposes.

    Its x was sought, and is at entry `at`, if any tuple is left there.

    Returns
    -------
    int
        How many messages are written; a number below zero if room for points of the hull or, the
        second case, for messages is too small.
    """
    room = len(hull.left_xs)
    if at != NONE and upper.lows[at] <= y:
        return k
    there, empty, peak, bound = at, at == NONE, 0, HIGHEST
    if at != NONE:
        peak = upper.lows[at]
        bound = peak - 1
    lefts = rights = 0
    reach = bound
    trail_begin(upper)
    while True:
        at = trail_left(upper, partition, reach)
        if at == NONE or upper.lows[at] <= y:
            break
        if lefts == room:
            return -POINTS
        reach = upper.lows[at] - 1
        hull.left_xs[lefts], hull.left_ys[lefts] = upper.xs[at], upper.lows[at]
        lefts += 1
    left_end = left_bound(upper, at)
    reach = bound
    trail_begin_right(upper, there)
    while True:
        at = trail_right(upper, partition, reach)
        if at == NONE or upper.lows[at] <= y:
            break
        if rights == room:
            return -POINTS
        reach = upper.lows[at] - 1
        hull.right_xs[rights], hull.right_ys[rights] = upper.xs[at], upper.lows[at]
        rights += 1
    right_end = right_bound(upper, at)
    if k + 1 + lefts + rights > len(messages.values):
        return -MESSAGES
    i = j = 0
    inner_l = inner_r = x
    value = peak
    while True:
        outer_l = hull.left_xs[i] + 1 if i < lefts else left_end
        outer_r = hull.right_xs[j] - 1 if j < rights else right_end
        message_write(
            messages, k, ordinal, partition, value, empty, inner_l, inner_r, outer_l, outer_r
        )
        k += 1
        empty = False
        # The larger value next: if both are equal, the one on the right.
        if j < rights and (i == lefts or hull.right_ys[j] >= hull.left_ys[i]):
            value, inner_l, inner_r = hull.right_ys[j], x, hull.right_xs[j]
            j += 1
        elif i < lefts:
            value, inner_l, inner_r = hull.left_ys[i], hull.left_xs[i], x
            i += 1
        else:
            return k


@tight
def messages_merge(messages: RangeMessages, inserted: int, end: int, old_x: int) -> int:
    """Say with one message what the insertion of a moved tuple and one of its deletion say.

    Returns
    -------
    int
        How many messages are left.
    """
    x, value = messages.inner_l[inserted], messages.values[inserted]
    left, right = messages.outer_l[inserted], messages.outer_r[inserted]
    low, high = min(x, old_x), max(x, old_x)
    if old_x == x or (left != old_x + 1 if old_x < x else right != old_x - 1):
        return end
    for k in range(inserted + 1, end):
        if messages.empty[k] or messages.values[k] != value:
            continue
        if messages.inner_l[k] != low or messages.inner_r[k] != high:
            continue
        outer = right == messages.outer_r[k] if old_x < x else left == messages.outer_l[k]
        if outer:
            messages.inner_l[k] = messages.inner_r[k] = x
            for later in range(inserted + 1, end):
                message_write(
                    messages, later - 1, messages.ordinals[later], messages.partitions[later],
                    messages.values[later], messages.empty[later], messages.inner_l[later],
                    messages.inner_r[later], messages.outer_l[later], messages.outer_r[later],
                )  # fmt: skip
            return end - 1
    return end


@tight
def value_replace(
    upper: RangeTree, lower: RangeTree, at: int, partition: int, x: int, old: int, new: int
) -> bool:
    """Change a tuple's value at its x, which is at entry `at`, if it alone is least there.

    Both values are never there together, which is the same: the greater of them is hidden by the
    other one. If the value rises, there must be no other tuple at x.
    """
    if at == NONE or upper.lows[at] != old or upper.links[at] != 1:
        return False
    if new > old and lower.state[ENTRIES] > 0:
        found = tree_find_right(lower, partition, x, LOWEST, HIGHEST)
        if found != NONE and lower.xs[found] == x:
            return False
    upper.lows[at] = new
    way_lower(upper)
    return True


@tight
def updates_process(
    upper: RangeTree, lower: RangeTree, updates: RangeUpdates, messages: RangeMessages,
    hull: RangeHull, progress: Ints,
) -> int:  # fmt: skip
    """Make updates one after the other, each by inserting first, and write what they tell.

    Returns
    -------
    int
        What is lacking: with more of it, the same call goes on where this one ended.
    """
    for i in range(progress[NEXT], len(updates.goes)):
        progress[NEXT] = i
        k = progress[WRITTEN]
        goes, comes = updates.goes[i], updates.comes[i]
        ahead = i + AHEAD
        if ahead < len(updates.goes):
            if updates.comes[ahead]:
                leaf_fetch(upper, updates.new_partitions[ahead], updates.new_xs[ahead])
            else:
                leaf_fetch(upper, updates.old_partitions[ahead], updates.old_xs[ahead])
        old_p, old_x, old_y = updates.old_partitions[i], updates.old_xs[i], updates.old_ys[i]
        p, x, y = updates.new_partitions[i], updates.new_xs[i], updates.new_ys[i]
        gone = progress[STAGE] == HULL
        if gone:
            at = tree_seek_x(upper, old_p, old_x)
        else:
            progress[INSERTED] = NONE
            if upper.state[SPARE] < upper.state[HEIGHT] + 1:
                return NODES
            if lower.state[SPARE] < lower.state[HEIGHT] + 1:
                return NODES
            if k == len(messages.values):
                return MESSAGES
            at, replaced = NONE, False
            if comes:
                at = tree_seek_x(upper, p, x)
                k = insertion_tell(upper, at, p, x, y, i, messages, k)
                progress[INSERTED] = NONE if k == progress[WRITTEN] else progress[WRITTEN]
                progress[WRITTEN] = k
                if goes and old_x == x and old_p == p:
                    replaced = value_replace(upper, lower, at, p, x, old_y, y)
                if not replaced:
                    tuple_insert(upper, lower, at, p, x, y)
            gone = replaced
            if goes and not replaced:
                gone = tuple_delete(upper, lower, old_p, old_x, old_y)
                progress[MISSING] += not gone
                at = tree_seek_x(upper, old_p, old_x)
        if gone:
            progress[STAGE] = HULL
            k = deletion_tell(upper, at, old_p, old_x, old_y, i, messages, k, hull)
            if k < 0:
                return -k
            inserted = progress[INSERTED]
            if inserted != NONE and messages.partitions[inserted] == old_p:
                k = messages_merge(messages, inserted, k, old_x)
            progress[WRITTEN] = k
        progress[STAGE] = WHOLE
    progress[NEXT] = len(updates.goes)
    return DONE
