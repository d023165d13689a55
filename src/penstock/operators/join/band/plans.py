"""Plans: how a batch is run through one structure, on all cores and in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from penstock.kernels.band_groups import groups_fill, groups_find
from penstock.kernels.bands import (
    OUTER,
    STATE,
    pairs_spread,
    ranges_merge,
    ranges_probe,
    ranges_scan,
    values_distinct,
)
from penstock.operators.join.band.lists import GroupLists
from penstock.operators.join.band.ranges import OrderedRanges, Values
from penstock.operators.shared.threads import PART_MIN, run_parts
from penstock.vocabulary.batches import Ints, Rows

CAPACITY = 1 << 20
"""Pairs per piece; more where one step may write more."""
UNIT = 64
"""Steps of work that count as one event when a batch is divided among threads."""

Pairs = tuple[Rows, Rows]
Answer = TypeVar("Answer")
Fill = Callable[[Ints, Values, Rows, Rows, Rows], int]
"""`(state, arriving values, their places, buffer, buffer)`: write pairs until all is full."""


def distinct(values: Values) -> Values:
    """Give the distinct ones of ascending values."""
    out = np.empty_like(values)
    return out[: values_distinct(values, out)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Arriving values, ascending, and the rows that have them.

    Where many rows share a value, `given` holds it once and value k is that of
    rows[spans[k] : spans[k + 1]]. Else `spans` is None and row k has value k.
    """

    given: Values
    rows: Rows
    spans: Ints | None = None

    @classmethod
    def of(cls, given: Values, rows: Rows) -> Batch:
        """Make a batch of ascending values."""
        starts = np.flatnonzero(given[1:] != given[:-1]) + 1
        if 8 * len(starts) > 7 * len(given) or len(given) == 0:
            return cls(given=given, rows=rows)
        spans = np.concatenate([[0], starts, [len(given)]])
        return cls(given=given[spans[:-1]], rows=rows, spans=spans)

    def weights(self) -> Ints:
        """Give how many rows have each value."""
        if self.spans is None:
            return np.ones(len(self.given), dtype=np.int64)
        return np.diff(self.spans)

    def spread(self, pairs: Pairs) -> Pairs:
        """Give the rows' pairs for those of the values."""
        if self.spans is None:
            return pairs
        total = int(self.weights()[pairs[0]].sum())
        out = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
        pairs_spread(*pairs, self.spans, self.rows, *out)
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One structure's part of a batch."""

    fill: Fill
    """Writes pairs."""
    steps: int | None
    """How many steps of the kernel's outer loop complete it; None: one per tuple."""
    room: int | None
    """How many pairs one step may write; None: one per tuple."""
    work: int
    """Steps of work per tuple, about."""
    find: Callable[[Ints, Values], Ints] | None = field(default=None)
    """Finds answers without writing them: `(state, arriving values) -> members in slices`, by
    arriving value."""

    def pieces(self, batch: Batch, threads: int, total: Ints, keep: bool = True) -> Iterator[Pairs]:
        """Give all pairs; add the work to `total`.

        With `keep` false, pieces share a buffer and name places in `batch.given`, not rows.
        """
        given, rows = batch.given, batch.rows
        if batch.spans is not None or not keep:
            rows = np.arange(len(given), dtype=np.int32)
        cuts = self._cuts(len(given), threads)
        states = np.zeros((len(cuts) - 1, STATE), dtype=np.int64)
        shared: dict[int, Pairs] = {}

        def advance(part: int) -> Pairs:
            own = slice(cuts[part], cuts[part + 1])
            room = len(given[own]) if self.room is None else self.room
            size = max(CAPACITY if keep else 0, room + 1)
            out = None if keep else shared.get(part)
            if out is None:
                out = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
                shared[part] = out
            count = self.fill(states[part], given[own], rows[own], *out)
            return out[0][:count], out[1][:count]

        waiting = list(range(len(states)))
        while waiting:
            for pairs in _together(advance, waiting, threads):
                if len(pairs[0]):
                    yield batch.spread(pairs) if keep else pairs
            waiting = [
                part for part in waiting
                if states[part][OUTER] < (
                    cuts[part + 1] - cuts[part] if self.steps is None else self.steps
                )
            ]  # fmt: skip
        total += states.sum(axis=0)

    def measure(self, batch: Batch, threads: int, total: Ints) -> int:
        """Find all answers without keeping them: give how many queries their slices hold."""
        find, given, weights = self.find, batch.given, batch.weights()
        if find is None:
            found = self.pieces(batch, threads, total, keep=False)
            return sum(int(weights[places].sum()) for places, _ in found)
        cuts = self._cuts(len(given), threads)
        states = np.zeros((len(cuts) - 1, STATE), dtype=np.int64)

        def part_find(part: int) -> int:
            own = slice(cuts[part], cuts[part + 1])
            return int(find(states[part], given[own]) @ weights[own])

        found_ = _together(part_find, list(range(len(states))), threads)
        total += states.sum(axis=0)
        return sum(found_)

    def _cuts(self, tuples: int, threads: int) -> list[int]:
        """Divide a batch: a little work is not worth a second thread."""
        parts = max(1, min(threads, tuples, tuples * self.work // UNIT // PART_MIN))
        return [tuples * part // parts for part in range(parts + 1)]


def _together(call: Callable[[int], Answer], parts: list[int], threads: int) -> list[Answer]:
    """Call a function for each part, side by side."""

    def some(start: int, stop: int) -> list[Answer]:
        return [call(part) for part in parts[start // PART_MIN : stop // PART_MIN]]

    return [one for own in run_parts(some, len(parts) * PART_MIN, threads) for one in own]


def merge_plan(ranges: OrderedRanges, values: Values) -> Plan:
    """BJ-MJ: merge ranges and values for every tuple."""
    own = (ranges.low, ranges.high, ranges.slot)
    return Plan(
        fill=lambda state, b, rows, *out: ranges_merge(state, b, rows, values, *own, *out),
        steps=None,
        room=len(ranges),
        work=len(ranges),
    )


def data_plan(ranges: OrderedRanges, values: Values) -> Plan:
    """BJ-D: look up every value's difference among the ranges."""
    own = (ranges.low, ranges.high, ranges.slot, ranges.blocks)
    return Plan(
        fill=lambda state, b, rows, *out: ranges_probe(state, b, rows, values, *own, *out),
        steps=None,
        room=len(ranges),
        work=16 * len(values),
    )


def queries_plan(ranges: OrderedRanges, values: Values) -> Plan:
    """BJ-Q: look up every range among the values."""
    own = (ranges.low, ranges.high, ranges.slot)
    return Plan(
        fill=lambda state, b, rows, *out: ranges_scan(state, b, rows, values, *own, *out),
        steps=len(ranges),
        room=None,
        work=8 * len(ranges),
    )


def groups_plan(lists: GroupLists, values: Values) -> Plan:
    """BJ-SSI: for every group, the members up to the neighbours of its point."""
    groups = lists.groups

    def find(state: Ints, given: Values) -> Ints:
        reached = np.zeros(len(given), dtype=np.int64)
        groups_find(state, given, values, groups, reached)
        return reached

    return Plan(
        fill=lambda state, b, rows, *out: groups_fill(state, b, rows, values, groups, *out),
        steps=len(lists),
        room=int(np.diff(groups.starts).max(initial=0)),
        work=16 * len(lists),
        find=find,
    )
