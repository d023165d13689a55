"""Multi-way joins for tests: shapes, drawn queries, rows and plans, and a group's slow twin."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.crossings import Comparison, CrossedQuery, Crossing, Difference
from penstock.algebra.inputs import JoinInput, WindowLength
from penstock.algebra.multi_joins import MultiJoin, MultiJoinStep
from penstock.algebra.predicates import Branch, Residual
from penstock.algebra.trees import Join, JoinPlan, Leaf, Pulled, Tree, joins_of
from penstock.vocabulary.batches import QueryChanges, Results
from tests.oracle.joins import MINUS, is_null
from tests.oracle.multijoins import Condition, MultiJoinTwin, WaitingTwin
from tests.support.joins import (
    ABOVE,
    CHANGE,
    NOTHING,
    PARAMETERS,
    UNLIKE,
    N,
    Row,
    S,
    X,
    Y,
    data_row,
    parameter_table,
)

SMALL = {
    "k": pa.int32(), "s": pa.string(), "x": pa.float64(), "y": pa.int32(),
    "t": pa.timestamp("us"), "n": pa.int64(),
}  # fmt: skip
LARGE = {**SMALL, "k": pa.int64(), "s": pa.large_string(), "y": pa.int64()}
COLUMNS = {"a": SMALL, "b": LARGE, "c": SMALL, "d": LARGE, "u": LARGE, "v": SMALL}
"""Streams are a, b, c, d, tables u, v. The column n names a row."""
TABLES = ("u", "v")
LATENESS_US = {"a": 2, "b": 0, "c": 3, "d": 1}
WINDOWS = {
    "a": WindowLength("rows", 5), "b": WindowLength("range", 4), "c": WindowLength("rows", 3),
    "d": WindowLength("range", 7),
}  # fmt: skip
FORMS: dict[str, tuple[str, Crossing]] = {
    "pair": ("ab", Crossing(equalities=(((0, "k"), (1, "k")),))),
    "chain": ("abc", Crossing(equalities=(((0, "k"), (1, "k")), ((1, "s"), (2, "s"))))),
    "star": ("abd", Crossing(equalities=(((0, "k"), (1, "k")), ((1, "k"), (2, "k"))))),
    "texts": ("cud", Crossing(equalities=(((0, "s"), (1, "s")), ((1, "s"), (2, "s"))))),
    "table": ("aub", Crossing(equalities=(((0, "k"), (1, "k")), ((1, "s"), (2, "s"))))),
    "tables": ("auv", Crossing(equalities=(((0, "k"), (1, "k")), ((1, "y"), (2, "y"))))),
    "tests": (
        "abc",
        Crossing(
            equalities=(((0, "k"), (2, "k")),),
            comparisons=(Comparison((0, "x"), "<", (1, "x")), Comparison((1, "y"), "<>", (2, "y"))),
            differences=(Difference((0, "y"), (1, "y"), -2, 1),),
        ),
    ),
    "mixed": (
        "ab",
        Crossing(
            equalities=(((0, "y"), (1, "x")),), comparisons=(Comparison((0, "t"), "<=", (1, "t")),)
        ),
    ),
    "product": ("ac", Crossing()),
    "self": (
        "aa",
        Crossing(
            equalities=(((0, "k"), (1, "k")),), comparisons=(Comparison((0, "n"), "<", (1, "n")),)
        ),
    ),
    "own": (
        "abc",
        Crossing(
            equalities=(((0, "k"), (1, "k")), ((1, "k"), (1, "y")), ((1, "x"), (2, "x"))),
        ),
    ),
    "four": (
        "abcu",
        Crossing(
            equalities=(((0, "k"), (1, "k")), ((1, "s"), (2, "s")), ((2, "y"), (3, "y"))),
        ),
    ),
}  # fmt: skip
ACROSS = Residual(sql="c0 + r0 > c1", columns=("i0.x", "i1.x"), parameters=("z",))
PLAIN = Residual(sql="c0 % 3 <> 0", columns=("n",), parameters=())
LOCALS: dict[str, tuple[Branch, Branch, Residual | None]] = {
    "plain": (NOTHING, NOTHING, None),
    "ranges": (Branch(ranges=(X,)), Branch(ranges=(Y,)), None),
    "points": (Branch(equalities=(N,)), NOTHING, None),
    "texts": (Branch(ranges=(X,)), Branch(equalities=(S,), ranges=(ABOVE,)), None),
    "residual": (Branch(ranges=(X,), residual=UNLIKE), Branch(residual=PLAIN), None),
    "across": (NOTHING, Branch(ranges=(Y,)), ACROSS),
}
"""What is asked of the first input, of the last, and of both."""


def multi_join(
    form: str, local: str, windows: dict[str, WindowLength] | None = None,
    constants: dict[str, Any] | None = None,
) -> MultiJoin:  # fmt: skip
    """Make a join: `form` names inputs and what links them, `local` the other predicates."""
    relations, crossing = FORMS[form]
    first, last, across = LOCALS[local]
    branches = [first, *[NOTHING] * (len(relations) - 2), last]
    windows = WINDOWS | (windows or {})
    return MultiJoin(
        inputs=tuple(
            JoinInput(
                name=f"{relation}{number}",
                relation=relation,
                columns=tuple(COLUMNS[relation].items()),
                window=windows.get(relation),
                branch=branch,
                change_column=CHANGE if relation in TABLES else None,
                event_time=None if relation in TABLES else "t",
                lateness_us=LATENESS_US.get(relation, 0),
            )
            for number, (relation, branch) in enumerate(zip(relations, branches, strict=True))
        ),
        outputs=(),
        crossing=crossing,
        residual=across,
        parameters=PARAMETERS,
        constants=constants or {},
    )


def step_of(form: str, local: str, **parts: Any) -> MultiJoinStep:
    return multi_join(form, local, **parts).step()


# Plans.


def drawn_tree(chance: np.random.Generator, inputs: Sequence[int]) -> Tree:
    """Draw any tree, with any indexes."""
    if len(inputs) == 1:
        return Leaf(inputs[0])
    order = chance.permutation(np.array(inputs)).tolist()
    cut = int(chance.integers(1, len(order)))
    kinds = ["hash", "loop"]
    left, right = (kinds[chance.integers(2)] for _ in range(2))
    return Join(drawn_tree(chance, order[:cut]), drawn_tree(chance, order[cut:]), left, right)  # type: ignore[arg-type]


def drawn_plan(
    chance: np.random.Generator, logical: MultiJoin, boxes: bool = False, pulling: float = 0.5
) -> JoinPlan:
    """Draw any plan: a tree, selections pushed or pulled, drop boxes if asked for."""
    count = len(logical.inputs)
    tree = drawn_tree(chance, range(count))
    pulled = []
    for number, own in enumerate(logical.inputs):
        above = [join.mask for join in joins_of(tree) if join.mask >> number & 1]
        if (own.branch.equalities or own.branch.ranges) and chance.random() < pulling:
            mask = int(above[chance.integers(len(above))])
            pulled.append(Pulled(input=number, part="terms", mask=mask))
        if own.branch.residual and chance.random() < pulling:
            pulled.append(Pulled(input=number, part="residual", mask=(1 << count) - 1))
    passes: tuple[float, ...] = ()
    if boxes:
        passes = tuple(float(chance.choice([0.0, 0.4, 0.8, 1.0])) for _ in range(count))
    kind = "subset" if boxes and chance.random() < 0.5 else "faithful"
    return JoinPlan(tree=tree, pulled=tuple(pulled), passes=passes, boxes=kind)  # type: ignore[arg-type]


def plan_table(number: int, plan: JoinPlan) -> pa.Table:
    return pa.table({"query": [number], "plan": [json.dumps(plan.to_json())]})


def replan(number: int, plan: JoinPlan, old: int | None = None) -> QueryChanges:
    """Put a plan in the place of another."""
    drops = np.array([] if old is None else [old], dtype=np.int64)
    return QueryChanges(adds={"plan": plan_table(number, plan)}, drops=drops)


# Data.


class Source:
    """Draws rows of streams and changes of tables; every row has a number of its own.

    `cuttable`: what is late is late by the batches before, however a batch is cut.
    """

    def __init__(self, chance: np.random.Generator, cuttable: bool = False) -> None:
        self.chance = chance
        self.cuttable = cuttable
        self.newest: dict[str, int] = {}
        self.clocks: dict[str, int] = {}
        self.held: dict[str, list[Row]] = {}
        self.next = 0

    def row(self, time: int | None = 0) -> Row:
        self.next += 1
        return {**data_row(self.chance), "t": time, "n": self.next}

    def stream(self, name: str, size: int) -> list[Row]:
        """Draw rows around a clock that moves on; some are late."""
        rows = []
        before = self.newest.get(name)
        for _ in range(size):
            clock = self.clocks.get(name, 100) + int(self.chance.integers(0, 3))
            self.clocks[name] = clock
            most = LATENESS_US[name] + (0 if self.cuttable else 4)
            time = clock - int(self.chance.integers(0, most + 1))
            if before is not None and self.chance.random() < 0.1:
                time = before - LATENESS_US[name] - int(self.chance.integers(1, 4))
            if self.chance.random() < 0.03:
                rows.append(self.row(None))
                continue
            self.newest[name] = max(time, self.newest.get(name, time))
            rows.append(self.row(time))
        return rows

    def table(self, name: str, size: int) -> list[Row]:
        """Draw changes of a table; some rows come twice, some deletes find nothing."""
        held = self.held.setdefault(name, [])
        changes = []
        for _ in range(size):
            draw = self.chance.random()
            if held and draw < 0.35:
                row = held.pop(int(self.chance.integers(len(held))))
                changes.append({**row, CHANGE: str(self.chance.choice(MINUS))})
            elif draw < 0.42:
                changes.append({**self.row(), CHANGE: "delete"})
            else:
                again = held and draw < 0.5
                row = dict(held[self.chance.integers(len(held))]) if again else self.row()
                held.append(row)
                changes.append({**row, CHANGE: "insert"})
        return changes

    def batch(self, logical: CrossedQuery, size: int) -> dict[str, list[Row]]:
        """Draw what all relations bring."""
        return {
            name: (self.table if name in TABLES else self.stream)(
                name, int(self.chance.integers(0, size + 1))
            )
            for name in logical.relations
        }


def tables_of(batch: dict[str, list[Row]], empty: bool = False) -> dict[str, pa.Table]:
    """Make Arrow tables of rows; those without rows only if asked for."""
    return {name: data_table(name, rows) for name, rows in batch.items() if rows or empty}


def data_table(relation: str, rows: list[Row]) -> pa.Table:
    types = dict(COLUMNS[relation])
    if relation in TABLES and (not rows or CHANGE in rows[0]):
        types[CHANGE] = pa.string()
    return pa.table(
        {name: pa.array([r[name] for r in rows], type_) for name, type_ in types.items()}
    )


def queries_of(
    logical: MultiJoin, register: Callable[..., Any], rows: list[Row], first: int,
    drops: Sequence[int] = (),
) -> QueryChanges:  # fmt: skip
    """Register rows of parameters."""
    registration = register(logical, logical.step(), parameter_table(rows), first)
    assert len(registration.refusals.row) == 0
    return QueryChanges(adds=registration.adds, drops=np.array(sorted(drops), dtype=np.int64))


Found = Counter[tuple[int, ...]]
"""(query, the numbers of a combination's rows) by how often."""


def found_by(results: list[Results], logical: CrossedQuery) -> Found:
    """Name results by their queries and the numbers of their rows."""
    found: Found = Counter()
    names = [f"i{number}.n" for number in range(len(logical.inputs))]
    for result in results:
        assert result.relation == logical.inputs[0].relation
        assert result.rows is not None
        assert set(result.rows["_sign"].to_pylist()) == {1}
        rows = list(zip(*(result.rows[name].to_pylist() for name in names), strict=True))
        for query, event in zip(result.query.tolist(), result.event.tolist(), strict=True):
            found[query, *rows[event]] += 1
    return found


# The twin.

MASK = (1 << 64) - 1


def splitmix(seed: int) -> int:
    """Give the number of splitmix64 that belongs to a seed."""
    mixed = (seed + 0x9E3779B97F4A7C15) & MASK
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & MASK
    return mixed ^ (mixed >> 31)


def passes(number: int, arrival: int, share: float) -> bool:
    return share >= 1 or splitmix(arrival + splitmix(number) & MASK) < share * 2**64


def _compared(test: Callable[[Any, Any], bool], left: str, right: str) -> Callable[..., bool]:
    def holds(a: Row, b: Row) -> bool:
        return not is_null(a[left]) and not is_null(b[right]) and test(a[left], b[right])

    return holds


TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "<>": lambda a, b: a != b,
}


