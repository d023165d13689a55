"""What model queries were told, added up plainly: from when to when each answer holds."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import pyarrow as pa

Range = tuple[int, int]
OWN = frozenset({"x", "y", "price", "mean", "top", "status", "starts", "ends", "at"})
"""Columns that are no keys."""
NEAR_US = 2


def held(table: pa.Table, until: int) -> dict[Any, dict[tuple[Any, ...], list[Range]]]:
    """Give the ranges in which something of what was told is left, by query and by key."""
    sums: dict[Any, dict[Any, dict[Range, int]]] = defaultdict(dict)
    keys = [name for name in table.column_names if name[0] != "_" and name not in OWN]
    for row in table.to_pylist():
        first = row.get("starts") or row["at"]
        last = row.get("ends") or first
        span = (round(first.timestamp() * 1e6), round(last.timestamp() * 1e6))
        spans = sums[row["_id"]].setdefault(tuple(row[name] for name in keys), {})
        spans[span] = spans.get(span, 0) + row["_sign"]
    found: dict[Any, dict[tuple[Any, ...], list[Range]]] = {}
    for query, by_key in sums.items():
        own = {key: _ranges(spans, until) for key, spans in by_key.items()}
        found[query] = {key: ranges for key, ranges in own.items() if ranges}
    return {query: own for query, own in found.items() if own}


def _ranges(spans: dict[Range, int], until: int) -> list[Range]:
    here: dict[Range, int] = defaultdict(int)
    for (first, last), sign in spans.items():
        if first <= until:
            here[first, min(last, until)] += sign
    cuts = sorted({each for span in here for each in span})
    left = [
        (low, high)
        for low, high in pairwise(cuts)
        if sum(n for (first, last), n in here.items() if first <= low and high <= last) > 0
    ]
    left += [(at, at) for at in cuts if here.get((at, at), 0) > 0]
    merged: list[Range] = []
    for low, high in sorted(left):
        if merged and low <= merged[-1][1] + NEAR_US:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged
