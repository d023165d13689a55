"""The order in which groups go: heaps of those whose rank is kept, moves, or lies at an end.

A group's rank under still streams never changes, and so it mostly leaves from the heap's top; under
trends the groups that leave have their stream's smallest or largest key. Then nothing needs to know
where a group stands, and no group is touched but the one that comes or goes. A group that leaves
from elsewhere, when windows end its rows, leaves its place behind, *stale*, until that comes to the
top; should stale places become many, the order is made anew. Where ranks change, a group knows its
place.

Of still streams the arrivals that are not worth keeping go in the tick in which they came. The last
groups that came are looked at one by one, and only those that stay enter the heap.
"""

from __future__ import annotations

from penstock.kernels.bounded_heaps import (
    ITEM,
    RANK,
    heap_fix,
    heap_pop,
    heap_push,
    heap_put,
    heap_remove,
)
from penstock.kernels.bounded_prefetch import (
    SECOND_LAST,
    THIRD_LAST,
    groups_fetch,
    is_far,
    keys_fetch,
)
from penstock.kernels.bounded_slots import (
    GROUP_KEY,
    GROUP_LIST,
    GROUP_RANK,
    GROUP_SIZE,
    GROUP_STREAM,
    GROUPS,
    HEAP_PLACE,
    NONE,
    ORDERED,
    STALE,
    YOUNG,
    Pool,
    group_find,
    stale_most,
    stream_at,
)
from penstock.kernels.compilation import inlined, tight
from penstock.kernels.interval_heaps import HIGH, LOW, end_key, extremes_pop, extremes_push

YOUNG_MOST = 8
"""Groups that wait for the heap: most arrivals that are refused never enter it."""


@inlined
def moving_order(pool: Pool, group: int, rank: int) -> None:
    """Put a group whose rank changes into the heap that all streams share."""
    at = stream_at(0, ORDERED)
    heap_push(pool.heaps[0], pool.places, HEAP_PLACE, pool.meta[at], rank, group)
    pool.meta[at] += 1


@inlined
def moving_unorder(pool: Pool, group: int) -> None:
    """Take it out."""
    at = stream_at(0, ORDERED)
    heap_remove(pool.heaps[0], pool.places, HEAP_PLACE, pool.meta[at], group)
    pool.meta[at] -= 1


@inlined
def moving_rerank(pool: Pool, group: int, rank: int) -> None:
    """Change its rank."""
    size = pool.meta[stream_at(0, ORDERED)]
    heap_fix(pool.heaps[0], pool.places, HEAP_PLACE, size, rank, group)


@inlined
def ranked_put(pool: Pool, rank: int, group: int) -> None:
    """Put a group whose rank never changes into the heap that all streams share."""
    at = stream_at(0, ORDERED)
    heap_put(pool.heaps[0], pool.meta[at], rank, group)
    pool.meta[at] += 1


@inlined
def ranked_order(pool: Pool, group: int, rank: int) -> None:
    """Put a group whose rank never changes among the young; if they are many, into the heap."""
    pool.groups[group, GROUP_RANK] = rank
    young = pool.heaps[1]
    if pool.meta[YOUNG] == YOUNG_MOST:
        for place in range(YOUNG_MOST):
            ranked_put(pool, young[place, RANK], young[place, ITEM])
        pool.meta[YOUNG] = 0
    young[pool.meta[YOUNG], RANK] = rank
    young[pool.meta[YOUNG], ITEM] = group
    pool.meta[YOUNG] += 1


@inlined
def ranked_pop(pool: Pool) -> None:
    """Take the heap's top out."""
    at = stream_at(0, ORDERED)
    risen = heap_pop(pool.heaps[0], pool.meta[at], SECOND_LAST)
    pool.meta[at] -= 1
    if is_far(pool):
        groups_fetch(pool, risen)


