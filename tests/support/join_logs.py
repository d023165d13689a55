"""Logs of joins without an engine: plain loops say what every batch must bring, a log keeps it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.algebra.inputs import JoinInput
from penstock.algebra.joins import StandingJoin, Window
from penstock.algebra.predicates import Bound
from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.delivery.parts import Part, assemble, write_part
from penstock.vocabulary.batches import Results

GROUP = "select_join-made"
COLUMNS = (("k", pa.int64()), ("x", pa.float64()), ("t", pa.timestamp("us", "UTC")))
SCHEMA = pa.schema([*COLUMNS, ("op", pa.string())])
SECOND_US = 1_000_000

Row = tuple[int | None, float | None, int]  # k, x, seconds
Batch = dict[str, list[tuple[str, Row]]]  # by relation, (op, row)


def relation(name: str, kind: str, lateness_s: int = 0) -> Relation:
    if kind == "table":
        return Relation(name=name, kind="table", schema=SCHEMA, change_column="op")
    lateness_us = lateness_s * SECOND_US
    return Relation(
        name=name, kind="stream", schema=SCHEMA, event_time="t", lateness_us=lateness_us
    )


def logical(mode: str, kind: str, lateness_s: int = 0) -> StandingJoin:
    """`i0.k = i1.k AND i0.x <= :least AND i1.x <= :least`, of streams `|i0.t - i1.t| < :w s`."""
    table = kind == "table"

    def side(name: str) -> JoinInput:
        return JoinInput(
            relation=name,
            columns=COLUMNS if table else (*COLUMNS, ("op", pa.string())),
            change_column="op" if table else None,
            event_time=None if table else "t",
            lateness_us=0 if table else lateness_s * SECOND_US,
        )

    where = 'i0.".k" = i1.".k" AND i0.".x" <= p.".least" AND i1.".x" <= p.".least"'
    near = ' AND abs(epoch_us(i0.".t") - epoch_us(i1.".t")) < p.".w" * 1000000'
    within = Bound(parameter="w", closed=False)
    return StandingJoin(
        inputs=(side("a"), side("b")),
        keys=(("k", "k"),),
        outputs=(),
        window=None if table else Window(left="t", right="t", within=within),
        parameters={"least": pa.float64(), "w": pa.int64()},
        where_sql=where if table else where + near,
        mode="full" if mode == "full" else "identify",
    )


@dataclass(frozen=True)
class Query:
    """A standing query and the batches [first, last) in which it holds."""

    number: int
    least: float | None
    window_s: int
    first: int
    last: int

    def holds(self, left: Row, right: Row, windowed: bool) -> bool:
        if left[0] is None or left[0] != right[0] or self.least is None:
            return False
        if any(row[1] is None or row[1] != row[1] or row[1] > self.least for row in (left, right)):
            return False
        return not windowed or abs(left[2] - right[2]) < self.window_s


def parameters(queries: list[Query]) -> pa.Table:
    return pa.table(
        {
            "_query": pa.array([q.number for q in queries], pa.int64()),
            ".least": pa.array([q.least for q in queries], pa.float64()),
            ".w": pa.array([q.window_s for q in queries], pa.int64()),
            "_first": pa.array([q.first for q in queries], pa.int64()),
            "_last": pa.array([q.last for q in queries], pa.int64()),
        }
    )


Found = tuple[int, Row | None, Row | None, int]  # query, left, right, sign


@dataclass
class Twin:
    """Runs batches one row at a time: left changes first, then right ones.

    Of a table's changes in a batch only the net counts, and a row that goes before it came waits.
    """

    kind: str
    mode: str
    queries: list[Query]
    lateness_s: int = 0
    rows: tuple[list[tuple[Row, int]], list[tuple[Row, int]]] = field(
        default_factory=lambda: ([], [])
    )
    newest: list[int | None] = field(default_factory=lambda: [None, None])
    weights: tuple[Counter[str], Counter[str]] = field(
        default_factory=lambda: (Counter(), Counter())
    )

    def run(self, number: int, batch: Batch) -> list[Found]:
        found: list[Found] = []
        newest = list(self.newest)
        for side, name in enumerate(("a", "b")):
            others = list(self.rows[1 - side])
            for op, row in self._net(side, batch.get(name, [])):
                if not self._counts(side, op, row, number):
                    continue
                sign = -1 if self.kind == "table" and op in ("delete", "update_before") else 1
                found += self._meet(side, row, sign, others, number)
                newest[side] = max(row[2], -1 if newest[side] is None else newest[side] or 0)
        self.newest = newest
        return found

    def _net(self, side: int, changes: list[tuple[str, Row]]) -> Iterator[tuple[str, Row]]:
        if self.kind == "stream":
            yield from changes
            return
        before = self.weights[side].copy()
        rows = {}
        for op, row in changes:
            name = repr(row).replace("nan", "None")
            rows[name] = row
            self.weights[side][name] += -1 if op in ("delete", "update_before") else 1
        for name, row in rows.items():
            change = max(self.weights[side][name], 0) - max(before[name], 0)
            yield from [("insert" if change > 0 else "delete", row)] * abs(change)

    def _counts(self, side: int, op: str, row: Row, number: int) -> bool:
        if self.kind == "stream":
            last = self.newest[side]
            if last is not None and row[2] < last - self.lateness_s:
                return False
            self.rows[side].append((row, number))
            return True
        if op not in ("delete", "update_before"):
            self.rows[side].append((row, number))
            return True
        for place, (held, _) in enumerate(self.rows[side]):
            if repr(held).replace("nan", "None") == repr(row).replace("nan", "None"):
                del self.rows[side][place]
                return True
        return False

    def _meet(
        self, side: int, row: Row, sign: int, others: list[tuple[Row, int]], number: int
    ) -> Iterator[Found]:
        for query in self.queries:
            if not query.first <= number < query.last:
                continue
            matching = [
                other
                for other, came in others
                if query.holds(*((row, other) if side == 0 else (other, row)), self.windowed)
                and (self.kind == "table" or came >= query.first)
            ]
            if self.mode == "identify":
                if matching:
                    yield (query.number, *((row, None) if side == 0 else (None, row)), sign)
                continue
            for other in matching:
                pair = (row, other) if side == 0 else (other, row)
                yield (query.number, *pair, sign)

    @property
    def windowed(self) -> bool:
        return self.kind == "stream"


def events(changes: list[tuple[str, Row]]) -> pa.Table:
    k, x, t = (list(column) for column in zip(*(row for _, row in changes), strict=True))
    arrays = [
        pa.array(k, pa.int64()),
        pa.array(x, pa.float64(), from_pandas=False),
        pa.array([second * SECOND_US for second in t], pa.int64()).cast(COLUMNS[2][1]),
        pa.array([op for op, _ in changes], pa.string()),
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def made(found: list[Found], kind: str) -> Results:
    """Give found changes as an operator's results with rows of its own."""
    columns: dict[str, pa.Array] = {}
    for letter, place in (("i0", 1), ("i1", 2)):
        rows: list[Any] = [item[place] for item in found]
        for at, (name, type_) in enumerate(COLUMNS):
            values = [None if row is None else row[at] for row in rows]
            if name == "t":
                values = [None if v is None else v * SECOND_US for v in values]
                columns[f"{letter}.t"] = pa.array(values, pa.int64()).cast(type_)
            else:
                columns[f"{letter}.{name}"] = pa.array(values, type_)
        if kind == "stream":
            values = [None if row is None else "insert" for row in rows]
            columns[f"{letter}.op"] = pa.array(values, pa.string())
    columns["_sign"] = pa.array([item[3] for item in found], pa.int8())
    return Results(
        relation="a",
        query=np.array([item[0] for item in found], dtype=np.int64),
        event=np.arange(len(found), dtype=np.int32),
        rows=pa.table(columns),
    )


def write_log(
    root: Path,
    batches: list[Batch],
    twin: Twin,
    spoil: Callable[[int, list[Found]], list[Found]] = lambda _, found: found,
) -> list[LoggedBatch]:
    """Write a recorded log of all batches; `spoil` may change what a batch found."""
    log = ResultLog(root)
    logged = []
    for number, batch in enumerate(batches):
        found = spoil(number, twin.run(number, batch))
        tables = {name: events(changes) for name, changes in batch.items() if changes}
        results = [(GROUP, made(found, twin.kind))] if found else []
        part = Part(version=1, rows_in=1, sections=assemble(results, tables, keep_all=True))
        written = write_part(part, log.directory(number), log.part_name(number, 0))
        logged.append(log.commit(number, 1, [written]))
    return logged
