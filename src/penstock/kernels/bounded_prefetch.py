"""What a large pool will look at soon, asked for now.

A pool that is larger than a core's cache waits for memory: an arrival for its buckets, then for the
groups that they name, then for a row; a victim for the same. All of them are known before, so they
are asked for in steps, each when what it depends on is there: for arrivals some rows ahead, for
victims as they rise towards the top of their heap. Nothing is decided by it: a line that is no
longer the right one by then was asked for in vain.
"""

from __future__ import annotations

from penstock.kernels.arrays import Flags, Ints
from penstock.kernels.bounded_heaps import BRANCHES, ITEM
from penstock.kernels.bounded_slots import (
    GROUP_HEAD,
    GROUP_PLACE,
    GROUP_TAIL,
    TABLE_GROUP,
    Pool,
    half_hash,
)
from penstock.kernels.compilation import inlined
from penstock.kernels.interval_heaps import end_key
from penstock.kernels.prefetch import line_fetch
from penstock.kernels.score_lines import Lines, cell_fetch

FAR_ROWS = 1 << 14
"""Slots from which on a pool is larger than a core's cache."""
AHEAD = 2
"""Arrivals between a step and the next."""
FIRST_LAST = BRANCHES
"""The last node of the level below a heap's top."""
SECOND_LAST = BRANCHES * FIRST_LAST + BRANCHES
THIRD_LAST = BRANCHES * SECOND_LAST + BRANCHES


@inlined
def is_far(pool: Pool) -> bool:
    """Say whether a pool's lines are worth asking for."""
    return len(pool.rows) >= FAR_ROWS


@inlined
def bucket_group(pool: Pool, stream: int, key: int) -> int:
    """Give the group in the bucket where the search for one begins; any, if there is none."""
    group = pool.table[half_hash(stream, key) & (len(pool.table) - 1), TABLE_GROUP]
    return max(int(group), 0)


@inlined
def arrivals_fetch(
    pool: Pool, lines: Lines, joins: Flags, streams: Ints, keys: Ints, ranked: bool, at: int
) -> None:  # fmt: skip
    """Ask for what arrivals after the one at a place will look at, the furthest first."""
    mask = len(pool.table) - 1
    third, second, first = at + 3 * AHEAD, at + 2 * AHEAD, at + AHEAD
    if third < len(keys):
        for stream in range(joins.shape[0]):
            line_fetch(pool.table, half_hash(stream, keys[third]) & mask)
            if ranked and joins[streams[third], stream]:
                cell_fetch(lines, stream, keys[third])
    if second < len(keys):
        for stream in range(joins.shape[0]):
            line_fetch(pool.groups, bucket_group(pool, stream, keys[second]))
    if first < len(keys):
        group = bucket_group(pool, streams[first], keys[first])
        line_fetch(pool.rows, max(pool.groups[group, GROUP_TAIL], 0))


@inlined
def keys_fetch(pool: Pool, stream: int, end: int, at: int) -> None:
    """Ask for what stands behind keys that rose on the way to a node of the third level below."""
    nodes = pool.heaps[2 * stream]
    if at > SECOND_LAST:
        key = end_key(nodes, at, end)
        line_fetch(pool.table, half_hash(stream, key) & (len(pool.table) - 1))
        at = (at - 1) // BRANCHES
    if at > FIRST_LAST:
        line_fetch(pool.groups, bucket_group(pool, stream, end_key(nodes, at, end)))
        at = (at - 1) // BRANCHES
    row_fetch(pool, bucket_group(pool, stream, end_key(nodes, at, end)))


@inlined
def groups_fetch(pool: Pool, at: int) -> None:
    """Ask for groups that rose on the way to a node of the second level below."""
    heap = pool.heaps[0]
    if at > FIRST_LAST:
        line_fetch(pool.groups, heap[at, ITEM])
        at = (at - 1) // BRANCHES
    row_fetch(pool, heap[at, ITEM])


@inlined
def row_fetch(pool: Pool, group: int) -> None:
    """Ask for a group's oldest row, and for where the group is listed."""
    line_fetch(pool.lists[GROUP_PLACE], group)
    line_fetch(pool.rows, max(pool.groups[group, GROUP_HEAD], 0))
