"""Queries with known statistics, and streams that have them: what the planner is judged on.

Arrivals are Poisson, keys are uniform and independent, so that the model of a query holds its true
parameters. The same seed gives the same query and the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Literal

import numpy as np
import pyarrow as pa

from penstock.algebra.crossings import Comparison, Crossing, Difference
from penstock.algebra.inputs import JoinInput, Place, WindowLength
from penstock.algebra.logical import Output
from penstock.algebra.multi_joins import KIND, MultiJoin, MultiJoinStep
from penstock.algebra.predicates import Bound, Branch, Range, Residual
from penstock.lab.draws import generator
from penstock.operators.catalogue import OPERATORS
from penstock.planning.constants import PlanConstants
from penstock.planning.costs import NANOSECOND
from penstock.planning.model import (
    ClassModel,
    InputModel,
    JoinModel,
    PredicateModel,
    SelectionModel,
)

SECOND_US = 1_000_000
MARKS = 1_000_000
"""Columns that are compared, and those that are selected by, are uniform below this."""
TIME = pa.timestamp("us", "UTC")

Batch = Mapping[str, pa.Table]
"""What one micro-batch brings: a table per stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSource:
    """A stream: its rate in rows per second, its window, and the share its selection accepts.

    The selection compares a column with a constant (`terms`), or is something that no kernel
    understands (`residual`).
    """

    name: str
    rate: float
    window: WindowLength
    accepted: float = 1.0
    part: Literal["terms", "residual"] = "terms"
    width: int = 0
    """Columns that no predicate reads."""

    @property
    def rows(self) -> float:
        """The rows that its window holds, on average."""
        size = self.window.size
        return size if self.window.kind == "rows" else self.rate * size / SECOND_US


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """All inputs named are equal in one column of `distinct` values, uniform."""

    inputs: tuple[int, ...]
    distinct: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Relating:
    """Two inputs are compared: `left < right`, or `|right - left|` is small; a share passes."""

    left: int
    right: int
    share: float
    op: Literal["<", "near"] = "<"

    def __post_init__(self) -> None:
        assert 0.0 < self.share <= 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerQuery:
    """A multi-way window join over streams with known statistics."""

    sources: tuple[StreamSource, ...]
    keys: tuple[Key, ...]
    relatings: tuple[Relating, ...] = ()
    name: str = ""

    def model(self, constants: PlanConstants) -> JoinModel:
        """Say what the planner would know if it knew everything."""
        asking = {"terms": constants.terms, "residual": constants.residual}
        return JoinModel(
            inputs=tuple(
                InputModel(
                    name=each.name,
                    rate=each.rate,
                    rows=float(each.window.size) if each.window.kind == "rows" else None,
                    range_s=None if each.window.kind == "rows" else each.window.size / SECOND_US,
                    row_bytes=8.0 * (1 + len(self.columns(number))),
                )
                for number, each in enumerate(self.sources)
            ),
            classes=tuple(
                ClassModel(mask=sum(1 << k for k in key.inputs), selectivity=1 / key.distinct)
                for key in self.keys
            ),
            predicates=tuple(
                PredicateModel(
                    mask=1 << each.left | 1 << each.right, selectivity=each.share, is_equality=False
                )
                for each in self.relatings
            ),
            selections=tuple(
                SelectionModel(
                    input=k,
                    part=each.part,
                    selectivity=each.accepted,
                    cost_s=asking[each.part] * NANOSECOND,
                )
                for k, each in enumerate(self.sources)
                if each.accepted < 1.0
            ),
        )

    def sql(self) -> str:
        """Write the query as a user would."""
        names = [each.name for each in self.sources]
        outputs = ", ".join(f"{name}.id AS {name}_id" for name in names)
        inputs = ", ".join(f"{each.name} [{_window_sql(each.window)}]" for each in self.sources)
        found = []
        for (left, column), (right, other) in self._crossing().equalities:
            found.append(f"{names[left]}.{column} = {names[right]}.{other}")
        for each in self._crossing().comparisons:
            sides = [f"{names[number]}.{column}" for number, column in (each.left, each.right)]
            found.append(f" {each.op} ".join(sides))
        found += [
            f"{each.name}.s < {int(each.accepted * MARKS)}"
            for each in self.sources
            if each.accepted < 1.0
        ]
        assert all(each.op == "<" for each in self.relatings)
        return f"SELECT {outputs} FROM {inputs} WHERE {' AND '.join(found)}"

    def logical(self) -> MultiJoin:
        """Say what the query asks."""
        constants = {
            f"${k}": int(each.accepted * MARKS)
            for k, each in enumerate(self.sources)
            if each.accepted < 1.0 and each.part == "terms"
        }
        return MultiJoin(
            inputs=tuple(self._input(k) for k in range(len(self.sources))),
            outputs=tuple(
                Output(name=f"{each.name}_id", sql=f'"i{k}.id"')
                for k, each in enumerate(self.sources)
            ),
            crossing=self._crossing(),
            parameters=dict.fromkeys(constants, pa.int64()),
            constants=constants,
        )

    def step(self) -> MultiJoinStep:
        """Give what the operator runs."""
        return self.logical().step()

    def entries(self) -> Mapping[str, pa.Table]:
        """Give the one standing query, as the operator's ports take it."""
        row = pa.table({"id": ["q"]})
        return OPERATORS[KIND].register(self.logical(), self.step(), row, 1).adds

    def columns(self, number: int) -> tuple[str, ...]:
        """Name the columns of a stream that hold numbers, beside its event time."""
        keys = (f"k{i}" for i, key in enumerate(self.keys) if number in key.inputs)
        marks = (
            f"m{i}" for i, each in enumerate(self.relatings) if number in (each.left, each.right)
        )
        own = ("s",) if self.sources[number].accepted < 1.0 else ()
        others = (f"p{i}" for i in range(self.sources[number].width))
        return ("id", *keys, *marks, *own, *others)

    def _input(self, number: int) -> JoinInput:
        source = self.sources[number]
        branch = Branch()
        if source.accepted < 1.0 and source.part == "terms":
            below = Bound(parameter=f"${number}", closed=False)
            branch = Branch(ranges=(Range(column="s", lows=(), highs=(below,)),))
        elif source.accepted < 1.0:
            sql = f"c0 < {int(source.accepted * MARKS)}"
            branch = Branch(residual=Residual(sql=sql, columns=("s",), parameters=()))
        return JoinInput(
            name=source.name,
            relation=source.name,
            columns=(("seen", TIME), *((name, pa.int64()) for name in self.columns(number))),
            window=source.window,
            branch=branch,
            event_time="seen",
        )

    def _crossing(self) -> Crossing:
        equalities: list[tuple[Place, Place]] = []
        for i, key in enumerate(self.keys):
            first, *others = key.inputs
            equalities += [((first, f"k{i}"), (other, f"k{i}")) for other in others]
        less, near = [], []
        for i, each in enumerate(self.relatings):
            left, right = (each.left, f"m{i}"), (each.right, f"m{i}")
            if each.op == "<":
                less.append(Comparison(left, "<", right))
            else:
                width = _width(each.share)
                near.append(Difference(left, right, -width, width))
        return Crossing(
            equalities=tuple(equalities), comparisons=tuple(less), differences=tuple(near)
        )


