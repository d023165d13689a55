"""The slow twin of joins: lists of rows, and every query tried on every pair of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from math import isnan
from typing import Any

import pyarrow as pa

from penstock.algebra.inputs import JoinInput
from penstock.algebra.joins import StandingJoin
from penstock.algebra.predicates import Bound, Branch, Residual

Row = dict[str, Any]
Answer = Callable[[Residual, list[Any], list[Any]], bool]
"""What a residual says of values of its columns and parameters."""
Found = Counter[tuple[Any, ...]]
MINUS = ("delete", "update_before", "-")


def is_null(value: Any) -> bool:
    """NaN is NULL."""
    return value is None or (isinstance(value, float) and isnan(value))


def above(value: Any, bound: Bound, query: Row) -> bool:
    limit = query[bound.parameter]
    return not is_null(limit) and (value >= limit if bound.closed else value > limit)


def below(value: Any, bound: Bound, query: Row) -> bool:
    limit = query[bound.parameter]
    return not is_null(limit) and (value <= limit if bound.closed else value < limit)


def between(value: Any, term: Any, query: Row) -> bool:
    return all(above(value, b, query) for b in term.lows) and all(
        below(value, b, query) for b in term.highs
    )


class JoinTwin:
    """Standing joins of one text. Rows are dicts; event times are microseconds."""

    def __init__(self, logical: StandingJoin, answer: Answer) -> None:
        self.logical = logical
        self.answer = answer
        self.queries: dict[int, tuple[Row, int]] = {}
        self.rows: tuple[list[tuple[Row, int]], ...] = ([], [])
        self.clocks: list[int | None] = [None, None]
        self.turn = 0

    @property
    def streams(self) -> bool:
        return self.logical.window is not None

    def apply(self, adds: dict[int, Row], drops: Iterable[int]) -> None:
        for number in drops:
            self.queries.pop(number, None)
        self.queries |= {number: (row, self.turn) for number, row in adds.items()}

    def begin(self, tables: dict[str, list[Row]], clocks: dict[str, int] | None = None) -> None:
        for number, side in enumerate(self.logical.inputs):
            self.clocks[number] = (clocks or {}).get(side.relation)
            self.rows[number].extend((row, self.turn) for row in tables.get(side.relation, []))

    def process(self, batch: dict[str, list[Row]]) -> tuple[Found, Found]:
        """Give the net sums of (query, left row, right row), and affected (query, row, sign)."""
        joined: Found = Counter()
        affected: Found = Counter()
        for number, side in enumerate(self.logical.inputs):
            clock = self.clocks[number]
            others = list(self.rows[1 - number])
            for change in batch.get(side.relation, []):
                row = {name: change[name] for name, _ in side.columns}
                sign = -1 if change.get(side.change_column or "") in MINUS else 1
                if self.streams:
                    if clock is not None and row["t"] < clock - side.lateness_us:
                        continue
                    seen = self.clocks[number]
                    self.clocks[number] = row["t"] if seen is None else max(seen, row["t"])
                if sign < 0 and not self.take_away(number, row):
                    continue
                if sign > 0:
                    self.rows[number].append((row, self.turn))
                met = self.match(number, row, others)
                for query, left, right in met:
                    joined[query, left, right] += sign
                for query in {query for query, _, _ in met}:
                    affected[query, number, content(row), sign] += 1
        self.turn += 1
        return Counter({k: n for k, n in joined.items() if n}), affected

    def take_away(self, number: int, row: Row) -> bool:
        """Take the oldest equal row away; a row that can never join is not there to begin with."""
        for at, (other, _) in enumerate(self.rows[number]):
            if content(other) == content(row):
                del self.rows[number][at]
                return True
        return False

    def match(
        self, number: int, row: Row, others: list[tuple[Row, int]]
    ) -> list[tuple[int, Any, Any]]:
        found = []
        for other, arrived in others:
            left, right = (row, other) if number == 0 else (other, row)
            for query, (asked, born) in self.queries.items():
                if self.streams and arrived < born:
                    continue
                if self.holds(left, right, asked):
                    found.append((query, content(left), content(right)))
        return found

    def holds(self, left: Row, right: Row, query: Row) -> bool:
        logical = self.logical
        for a, b in logical.keys:
            if is_null(left[a]) or is_null(right[b]) or left[a] != right[b]:
                return False
        if logical.band is not None:
            a, b = left[logical.band.left], right[logical.band.right]
            if is_null(a) or is_null(b) or not between(b - a, logical.band, query):
                return False
        if logical.window is not None:
            width = query[logical.window.within.parameter]
            distance = abs(left["t"] - right["t"])
            if is_null(width) or not distance < width * logical.window.unit_us:
                return False
        both = {f"i0.{name}": value for name, value in left.items()}
        both |= {f"i1.{name}": value for name, value in right.items()}
        return (
            self.holds_side(logical.inputs[0], left, query)
            and self.holds_side(logical.inputs[1], right, query)
            and self.holds_residual(logical.residual, both, query)
        )

    def holds_side(self, side: JoinInput, row: Row, query: Row) -> bool:
        branch: Branch = side.branch
        for term in branch.equalities:
            value, asked = row[term.column], query[term.parameters[0]]
            if is_null(value) or is_null(asked) or value != asked:
                return False
        for range_ in branch.ranges:
            value = row[range_.column]
            if is_null(value) or not between(value, range_, query):
                return False
        return self.holds_residual(branch.residual, row, query)

    def holds_residual(self, residual: Residual | None, row: Row, query: Row) -> bool:
        if residual is None:
            return True
        values = [row[name] for name in residual.columns]
        asked = [query[name] for name in residual.parameters]
        return self.answer(residual, values, asked)


def content(row: Row) -> tuple[Any, ...]:
    """Give a row's values so that equal rows are equal."""
    return tuple(None if is_null(value) else value for value in row.values())


def answer(residual: Residual, values: list[Any], asked: list[Any]) -> bool:
    """Answer the residuals of tests/support/joins.py."""
    if any(is_null(value) for value in (*values, *asked)):
        return False
    if residual.sql == "c0 <> r0":
        return bool(values[0] != asked[0])
    assert residual.sql == "c0 + r0 > c1"
    return bool(values[0] + asked[0] > values[1])


def found_by(results: list[Any], logical: StandingJoin) -> tuple[Found, Found]:
    """Give an operator's results in the twin's words: net sums, and affected queries."""
    joined: Found = Counter()
    affected: Found = Counter()
    split = len(logical.inputs[0].columns)
    for result in results:
        rows = [plain(result.rows.column(i)) for i in range(result.rows.num_columns)]
        table = list(zip(*rows, strict=True))
        for query, event in zip(result.query.tolist(), result.event.tolist(), strict=True):
            *values, sign = table[event]
            left, right = tuple(values[:split]), tuple(values[split:])
            if logical.mode == "full":
                joined[query, left, right] += sign
            else:
                side = 1 if all(value is None for value in left) else 0
                affected[query, side, (left, right)[side], sign] += 1
    return Counter({k: n for k, n in joined.items() if n}), affected


def plain(column: pa.ChunkedArray) -> list[Any]:
    """Give values as the twin knows them: times as microseconds, NaN as NULL."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return [None if is_null(value) else value for value in column.to_pylist()]
