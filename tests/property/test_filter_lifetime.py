"""A group's life: adds, drops, batches, restarts; the operator always answers as its twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.algebra.logical import StandingFilter, filter_step
from penstock.algebra.predicates import Bound, Branch, Equality, Range, Residual
from penstock.operators.filter import FilterOperator, register
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.shared_figures import QUERIES
from tests.oracle.filters import matches

COLUMNS = {"s": pa.string(), "n": pa.int64(), "x": pa.float64(), "y": pa.int32()}
PARAMETERS = {
    "s": pa.string(), "n": pa.int64(), "m": pa.int64(),
    "xl": pa.float64(), "xh": pa.float64(), "yl": pa.int32(), "yh": pa.int32(),
}  # fmt: skip
CLOSED = {name: Bound(parameter=name, closed=True) for name in PARAMETERS}
X = Range(column="x", lows=(CLOSED["xl"],), highs=(CLOSED["xh"],))
Y = Range(column="y", lows=(CLOSED["yl"],), highs=(CLOSED["yh"],))
S = Equality(column="s", parameters=("s",))
N = Equality(column="n", parameters=("n", "m"))
TEXT = Residual(sql="c0 = r0", columns=("s",), parameters=("s",))
SHAPES = {
    "range": (Branch(ranges=(X,)),),
    "ranges": (Branch(ranges=(X, Y)),),
    "text and range": (Branch(equalities=(S,), ranges=(X,)),),
    "pair": (Branch(equalities=(N, S)),),
    "either": (Branch(equalities=(N,), ranges=(X,)), Branch(ranges=(Y,))),
    "residual": (Branch(ranges=(X,), residual=TEXT),),
    "all": (Branch(residual=TEXT),),
}

small = st.integers(-5, 5)
texts = st.sampled_from(["a", "b", "c", ""])
rows = st.lists(
    st.tuples(texts, small, small, small, st.integers(0, 6), small, st.integers(0, 6)),
    min_size=1, max_size=12,
)  # fmt: skip
events = st.lists(
    st.tuples(st.none() | texts, st.none() | small, st.floats(-6, 6, width=16), small), max_size=15
)


class GroupLife(RuleBasedStateMachine):
    """Drives one group and its twin through the same changes."""

    @initialize(
        shape=st.sampled_from(sorted(SHAPES)),
        growth=st.sampled_from([0, 1, 2, 100]),
        threads=st.sampled_from([1, 2]),
    )
    def start(self, shape: str, growth: int, threads: int) -> None:
        self.logical = StandingFilter(
            relation="t", branches=SHAPES[shape], outputs=(), parameters=PARAMETERS,
            column_types=COLUMNS,
        )  # fmt: skip
        self.step = filter_step(self.logical)
        self.growth, self.threads = growth, threads
        self.changes: list[QueryChanges] = []
        self.queries: dict[int, dict[str, Any]] = {}
        self.next = 0
        self.build()

    def build(self) -> None:
        self.operator = FilterOperator(self.step, threads=self.threads, growth=self.growth)
        for change in self.changes:
            self.operator.apply(change)

    @rule(drawn=rows, share=st.integers(0, 4), salt=st.integers(0, 1000))
    def change(self, drawn: list[tuple[Any, ...]], share: int, salt: int) -> None:
        """Add the rows; drop a share of what stands, and some numbers that do not."""
        chance = np.random.default_rng(salt)
        drops = sorted(n for n in self.queries if chance.random() * 4 < share)
        for number in drops:
            del self.queries[number]
        drops = sorted({*drops, -1, self.next + 1000})
        own = [
            {"s": s, "n": n, "m": m, "xl": float(x), "xh": float(x + w), "yl": y, "yh": y + v}
            for s, n, m, x, w, y, v in drawn
        ]
        table = pa.Table.from_pylist(own, schema=pa.schema(list(PARAMETERS.items())))
        registration = register(self.logical, self.step, table, first=self.next)
        assert len(registration.refusals.row) == 0
        self.queries |= {self.next + i: row for i, row in enumerate(own)}
        self.next += len(own) + 3
        change = QueryChanges(adds=registration.adds, drops=np.array(drops, dtype=np.int64))
        self.changes.append(change)
        self.operator.apply(change)

    @rule()
    def restart(self) -> None:
        """Make the operator anew from all changes."""
        self.build()

    @rule(drawn=events)
    def batch(self, drawn: list[tuple[Any, ...]]) -> None:
        batch = [dict(zip(COLUMNS, event, strict=True)) for event in drawn]
        table = pa.Table.from_pylist(batch, schema=pa.schema(list(COLUMNS.items())))
        expected = matches(
            self.logical, self.queries, batch, lambda columns, own: columns[0] == own[0]
        )
        assert self.pairs(table) == expected
        assert self.pairs(table) == expected, "a replay changes nothing"

    def pairs(self, table: pa.Table) -> set[tuple[int, int]]:
        results = self.operator.process({"t": table})
        pairs = [
            pair for r in results for pair in zip(r.event.tolist(), r.query.tolist(), strict=True)
        ]
        assert len(pairs) == len(set(pairs)), "a pair was given twice"
        return set(pairs)

    @invariant()
    def counts(self) -> None:
        if hasattr(self, "operator"):
            assert self.operator.sizes()[QUERIES] == len(self.queries)


TestGroupLife = GroupLife.TestCase
TestGroupLife.settings = settings(max_examples=80, stateful_step_count=20)
