"""Bounded joins for tests: shapes, budgets, drawn rows, and a group's slow twin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.algebra.crossings import Comparison, Crossing, Difference
from penstock.algebra.inputs import WindowLength
from penstock.algebra.memories import AUTO, JOIN_POLICIES, Memory, PolicyName, StreamLaw
from penstock.kernels.bounded_victims import EXTREMES, RANDOM
from penstock.kernels.scores import table_score, window_score
from penstock.operators.bounded.policies import CompiledPolicy
from penstock.operators.bounded.policy_contests import ContestArrivals
from penstock.operators.bounded.policy_control import Steering
from penstock.operators.bounded_join import register
from penstock.operators.bounded_join.keys import JoinKeys
from penstock.vocabulary.batches import QueryChanges
from tests.oracle.boundedjoins import CacheTwin, Candidate
from tests.oracle.joins import is_null
from tests.oracle.multijoins import WaitingTwin
from tests.support import own_policies
from tests.support.joins import UNLIKE, Row, parameter_rows, parameter_table
from tests.support.multi_joins import (
    PLAIN,
    Found,
    Source,
    _ranges,
    conditions,
    local,
    multi_join,
)

SAME = ((0, "k"), (1, "k"))
FORMS: dict[str, Crossing] = {
    "numbers": Crossing(equalities=(SAME,)),
    "texts": Crossing(equalities=(((0, "s"), (1, "s")),)),
    "floats": Crossing(equalities=(((0, "x"), (1, "x")),)),
    "times": Crossing(equalities=(((0, "t"), (1, "t")),)),
    "several": Crossing(equalities=(SAME, ((0, "s"), (1, "s")))),
    "unlike": Crossing(equalities=(((0, "y"), (1, "x")),)),
    "own": Crossing(equalities=(SAME, ((1, "k"), (1, "y")))),
    "tests": Crossing(
        equalities=(SAME,),
        comparisons=(Comparison((0, "x"), "<", (1, "x")), Comparison((0, "n"), "<>", (1, "n"))),
        differences=(Difference((0, "y"), (1, "y"), -2, 1),),
    ),
}  # fmt: skip
"""What links the streams a and b."""
WINDOWS: dict[str, tuple[WindowLength | None, WindowLength | None]] = {
    "none": (None, None),
    "rows": (WindowLength("rows", 6), WindowLength("rows", 4)),
    "range": (WindowLength("range", 5), WindowLength("range", 9)),
    "mixed": (WindowLength("rows", 7), WindowLength("range", 6)),
    "one": (None, WindowLength("range", 8)),
}
FAMILIES: dict[str, StreamLaw] = {
    "linear trend": StreamLaw(
        family="linear trend",
        parameters={"slope": 0.5, "intercept": 0.0, "noise": "uniform", "bound": 3},
    ),
    "random walk": StreamLaw(family="random walk", parameters={"drift": 0.0, "sigma": 1.5}),
    "ar1": StreamLaw(family="ar1", parameters={"phi0": 1.0, "phi1": 0.6, "sigma": 2.0}),
    "histogram": StreamLaw(family="histogram", parameters={"buckets": 4}),
    "stationary": StreamLaw(family="stationary"),
    "auto": AUTO,
}


def _by_law(policy: PolicyName, law: StreamLaw, **options: Any) -> Callable[[int], Memory]:
    return lambda rows: Memory(rows=rows, policy=policy, laws=(law, law), options=options)


BUDGETS: dict[str, Callable[[int], Memory]] = {
    **{f"HEEB {name}": _by_law("HEEB", law) for name, law in FAMILIES.items()},
    "HEEB mixed": lambda rows: Memory(
        rows=rows, laws=(FAMILIES["linear trend"], AUTO), options={"alpha": 3.0}
    ),
    **{
        name: _by_law(name, AUTO, seed=5)
        for name in (*JOIN_POLICIES, *own_policies.NAMES)
        if name != "HEEB"
    },
    "PROB trend": _by_law("PROB", FAMILIES["linear trend"]),
    "LIFE trend": _by_law("LIFE", FAMILIES["linear trend"]),
    "small slice": _by_law("HEEB", AUTO, slice=3),
}
COUNTING = frozenset({"numbers", "times", "own", "tests"})
"""Forms whose keys laws count with."""


def is_declarable(form: str, name: str) -> bool:
    """Say whether a budget's laws go with the keys of a form."""
    return form in COUNTING or not any(
        law.family not in ("auto", "stationary") for law in BUDGETS[name](1).laws
    )


def bounded_join(form: str, local: str, windows: str, memory: Memory) -> BoundedJoin:
    """Make a join of the streams a and b within a budget."""
    whole = multi_join("pair", local)
    inputs = tuple(
        replace(each, window=own) for each, own in zip(whole.inputs, WINDOWS[windows], strict=True)
    )
    return BoundedJoin.of(replace(whole, inputs=inputs, crossing=FORMS[form]), memory=memory)


def queries_of(
    logical: BoundedJoin, rows: list[Row], first: int, drops: Sequence[int] = ()
) -> QueryChanges:
    """Register rows of parameters."""
    step = logical.step()
    registration = register(logical, step, parameter_table(rows), first)
    assert len(registration.refusals.row) == 0
    return QueryChanges(adds=registration.adds, drops=np.array(sorted(drops), dtype=np.int64))


def plain_parameters(chance: np.random.Generator, size: int) -> list[Row]:
    """Draw rows of parameters without NULLs."""
    found: list[Row] = []
    while len(found) < size:
        found += [r for r in parameter_rows(chance, 1) if not any(map(is_null, r.values()))]
    return found


class TrendingSource(Source):
    """Draws rows whose key k follows their time, so that trends have something to hold on to."""

    def row(self, time: int | None = 0) -> Row:
        row = super().row(time)
        if time is not None and row["k"] is not None:
            row["k"] = time // 2 - 50 + int(self.chance.integers(-3, 4))
        return row


# The twin.


@dataclass
class Account:
    left: int = 0
    stayed: int = 0


class TwinCache:
    """What steering wants of a cache, over rows in a list."""

    def __init__(self, budget: int, sizes: Sequence[int | None], policy: CompiledPolicy) -> None:
        self.rows = CacheTwin(budget, sizes)
        self.account = Account()
        self.replace(policy)
        self.chance = self.rule.seed
        self.slots: list[int | None] = []
        self.free: list[int] = []

    def replace(self, policy: CompiledPolicy, seen: Any = None) -> None:
        del seen
        self.policy = policy
        self.rule = policy.rule()

    def window_ticks(self) -> tuple[float | None, ...]:
        found: list[float | None] = []
        for stream, size in enumerate(self.rows.sizes):
            known = self.rows.origin is not None and self.rows.rate(stream) < 1 << 40
            if size is None or not known:
                found.append(None)
                continue
            passed, ticks = self.rows.since_origin(stream)
            # Rounded as caches round: steering asks whether windows differ by a quarter.
            found.append(size * ticks / passed)
        return tuple(found)

    def tick(self, now: int, *rows: Sequence[Any]) -> list[tuple[int, int]]:
        """Take the rows of a tick and let the policy discard; give the pairs."""
        _, pairs = self.rows.arrive(now, *rows)
        self._follow()
        while len(self.rows.held) > self.rows.budget:
            self.rows.let_go(self._victim())
            self._follow()
        return pairs

    def _follow(self) -> None:
        """Put rows into slots as a pool does: into the last that became free, or a new one."""
        for event, row in self.rows.events:
            if event == "came":
                if self.free:
                    self.slots[self.free.pop()] = row.number
                else:
                    self.slots.append(row.number)
                continue
            stay = self.rows.now - row.born
            self.account.left += stay > 0
            self.account.stayed += stay
            self.free.append(self.slots.index(row.number))
            self.slots[self.free[-1]] = None
        self.rows.events.clear()

    def _victim(self) -> Candidate:
        rows = {row.number: row for row in self.rows.held}
        if self.rule.mode == RANDOM:
            while True:
                self.chance = (self.chance + 0x9E3779B97F4A7C15) % 2**64
                share = (_mixed(self.chance) >> 11) / 2**53
                number = self.slots[int(share * len(self.slots))]
                if number is not None:
                    return rows[number]
        candidates = list(rows.values())
        if self.rule.mode == EXTREMES:
            candidates = []
            for stream in range(2):
                own = [row for row in rows.values() if row.stream == stream]
                for best in (min, max):
                    if own:
                        end = best(row.key for row in own)
                        candidates.append(min(
                            (row for row in own if row.key == end), key=lambda row: row.number
                        ))  # fmt: skip
        return min(candidates, key=lambda row: (self.score(row), row.number))

    def score(self, row: Candidate) -> float:
        assert self.rule.tables
        twin, partner = self.rows, 1 - row.stream
        table, last = self.rule.tables[partner], twin.lasts[partner]
        if not self.rule.windowed:
            return float(table_score(table, row.key, twin.now, last))
        remaining = twin.ticks_remaining(row)
        ticks = 1 << 40 if remaining is None else min(int(remaining), 1 << 40)
        return float(window_score(table, row.key, twin.now, last, ticks))


