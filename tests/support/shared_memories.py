"""Memories that several bounded joins share: shapes, queries, and a slow twin of the group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.algebra.crossings import Crossing
from penstock.algebra.inputs import Place, WindowLength
from penstock.algebra.memories import Memory
from penstock.algebra.multi_joins import MultiJoin
from penstock.operators.bounded.caches import JoinCache
from penstock.operators.bounded.policy_control import Steering
from penstock.operators.bounded_join import register
from penstock.operators.bounded_join.keys import JoinKeys
from penstock.vocabulary.batches import QueryChanges
from tests.oracle.joins import is_null
from tests.oracle.multijoins import WaitingTwin
from tests.support.bounded_joins import BoundedGroupTwin
from tests.support.joins import NOTHING, Row, parameter_table
from tests.support.multi_joins import ACROSS, LOCALS, Found, multi_join

KEYS = {"numbers": "k", "texts": "s"}
"""The column that all streams of a memory are held by."""
WINDOWS: dict[str, tuple[WindowLength | None, ...]] = {
    "none": (None, None, None, None),
    "rows": tuple(WindowLength("rows", size) for size in (6, 4, 9, 5)),
    "mixed": (WindowLength("rows", 7), WindowLength("range", 6), None, WindowLength("range", 9)),
}


@dataclass(frozen=True)
class Shape:
    """A join of two streams of a memory: which, and what it asks beside their keys."""

    pair: tuple[int, int]
    local: str
    further: tuple[tuple[Place, Place], ...] = ()
    """More equalities, over the inputs 0 and 1 of the pair."""


def _moved(places: tuple[Place, Place], pair: tuple[int, int]) -> tuple[Place, Place]:
    (i, left), (j, right) = places
    return (pair[i], left), (pair[j], right)


def alone(key: str, shape: Shape, windows: Sequence[WindowLength | None]) -> MultiJoin:
    """Make a shape's join of its two streams, as if no other shared the memory."""
    whole = multi_join("pair", shape.local)
    names = "abcd"
    inputs = tuple(
        replace(
            multi_join("star" if names[at] in "abd" else "chain", "plain").inputs[
                {"a": 0, "b": 1, "c": 2, "d": 2}[names[at]]
            ],
            window=windows[at],
            branch=each.branch,
        )
        for at, each in zip(shape.pair, whole.inputs, strict=True)
    )
    crossing = Crossing(equalities=(((0, KEYS[key]), (1, KEYS[key])), *shape.further))
    return replace(whole, inputs=inputs, crossing=crossing)


def shared_join(
    key: str, shape: Shape, windows: Sequence[WindowLength | None], memory: Memory
) -> BoundedJoin:
    """Make a join in a memory of as many streams as there are windows."""
    own = alone(key, shape, windows)
    bare = [
        alone(key, Shape((number, number - 1), "plain"), windows).inputs[0]
        for number in range(len(windows))
    ]
    inputs = [replace(each, branch=NOTHING) for each in bare]
    for number, each in zip(shape.pair, own.inputs, strict=True):
        inputs[number] = each
    across = LOCALS[shape.local][2]
    if across is not None:
        assert across is ACROSS
        across = replace(across, columns=tuple(f"i{number}.x" for number in shape.pair))
    crossing = Crossing(
        equalities=tuple(_moved(each, shape.pair) for each in own.crossing.equalities)
    )
    join = replace(own, inputs=tuple(inputs), crossing=crossing, residual=across)
    return BoundedJoin.of(join, memory=memory, keys=(KEYS[key],) * len(windows))


def queries_of(
    logical: BoundedJoin, rows: list[Row], first: int, drops: Sequence[int] = ()
) -> QueryChanges:
    """Register rows of parameters."""
    found = register(logical, logical.step(), parameter_table(rows), first)
    assert len(found.refusals.row) == 0
    return QueryChanges(adds=found.adds, drops=np.array(sorted(drops), dtype=np.int64))


class SharedMemoryTwin:
    """Joins in one memory, one row after another.

    Who stays is said by a cache and its steering, which have twins of their own; all else, from the
    order of rows to who is answered, is worked out anew.
    """

    def __init__(self, key: str, shapes: Sequence[Shape], logicals: Sequence[BoundedJoin]) -> None:
        whole = logicals[0]
        self.join, self.memory, self.column = whole, whole.memory, KEYS[key]
        count = len(self.join.inputs)
        self.numeric = JoinKeys(whole.step()).numeric
        sizes = [each.window.size if each.window else None for each in self.join.inputs]
        self.shapes = list(shapes)
        windows = [each.window for each in self.join.inputs]
        self.askers = [
            BoundedGroupTwin(BoundedJoin.of(alone(key, shape, windows), memory=Memory(rows=1)))
            for shape in shapes
        ]
        self.joins = np.zeros((count, count), dtype=bool)
        self.steering = Steering(
            self.memory, numeric=self.numeric, budget=self.memory.rows, joins=self.joins,
            windows=tuple(None if size is None else float(size) for size in sizes),
        )  # fmt: skip
        self.cache = JoinCache(
            self.memory.rows, self.steering.policy(), joins=self.joins, windows=sizes
        )
        lateness = {n: each.lateness_us for n, each in enumerate(self.join.inputs)}
        self.waiting = WaitingTwin(lateness, self.join.waiting, together=count)
        self.past: dict[int, list[Row]] = {number: [] for number in range(count)}
        self.counters = [0] * count
        self.done = 0
        self.codes: dict[str, int] = {}
        self.rows: dict[int, tuple[int, Row]] = {}

    def apply(self, shape: int, adds: dict[int, Row], drops: Sequence[int]) -> None:
        """Let queries of one shape come, and any go."""
        for asker in self.askers:
            for number in drops:
                asker.queries.pop(number, None)
        clocks = self.waiting.clocks
        pair = self.shapes[shape].pair
        born = {place: clocks[number] for place, number in enumerate(pair) if number in clocks}
        self.askers[shape].queries |= {number: (row, born) for number, row in adds.items()}

    def process(self, batch: dict[str, list[Row]]) -> Found:
        """Take a batch; give what its rows are joined to, by query and by the rows' numbers."""
        joins = np.zeros_like(self.joins)
        for shape, asker in zip(self.shapes, self.askers, strict=True):
            if asker.queries:
                joins[shape.pair] = joins[shape.pair[::-1]] = True
        if not np.array_equal(joins, self.joins):
            self.joins = joins
            self.steering.rejoin(self.cache, joins)
        for number, each in enumerate(self.join.inputs):
            rows = batch.get(each.relation, [])
            self.past[number] += rows
            told = (self.waiting.arrive(number, row["t"]) for row in rows)
            self.waiting.waiting += [came for came in told if came is not None]
        order = self.waiting.release()
        found: Found = Counter()
        count = len(self.join.inputs)
        for at in range(0, len(order), count):
            fed = []
            for came in order[at : at + count]:
                number, row = came.number, self.past[came.number][came.place]
                self.counters[number] += 1
                nows = [self._now(n, came.time) for n in range(count)]
                if self._wanted(number, row):
                    fed.append((number, self._key(row), nows, row))
            if fed:
                found.update(self._tick(self.done // count, fed))
            self.done += count
        return found

    def _now(self, number: int, time: int) -> int:
        window = self.join.inputs[number].window
        if window is None:
            return 0
        return time if window.kind == "range" else self.counters[number]

    def _key(self, row: Row) -> int:
        value = row[self.column]
        return int(value) if self.numeric else self.codes.setdefault(value, len(self.codes))

    def _wanted(self, number: int, row: Row) -> bool:
        return not is_null(row[self.column]) and any(
            number in shape.pair and asker._wanted(shape.pair.index(number), row)
            for shape, asker in zip(self.shapes, self.askers, strict=True)
        )

    def _tick(self, now: int, fed: list[tuple[int, int, list[int], Row]]) -> list[tuple[int, ...]]:
        first = self.cache.arrivals
        streams, keys, nows, rows = (list(part) for part in zip(*fed, strict=True))
        for place, (stream, row) in enumerate(zip(streams, rows, strict=True)):
            self.rows[first + place] = stream, row
        stamps = np.array([own[stream] for own, stream in zip(nows, streams, strict=True)])
        came = np.array(streams), np.array(keys, dtype=np.int64), np.full(len(fed), now)
        pairs = [
            pair
            for _, done in self.steering.feed(
                self.cache, *came, stamps=stamps, nows=np.array(nows), emit=True
            )
            for pair in done.pairs.tolist()
        ]
        return [answer for pair in pairs for answer in self._answers(pair)]

    def _answers(self, pair: list[int]) -> list[tuple[int, ...]]:
        ends = dict(self.rows[number] for number in pair)
        assert len(ends) == 2, "no stream joins itself"
        found = []
        for shape, asker in zip(self.shapes, self.askers, strict=True):
            if set(shape.pair) == set(ends):
                own = [ends[number] for number in shape.pair]
                same = all(
                    not is_null(own[i][a]) and own[i][a] == own[j][b]
                    for (i, a), (j, b) in asker.join.crossing.equalities
                )
                if same and all(asker._wanted(place, row) for place, row in enumerate(own)):
                    found += asker._answers(own)
        return found
