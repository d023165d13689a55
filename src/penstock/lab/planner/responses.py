"""Response times: a join of three streams on one server that takes rows one by one, as they come.

A result's response time is when it is made, less when the latest of its rows came. The operator
cannot be asked for it: it keeps rows until all streams have passed their time, and works in
batches. So rows and windows are played here. Rows wait in one queue, first come, first served; a
row, and every composite that it makes below the last join, takes a constant time, and its results
are made at the end of that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from penstock.algebra.trees import Join, Leaf, Tree
from penstock.lab.planner.workload import SECOND_US, DrawnStreams

KeyValues = tuple[int, ...]
"""A row's value of every key of the query; NO_VALUE where its stream has none."""
NO_VALUE = -1


@dataclass(frozen=True, slots=True)
class Served:
    """A row: when it came, in seconds, how much enters a join for it, and what it makes."""

    came: float
    entering: int
    results: int


def served_rows(streams: DrawnStreams, tree: Tree) -> Iterator[Served]:
    """Play the rows of three streams in the order of time, through windows of rows."""
    assert isinstance(tree, Join)
    assert isinstance(tree.left, Join)
    first = {leaf.input for leaf in (tree.left.left, tree.left.right) if isinstance(leaf, Leaf)}
    sources = streams.query.sources
    (last,) = set(range(len(sources))) - first
    held = [deque[KeyValues](maxlen=source.window.size) for source in sources]
    for came, number, row in _in_order(streams):
        # A row of the last join meets pairs; one of the first makes pairs, which enter the last.
        one, other = (held[k] for k in (*(first - {number}), last) if k != number)
        found = [(x, y) for x in one if _meet(x, row) for y in other if _meet(y, row)]
        results = sum(_meet(x, y) for x, y in found)
        composites = 0 if number == last else sum(_meet(x, row) for x in one)
        yield Served(came, 1 + composites, results)
        held[number].append(row)


def response_s(rows: Iterable[Served], cost_s: float, after_s: float = 0.0) -> float:
    """Give the mean response time of the results whose latest row came after some seconds.

    >>> response_s([Served(1.0, 3, 1), Served(1.5, 1, 1)], cost_s=1.0)
    3.25
    """
    clock, total, count = 0.0, 0.0, 0
    for row in rows:
        clock = max(clock, row.came) + row.entering * cost_s
        if row.came >= after_s:
            total += row.results * (clock - row.came)
            count += row.results
    return total / max(count, 1)


def _in_order(streams: DrawnStreams) -> Iterator[tuple[float, int, KeyValues]]:
    """Give all rows by time: when each came, its stream, and its keys."""
    query = streams.query
    times, numbers, keys = [], [], []
    for number, source in enumerate(query.sources):
        table = streams.tables[source.name]
        times.append(table["seen"].cast("int64").to_numpy() / SECOND_US)
        numbers.append(np.full(table.num_rows, number))
        none = np.full(table.num_rows, NO_VALUE)
        columns = [
            table[f"k{place}"].to_numpy() if number in key.inputs else none
            for place, key in enumerate(query.keys)
        ]
        keys.append(np.stack(columns, axis=1))
    came = np.concatenate(times)
    order = np.argsort(came, kind="stable")
    parts = came[order].tolist(), np.concatenate(numbers)[order].tolist()
    for seconds, number, values in zip(*parts, np.concatenate(keys)[order].tolist(), strict=True):
        yield seconds, number, tuple(values)


def _meet(one: KeyValues, other: KeyValues) -> bool:
    """Say whether two rows agree in every key that both have."""
    return all(
        left == right or NO_VALUE in (left, right) for left, right in zip(one, other, strict=True)
    )
