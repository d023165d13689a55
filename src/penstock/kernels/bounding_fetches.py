"""What a large pool will look at soon, asked for now.

A pool that is larger than a core's cache waits for memory: an arrival for its buckets, then for the
groups that they name, then for a row; a victim for the same. All of them are known some arrivals
before, so they are asked for in steps, each when what it depends on is there. Nothing is decided by
it: a line that is no longer the right one by then was asked for in vain.
"""

from __future__ import annotations

from penstock.kernels.bounding import (
    GROUP_HEAD,
    GROUP_TAIL,
    ORDERED,
    TABLE_GROUP,
    Flags,
    Ints,
    Pool,
    half_hash,
    stream_at,
)
from penstock.kernels.bounding_extremes import BRANCHES, end_key
from penstock.kernels.bounding_heaps import ITEM
from penstock.kernels.bounding_victims import EXTREMES, RANKED
from penstock.kernels.compilation import inlined
from penstock.kernels.fetching import line_fetch
from penstock.kernels.scoring_lines import Lines, cell_fetch

FAR_ROWS = 1 << 14
"""Slots from which on a pool is larger than a core's cache."""
AHEAD = 2
"""Arrivals between a step and the next."""
STEPS = 3


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
    pool: Pool, lines: Lines, joins: Flags, streams: Ints, keys: Ints, mode: int, at: int
) -> None:  # fmt: skip
    """Ask for what arrivals after the one at a place will look at, the furthest first."""
    mask = len(pool.table) - 1
    third, second, first = at + 3 * AHEAD, at + 2 * AHEAD, at + AHEAD
    if third < len(keys):
        for stream in range(joins.shape[0]):
            line_fetch(pool.table, half_hash(stream, keys[third]) & mask)
            if mode == RANKED and joins[streams[third], stream]:
                cell_fetch(lines, stream, keys[third])
    if second < len(keys):
        for stream in range(joins.shape[0]):
            line_fetch(pool.groups, bucket_group(pool, stream, keys[second]))
    if first < len(keys):
        group = bucket_group(pool, streams[first], keys[first])
        line_fetch(pool.rows, max(pool.groups[group, GROUP_TAIL], 0))


@inlined
def victims_fetch(pool: Pool, mode: int, tick: int) -> None:
    """Ask for what will be looked at when those go that stand below the top.

    They stand there for some ticks: their buckets are asked for in one (step 0), their groups in
    the next, then their oldest rows; for one stream, then for the other.
    """
    step = tick % STEPS
    if mode == RANKED and step > 0 and pool.meta[stream_at(0, ORDERED)] > BRANCHES:
        for child in range(1, BRANCHES + 1):
            group_fetch(pool, pool.heaps[0, child, ITEM], step)
    if mode != EXTREMES:
        return
    mask = len(pool.table) - 1
    stream = tick // STEPS & 1
    if pool.meta[stream_at(stream, ORDERED)] > 2 * BRANCHES:
        nodes = pool.heaps[2 * stream]
        for child in range(1, BRANCHES + 1):
            for end in range(2):
                if step == 0:
                    line_fetch(pool.table, half_hash(stream, end_key(nodes, child, end)) & mask)
                else:
                    group_fetch(pool, bucket_group(pool, stream, end_key(nodes, child, end)), step)


@inlined
def group_fetch(pool: Pool, group: int, step: int) -> None:
    """Ask for a group, or if that is there, for its oldest row."""
    if step == 1:
        line_fetch(pool.groups, group)
    else:
        line_fetch(pool.rows, max(pool.groups[group, GROUP_HEAD], 0))
