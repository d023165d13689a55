"""The best that could have been done: optimal joining and caching with all keys known.

Both are yardsticks: no policy that does not know the future can beat them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.kernels.bounded_optimum import farthest_discard, slots_flow
from penstock.vocabulary.batches import Flags, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """The most results of a join for every budget, and a way to reach those of the largest."""

    values: Ints
    """`values[k]`: the most results with a budget of k rows, k = 0 … budget."""
    until: Ints
    """`until[s, t]`: the row of stream s that arrives at tick t is held until its result at this
    tick; -1 if it is not held at all."""


def opt_offline(
    first: Ints, second: Ints, budget: int, warm_up: int = 0, lasts: Ints | None = None
) -> Optimum:
    """Solve a join of two streams, one row each per tick, for all budgets up to one.

    Results between rows of one tick and results before the tick `warm_up` are not counted. The row
    of stream s that arrives at tick t joins up to the tick `lasts[s, t]`; forever, if not given.

    >>> opt_offline(np.array([1, 2, 3]), np.array([0, 1, 2]), 2).values.tolist()
    [0, 2, 2]
    """
    assert len(first) == len(second)
    assert budget >= 0
    keys = np.stack([np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)])
    distinct, codes = np.unique(keys, return_inverse=True)
    codes = codes.reshape(keys.shape).astype(np.int64)
    if not keys.shape[1]:
        return Optimum(values=np.zeros(budget + 1, dtype=np.int64), until=keys)
    ends = np.full(2 * keys.shape[1], keys.shape[1]) if lasts is None else lasts.T.reshape(-1)
    values, until = slots_flow(
        codes, len(distinct), np.ascontiguousarray(ends, dtype=np.int64), budget, warm_up
    )
    return Optimum(values=values, until=np.ascontiguousarray(until.reshape(-1, 2).T))


def next_uses(keys: Ints) -> Ints:
    """Give when each reference's key is referenced next; the length and more, if never.

    >>> next_uses(np.array([7, 8, 7])).tolist()
    [2, 3, 3]
    """
    count = len(keys)
    order = np.argsort(keys, kind="stable")
    nexts = np.full(count, count, dtype=np.int64)
    same = keys[order[1:]] == keys[order[:-1]]
    nexts[order[:-1][same]] = order[1:][same]
    return nexts


def lfd(keys: Ints, budget: int) -> Flags:
    """Say which references are hits if what is needed last is discarded, or never admitted.

    >>> lfd(np.array([1, 2, 3, 1, 2]), 2).tolist()
    [False, False, False, True, True]
    """
    assert budget >= 1
    keys = np.asarray(keys, dtype=np.int64)
    distinct, codes = np.unique(keys, return_inverse=True)
    hits = farthest_discard(codes.astype(np.int64), next_uses(keys), len(distinct), budget)
    return np.asarray(hits, dtype=np.bool_)