def _window_sql(window: WindowLength) -> str:
    if window.kind == "rows":
        return f"ROWS {window.size}"
    return f"RANGE {window.size / SECOND_US:.6f} SECONDS"


def _width(share: float) -> int:
    """Give the width w with P(|x - y| <= w) = share for x and y uniform below MARKS."""
    return round(MARKS * (1 - sqrt(1 - share)))


class DrawnStreams:
    """The rows of a query's streams, for so many seconds."""

    def __init__(self, query: PlannerQuery, seconds: float, seed: int) -> None:
        self.query = query
        self.seconds = seconds
        rng = generator(seed, 7)
        self.tables = {
            source.name: _rows(query, number, seconds, rng)
            for number, source in enumerate(query.sources)
        }

    def batches(self, batch_s: float = 1.0) -> list[Batch]:
        """Cut the streams into micro-batches of equal event time."""
        ends = np.arange(1, round(self.seconds / batch_s) + 1) * batch_s * SECOND_US
        cut: dict[str, list[pa.Table]] = {}
        for name, table in self.tables.items():
            times = table["seen"].cast(pa.int64()).to_numpy()
            places = [0, *np.searchsorted(times, ends)]
            cut[name] = [table.slice(first, last - first) for first, last in pairwise(places)]
        return [{name: parts[i] for name, parts in cut.items()} for i in range(len(ends))]


def _rows(query: PlannerQuery, number: int, seconds: float, rng: np.random.Generator) -> pa.Table:
    """Draw the rows of one stream, in the order of time."""
    source = query.sources[number]
    count = int(rng.poisson(source.rate * seconds))
    times = np.sort(rng.integers(0, int(seconds * SECOND_US), count))
    columns = {"seen": pa.array(times).cast(pa.timestamp("us")).cast(TIME)}
    for name in query.columns(number):
        if name == "id":
            values = np.arange(count)
        elif name[0] in "sp":
            values = rng.integers(0, MARKS, count)
        elif name[0] == "k":
            values = rng.integers(0, query.keys[int(name[1:])].distinct, count)
        else:
            values = rng.integers(0, _top(query.relatings[int(name[1:])], number), count)
        columns[name] = pa.array(values)
    return pa.table(columns)


def _top(relating: Relating, number: int) -> int:
    """Say below what a compared column is uniform: P(x < y) is half of y's top over x's."""
    shrunk = relating.op == "<" and number == relating.right
    return max(round(2 * relating.share * MARKS), 1) if shrunk else MARKS