def _mixed(word: int) -> int:
    """Mix a word as the kernels do."""
    mixed = word ^ (word >> 32)
    mixed = mixed * 0xD6E8FEB86659FD93 % 2**64
    mixed ^= mixed >> 29
    mixed = mixed * 0x9E3779B97F4A7C15 % 2**64
    return mixed ^ (mixed >> 32)


class BoundedGroupTwin:
    """A group of bounded joins, from the whole past of its streams, one row after another.

    Keys of rows are values themselves, or whatever stands for them: laws see the first.
    """

    def __init__(self, logical: BoundedJoin) -> None:
        self.join = logical
        self.numeric = JoinKeys(logical.step()).numeric
        sizes = [each.window.size if each.window else None for each in self.join.inputs]
        self.steering = Steering(
            logical.memory, numeric=self.numeric, budget=logical.memory.rows,
            windows=tuple(None if size is None else float(size) for size in sizes),
        )  # fmt: skip
        policy = self.steering.policy()
        assert isinstance(policy, CompiledPolicy)
        self.cache = TwinCache(logical.memory.rows, sizes, policy)
        self.conditions = conditions(self.join)
        self.past: dict[int, list[Row]] = {0: [], 1: []}
        lateness = {n: each.lateness_us for n, each in enumerate(self.join.inputs)}
        self.waiting = WaitingTwin(lateness, self.join.waiting, together=2)
        self.done = 0
        self.counters = [0, 0]
        self.codes: dict[Any, int] = {}
        self.rows: dict[int, tuple[int, Row]] = {}
        self.queries: dict[int, tuple[Row, dict[int, int]]] = {}

    def apply(self, adds: dict[int, Row], drops: Sequence[int]) -> None:
        for number in drops:
            self.queries.pop(number, None)
        born = dict(self.waiting.clocks)
        self.queries |= {number: (row, born) for number, row in adds.items()}

    def begin(self, clocks: dict[str, int]) -> None:
        for number, each in enumerate(self.join.inputs):
            self.waiting.begin(number, clocks.get(each.relation))

    def process(self, batch: dict[str, list[Row]]) -> Found:
        for number, each in enumerate(self.join.inputs):
            rows = batch.get(each.relation, [])
            self.past[number] += rows
            told = (self.waiting.arrive(number, row["t"]) for row in rows)
            self.waiting.waiting += [came for came in told if came is not None]
        order = self.waiting.release()
        found: Found = Counter()
        for at in range(0, len(order), 2):
            fed = []
            for came in order[at : at + 2]:
                number, row = came.number, self.past[came.number][came.place]
                self.counters[number] += 1
                nows = [self._now(n, came.time) for n in range(2)]
                if self._wanted(number, row):
                    fed.append((number, self._key(number, row), nows, row))
            if fed:
                found.update(self._tick(self.done // 2, fed))
            self.done += 2
        return found

    def _now(self, number: int, time: int) -> int:
        window = self.join.inputs[number].window
        if window is None:
            return 0
        return time if window.kind == "range" else self.counters[number]

    def _tick(self, now: int, fed: list[tuple[int, int, list[int], Row]]) -> list[tuple[int, ...]]:
        while now >= self.steering.next:
            self.steering.steer(self.cache, self.steering.next)  # type: ignore[arg-type]
        first = self.cache.rows.following
        streams, keys, nows, rows = (list(part) for part in zip(*fed, strict=True))
        for place, (stream, row) in enumerate(zip(streams, rows, strict=True)):
            self.rows[first + place] = stream, row
        stamps = [own[stream] for own, stream in zip(nows, streams, strict=True)]
        pairs = self.cache.tick(now, streams, keys, stamps, nows, [True] * len(fed))
        ticks = np.full(len(fed), now)
        came = np.array(streams), np.array(keys, dtype=np.int64), ticks
        self.steering.observe(*came)
        all_own = np.ones(len(fed), dtype=np.bool_)
        arrivals = ContestArrivals(*came, np.array(stamps), np.array(nows), all_own)
        self.steering.show(arrivals, sum(pair[1] < first for pair in pairs))
        found = []
        for pair in pairs:
            own = sorted((self.rows[number] for number in pair), key=lambda each: each[0])
            found += self._answers([row for _, row in own])
        return found

    def _key(self, number: int, row: Row) -> int:
        columns = [
            next(column for n, column in equality if n == number)
            for equality in self.join.crossing.equalities
            if {n for n, _ in equality} == {0, 1}
        ]
        values = tuple(row[column] for column in columns)
        if self.numeric:
            return int(values[0])
        return self.codes.setdefault(values, len(self.codes))

    def _wanted(self, number: int, row: Row) -> bool:
        """Say whether the leaf lets a row in: every term by itself holds for some query."""
        crossing, branch = self.join.crossing, self.join.inputs[number].branch
        places = [p for equality in crossing.equalities for p in equality]
        for test in crossing.comparisons:
            places += [test.left, test.right]
        for apart in crossing.differences:
            places += [apart.left, apart.right]
        columns = {column for n, column in places if n == number}
        columns |= {term.column for term in branch.equalities}
        columns |= {term.column for term in branch.ranges}
        if any(is_null(row[column]) for column in columns) or not self.queries:
            return False
        if not all(c.holds(row) for c in self.conditions if c.inputs == (number,)):
            return False
        values = [own for own, _ in self.queries.values()]
        for term in branch.equalities:
            if not any(row[term.column] == own[term.parameters[0]] for own in values):
                return False
        for one in branch.ranges:
            alone = replace(branch, equalities=(), ranges=(one,), residual=None)
            if not any(_ranges(row, alone, own) for own in values):
                return False
        if branch.residual is PLAIN:
            return bool(row["n"] % 3 != 0)
        if branch.residual is UNLIKE and len({own["s"] for own in values}) == 1:
            return not is_null(row["s"]) and row["s"] != values[0]["s"]
        return True

    def _answers(self, rows: list[Row]) -> list[tuple[int, ...]]:
        for condition in self.conditions:
            if not condition.holds(*(rows[number] for number in condition.inputs)):
                return []
        return [
            (number, *(row["n"] for row in rows))
            for number, (values, born) in self.queries.items()
            if all(rows[n]["t"] > newest for n, newest in born.items()) and self._asks(rows, values)
        ]

    def _asks(self, rows: list[Row], values: Row) -> bool:
        for each, row in zip(self.join.inputs, rows, strict=True):
            if not local(row, each.branch, values):
                return False
        if self.join.residual is None:
            return True
        numbers = rows[0]["x"], values["z"], rows[1]["x"]
        return not any(is_null(n) for n in numbers) and numbers[0] + numbers[1] > numbers[2]