@inlined
def ranked_first(pool: Pool) -> int:
    """Give the group with the lowest rank; among equal ones, the heap's."""
    heap, stale = pool.heaps[0], stream_at(0, STALE)
    while pool.meta[stale] > 0 and pool.meta[stream_at(0, ORDERED)] > 0:
        group = heap[0, ITEM]
        if pool.groups[group, GROUP_SIZE] and pool.groups[group, GROUP_RANK] == heap[0, RANK]:
            break
        ranked_pop(pool)
        pool.meta[stale] -= 1
    young, best, lowest = pool.heaps[1], heap[0, ITEM], heap[0, RANK]
    if pool.meta[stream_at(0, ORDERED)] == 0:
        best, lowest = young[0, ITEM], young[0, RANK]
    for place in range(pool.meta[YOUNG]):
        if young[place, RANK] < lowest:
            best, lowest = young[place, ITEM], young[place, RANK]
    return int(best)


@inlined
def young_take(pool: Pool, group: int) -> bool:
    """Take a group out of the young, if it is there."""
    young, last = pool.heaps[1], pool.meta[YOUNG] - 1
    for place in range(last + 1):
        if young[place, ITEM] == group:
            young[place, RANK], young[place, ITEM] = young[last, RANK], young[last, ITEM]
            pool.meta[YOUNG] = last
            return True
    return False


@tight
def ranked_remake(pool: Pool, leaving: int) -> None:
    """Put all groups but one into the heap anew."""
    pool.meta[stream_at(0, ORDERED)] = pool.meta[stream_at(0, STALE)] = pool.meta[YOUNG] = 0
    for place in range(pool.meta[GROUPS]):
        group = pool.lists[GROUP_LIST, place]
        if group != leaving:
            ranked_put(pool, pool.groups[group, GROUP_RANK], group)


@inlined
def ranked_unorder(pool: Pool, group: int) -> None:
    """Take out an empty group that is about to be closed."""
    if young_take(pool, group):
        return
    if pool.heaps[0, 0, ITEM] == group:
        ranked_pop(pool)
        return
    pool.meta[stream_at(0, STALE)] += 1
    if pool.meta[stream_at(0, STALE)] > stale_most(pool.meta[GROUPS]):
        ranked_remake(pool, group)


@inlined
def extremes_order(pool: Pool, stream: int, key: int) -> None:
    """Let a stream's key be found when it is the smallest or largest."""
    at = stream_at(stream, ORDERED)
    extremes_push(pool.heaps[2 * stream], pool.meta[at], key)
    pool.meta[at] += 1


@inlined
def extreme_pop(pool: Pool, stream: int, end: int) -> None:
    """Take a stream's smallest or largest key out."""
    at = stream_at(stream, ORDERED)
    risen = extremes_pop(pool.heaps[2 * stream], pool.meta[at], end, THIRD_LAST)
    pool.meta[at] -= 1
    if is_far(pool):
        keys_fetch(pool, stream, end, risen)


@inlined
def extreme_key(pool: Pool, stream: int, end: int) -> int:
    """Give a stream's smallest or largest key; some group has it."""
    nodes, stale = pool.heaps[2 * stream], stream_at(stream, STALE)
    while pool.meta[stale] > 0 and group_find(pool, stream, end_key(nodes, 0, end)) == NONE:
        extreme_pop(pool, stream, end)
        pool.meta[stale] -= 1
    return end_key(nodes, 0, end)


@tight
def extremes_remake(pool: Pool, stream: int, leaving: int) -> None:
    """Order the keys of all groups of a stream but one anew."""
    pool.meta[stream_at(stream, ORDERED)] = pool.meta[stream_at(stream, STALE)] = 0
    for place in range(pool.meta[GROUPS]):
        group = pool.lists[GROUP_LIST, place]
        if group != leaving and pool.groups[group, GROUP_STREAM] == stream:
            extremes_order(pool, stream, pool.groups[group, GROUP_KEY])


@inlined
def extremes_unorder(pool: Pool, group: int) -> None:
    """Take out the key of an empty group that is about to be closed."""
    stream, key = pool.groups[group, GROUP_STREAM], pool.groups[group, GROUP_KEY]
    nodes = pool.heaps[2 * stream]
    if end_key(nodes, 0, LOW) == key:
        extreme_pop(pool, stream, LOW)
        return
    if end_key(nodes, 0, HIGH) == key:
        extreme_pop(pool, stream, HIGH)
        return
    stale, at = stream_at(stream, STALE), stream_at(stream, ORDERED)
    pool.meta[stale] += 1
    if pool.meta[stale] > stale_most(pool.meta[at] - pool.meta[stale]):
        extremes_remake(pool, stream, group)