def conditions(logical: CrossedQuery) -> list[Condition]:
    """Say what links the inputs, predicate by predicate."""
    crossing = logical.crossing
    found = []
    for (i, left), (j, right) in crossing.equalities:
        holds = _compared(lambda a, b: a == b, left, right)
        if i == j:
            found.append(Condition((i,), lambda row, own=holds: own(row, row)))
        else:
            found.append(Condition((i, j), holds))
    for one in crossing.comparisons:
        (i, left), (j, right) = one.left, one.right
        found.append(Condition((i, j), _compared(TESTS[one.op], left, right)))
    for two in crossing.differences:
        (i, left), (j, right) = two.left, two.right
        near = lambda a, b, own=two: own.low <= b - a <= own.high  # noqa: E731
        found.append(Condition((i, j), _compared(near, left, right)))
    return found


def _ranges(row: Row, branch: Branch, values: Row) -> bool:
    for term in branch.ranges:
        value = row[term.column]
        ends = [(values[b.parameter], b.closed, True) for b in term.lows]
        ends += [(values[b.parameter], b.closed, False) for b in term.highs]
        if is_null(value) or any(is_null(end) for end, _, _ in ends):
            return False
        for end, closed, low in ends:
            inside = value >= end if low else value <= end
            if not inside or (value == end and not closed):
                return False
    return True


