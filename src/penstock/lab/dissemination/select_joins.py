"""Select-joins as filters: what changes of two tables change in their join, without selections.

Of all subscriptions with one join and selections of their own, the server keeps none. It sends
every joined row that comes or goes; each subscription is a filter over joined rows, without state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.vocabulary.batches import Ints


class KeyedRows(NamedTuple):
    """Rows by number, with the code of what they are joined by; a sign says come (1) or go (-1)."""

    rows: Ints
    keys: Ints
    signs: Ints


class JoinedRows(NamedTuple):
    """Joined rows that come (1) or go (-1)."""

    left: Ints
    right: Ints
    signs: Ints


def joined_rows(left: KeyedRows, right: KeyedRows) -> JoinedRows:
    """Give all pairs with one key, in the order of the left rows; signs multiply.

    >>> one, two = np.array([1, -1]), np.array([1, 1])
    >>> pairs = joined_rows(KeyedRows(one * 0, one * 0 + 5, one), KeyedRows(two, two * 5, two))
    >>> pairs.signs.tolist()
    [1, 1, -1, -1]
    """
    order = np.argsort(right.keys, kind="stable")
    keys = right.keys[order]
    first, last = (np.searchsorted(keys, left.keys, side=side) for side in ("left", "right"))
    counts = last - first
    lefts = np.repeat(np.arange(len(left.keys)), counts)
    ends = np.cumsum(counts)
    steps = np.arange(int(counts.sum())) - np.repeat(ends - counts, counts)
    rights = order[np.repeat(first, counts) + steps]
    return JoinedRows(left.rows[lefts], right.rows[rights], left.signs[lefts] * right.signs[rights])


def join_changes(
    left_before: KeyedRows, left_changes: KeyedRows, right_before: KeyedRows,
    right_changes: KeyedRows,
) -> JoinedRows:  # fmt: skip
    """Give what a batch of changes of both tables changes in their join."""
    parts = (
        joined_rows(left_changes, right_before),
        joined_rows(left_before, right_changes),
        joined_rows(left_changes, right_changes),
    )
    return JoinedRows(*(np.concatenate(column) for column in zip(*parts, strict=True)))
