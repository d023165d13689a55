"""Caching is joining: a reference stream becomes two streams without duplicates.

The i-th reference to a key asks for the database's row number i - 1 of that key and offers row
number i. An offered row joins once, at the next reference, and is dead from then on; hits of a
cache and results of the join are the same number (Xie's dissertation, theorem 7).
"""

from __future__ import annotations

import numpy as np

from penstock.vocabulary.batches import Ints


def reduced(references: Ints) -> tuple[Ints, Ints]:
    """Give demand and supply: a line (key, number) per tick for each.

    >>> demand, supply = reduced(np.array([1, 2, 1]))
    >>> demand.tolist(), supply.tolist()
    ([[1, 0], [2, 0], [1, 1]], [[1, 1], [2, 1], [1, 2]])
    """
    references = np.asarray(references, dtype=np.int64)
    order = np.argsort(references, kind="stable")
    ordered = references[order]
    is_new = np.ones(len(ordered), dtype=np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    starts = np.maximum.accumulate(np.where(is_new, np.arange(len(ordered)), 0))
    numbers = np.empty(len(references), dtype=np.int64)
    numbers[order] = np.arange(len(ordered)) - starts
    return np.column_stack((references, numbers)), np.column_stack((references, numbers + 1))


def paired(rows: Ints) -> Ints:
    """Number the distinct (key, number) pairs of demand or supply lines, for joins on one key.

    Give both streams at once, one below the other, so that equal pairs get equal numbers.
    """
    found = np.unique(rows, axis=0, return_inverse=True)[1]
    return np.asarray(found, dtype=np.int64).reshape(-1)
