"""Owning: which shard answers for a band query, when every shard sees every row.

Queries are divided by stabbing group, and the group must not depend on what else stands, or shards
with different pasts would disagree. So the group is taken from the range alone: the roundest number
in it (the one with the most trailing zero bits). Queries with the same roundest number are all
stabbed by it.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.digests import digests_divide, numbers_digest, roundest
from penstock.operators.protocol import Share
from penstock.vocabulary.batches import Flags, Ints


def owned(lows: Ints, highs: Ints, share: Share) -> Flags:
    """Say which ranges belong to a share; each belongs to exactly one.

    >>> owned(np.array([3, 100]), np.array([9, 130]), Share()).tolist()
    [True, True]
    """
    points = np.empty(len(lows), dtype=np.int64)
    roundest(np.ascontiguousarray(lows), np.ascontiguousarray(highs), points)
    digests = np.zeros(len(points), dtype=np.uint64)
    numbers_digest(points, np.ones(len(points), dtype=np.bool_), digests)
    shards = np.empty(len(points), dtype=np.int32)
    digests_divide(digests, share.count, shards)
    mine: Flags = shards == share.number
    return mine
