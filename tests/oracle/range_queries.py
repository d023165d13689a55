"""The slow twin of standing range aggregates: all rows and queries, after every batch anew."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Row = Mapping[str, Any]
Answer = tuple[Any, ...]
Ends = tuple[Any, Any]


def known(value: Any) -> bool:
    """Say whether there is a value: neither NULL nor NaN."""
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def aggregate(function: str, column: str | None, rows: Sequence[Row]) -> Any:
    """Aggregate exactly; a sum or a mean of floats becomes a float at the end."""
    if column is None:
        return len(rows)
    values = [row[column] for row in rows if known(row[column])]
    if function == "count":
        return len(values)
    if function == "count_distinct":
        return len(set(values))
    if not values:
        return None
    if ":" in function:
        name, most = function.split(":")
        return sorted(values, reverse=name == "max")[: int(most)]
    if function in {"min", "max"}:
        return min(values) if function == "min" else max(values)
    total = sum((Fraction(value) for value in values), Fraction(0))
    return total if function == "sum" else float(total / len(values))


@dataclass
class RangeTwin:
    """Queries are (range, partition): a range is (low, high), or None, which holds nothing.

    With a `further` attribute they have a range of that too, or all of it.

    >>> twin = RangeTwin("x", ("k",), (("min", "y"), ("count", None)))
    >>> twin.add(7, (1, 5), ("a",))
    >>> twin.process([({"x": 2, "k": "a", "y": 9}, 1), ({"x": 6, "k": "a", "y": 1}, 1)])
    [(7, (None, 0), (9, 1))]
    """

    attribute: str
    partition: tuple[str, ...]
    measures: tuple[tuple[str, str | None], ...]
    rows: list[Row] = field(default_factory=list)
    further: str = ""
    queries: dict[int, tuple[Ends | None, tuple[Any, ...], Ends | None]] = field(
        default_factory=dict
    )

    def add(
        self,
        query: int,
        range_: Ends | None,
        partition: tuple[Any, ...],
        across: Ends | None = None,
    ) -> None:
        """Let a query stand."""
        self.queries[query] = range_, partition, across

    def drop(self, query: int) -> None:
        """Let a query go."""
        self.queries.pop(query, None)

    def answer(self, query: int) -> Answer:
        """Give the values of a query now."""
        range_, partition, across = self.queries[query]
        chosen = [
            row
            for row in self.rows
            if range_ is not None
            and known(row[self.attribute])
            and range_[0] <= row[self.attribute] <= range_[1]
            and (
                across is None
                or (known(row[self.further]) and across[0] <= row[self.further] <= across[1])
            )
            and all(
                known(row[name]) and row[name] == value
                for name, value in zip(self.partition, partition, strict=True)
            )
        ]
        return tuple(aggregate(function, column, chosen) for function, column in self.measures)

    def process(self, changes: Iterable[tuple[Row, int]]) -> list[tuple[int, Answer, Answer]]:
        """Take rows that come and go; give (query, old, new) where these differ."""
        before = {query: self.answer(query) for query in self.queries}
        for row, sign in changes:
            if sign > 0:
                self.rows.append(row)
            else:
                self.rows.remove(row)
        after = {query: self.answer(query) for query in self.queries}
        return [
            (query, before[query], after[query])
            for query in self.queries
            if before[query] != after[query]
        ]


def told(changes: Iterable[tuple[int, Answer, Answer]]) -> Counter[tuple[Any, ...]]:
    """Give changes as rows with signs, added up."""
    found: Counter[tuple[Any, ...]] = Counter()
    for query, old, new in changes:
        found[query, old] -= 1
        found[query, new] += 1
    return found