def local(row: Row, branch: Branch, values: Row) -> bool:
    """Say whether a row satisfies an input's own predicates."""
    for term in branch.equalities:
        (name,) = term.parameters
        if is_null(row[term.column]) or is_null(values[name]) or row[term.column] != values[name]:
            return False
    if not _ranges(row, branch, values):
        return False
    if branch.residual is UNLIKE:
        return not is_null(row["s"]) and not is_null(values["s"]) and row["s"] != values["s"]
    if branch.residual is PLAIN:
        return bool(row["n"] % 3 != 0)
    assert branch.residual is None
    return True


class GroupTwin:
    """A group of joins, from the whole past of its streams, one combination after another."""

    def __init__(self, logical: MultiJoin) -> None:
        self.logical = logical
        windows = [(i.window.kind, i.window.size) if i.window else None for i in logical.inputs]
        self.join = MultiJoinTwin(windows, conditions(logical))
        self.streams = [n for n, each in enumerate(logical.inputs) if each.window]
        lateness = {n: logical.inputs[n].lateness_us for n in self.streams}
        names = [each.relation for each in logical.inputs]
        again = frozenset(n for n in self.streams if names.index(names[n]) < n)
        self.waiting = WaitingTwin(lateness, logical.waiting, again=again)
        self.past: dict[int, list[Row]] = {n: [] for n in self.streams}
        self.stored: dict[int, dict[int, bool]] = {n: {} for n in self.streams}
        self.tables: dict[int, list[tuple[int, Row]]] = {}
        self.rows: list[dict[int, Row]] = [{} for _ in logical.inputs]
        self.queries: dict[int, tuple[Row, dict[int, int]]] = {}
        self.plan = JoinPlan(tree=Leaf(0))

    def apply(self, adds: dict[int, Row], drops: Sequence[int]) -> None:
        for number in drops:
            self.queries.pop(number, None)
        born = dict(self.waiting.clocks)
        self.queries |= {number: (row, born) for number, row in adds.items()}

    def begin(self, held: dict[str, list[Row]], clocks: dict[str, int] | None = None) -> None:
        for number in self.streams:
            self.waiting.begin(number, (clocks or {}).get(self.logical.inputs[number].relation))
        self._change({name: [{**r, CHANGE: "insert"} for r in rows] for name, rows in held.items()})

    def process(self, batch: dict[str, list[Row]]) -> Found:
        self._change(batch)
        for number in self.streams:
            self._arrive(number, batch.get(self.logical.inputs[number].relation, []))
        found: Found = Counter()
        for row in self.waiting.release():
            stored = self.stored[row.number].pop(row.place)
            content = self.past[row.number][row.place]
            ids = self.join.following[row.number]
            made = self.join.arrive(row.number, row.time, content, stored=stored)
            if stored:
                self.rows[row.number][ids] = content
            for combination in made:
                found.update(self._answers(combination))
        return found

    def _arrive(self, number: int, rows: list[Row]) -> None:
        """Note rows down, and what the drop box does with those that are not late."""
        self.past[number] += rows
        share = self.plan.share(number) if self.plan.passes else 1.0
        window = self.logical.inputs[number].window
        counted = self.plan.boxes == "subset" and window is not None and window.kind == "rows"
        for row in rows:
            came = self.waiting.arrive(number, row["t"])
            if came is None:
                continue
            stored = passes(number, came.arrival, share)
            if stored or counted:
                self.waiting.waiting.append(came)
                self.stored[number][came.place] = stored

    def _change(self, batch: dict[str, list[Row]]) -> None:
        for number, each in enumerate(self.logical.inputs):
            if each.window is not None:
                continue
            held = self.tables.setdefault(number, [])
            for change in batch.get(each.relation, []):
                row = {name: value for name, value in change.items() if name != CHANGE}
                if change[CHANGE] not in MINUS:
                    own = self.join.insert(number, row)
                    held.append((own, row))
                    self.rows[number][own] = row
                    continue
                equal = [at for at, (_, own) in enumerate(held) if _content(own) == _content(row)]
                if equal:
                    self.join.delete(number, held.pop(equal[0])[0])

    def _answers(self, combination: tuple[int, ...]) -> list[tuple[int, ...]]:
        rows = [self.rows[n][own] for n, own in enumerate(combination)]
        names = [row["n"] for row in rows]
        return [
            (number, *names)
            for number, (values, born) in self.queries.items()
            if all(rows[n]["t"] > newest for n, newest in born.items()) and self._asks(rows, values)
        ]

    def _asks(self, rows: list[Row], values: Row) -> bool:
        for each, row in zip(self.logical.inputs, rows, strict=True):
            if not local(row, each.branch, values):
                return False
        if self.logical.residual is None:
            return True
        numbers = rows[0]["x"], values["z"], rows[1]["x"]
        return not any(is_null(n) for n in numbers) and numbers[0] + numbers[1] > numbers[2]


def _content(row: Row) -> tuple[Any, ...]:
    return tuple(None if is_null(value) else value for value in row.values())
