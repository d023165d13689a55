"""Verifying: the further terms of joins, asked of what the index found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.algebra.inputs import place_of
from penstock.algebra.joins import JoinStep
from penstock.expressions.conditions import Predicate
from penstock.operators.shared.common_keys import same_values, texts_of
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.readers import SideArrivals
from penstock.operators.shared.residuals import Take, residual_holds
from penstock.operators.shared.sides import Side
from penstock.operators.shared.terms import residual_names, side_terms
from penstock.vocabulary.batches import Flags, Ints, Rows
from penstock.vocabulary.figures import Tally


class JoinVerifying:
    """Everything that a query asks of rows beyond what the index knows."""

    def __init__(self, step: JoinStep, queries: Queries) -> None:
        self._queries = queries
        self._names = residual_names(step)
        self._sides = tuple(side_terms(step, side) for side in range(2))
        self._shapes = step.inputs
        self._tests = tuple(Predicate(sql) if sql else None for sql in step.residuals)
        self._cross_columns = tuple(place_of(name) for name in step.residual_columns)

    def asks_side(self, side: int) -> bool:
        """Whether something is asked of the rows of a side."""
        terms = self._sides[side]
        return bool(terms.further or terms.texts or self._tests[side])

    @property
    def asks_both(self) -> bool:
        """Whether something is asked of both rows together."""
        return self._tests[2] is not None

    @property
    def needs_contents(self) -> bool:
        """Whether rows must be kept in full for what is asked."""
        return any(self._tests) or any(terms.texts for terms in self._sides)

    def near(
        self, side: int, arrivals: SideArrivals, tuples: Rows, queries: Rows, counts: Tally
    ) -> Flags:
        """Say which pairs hold for the arriving rows themselves."""
        take = lambda name, at: arrivals.table.column(name).take(pa.array(at))  # noqa: E731
        return self._holds(side, arrivals.terms, take, tuples, queries, counts)

    def far(self, side: Side, number: int, slots: Rows, queries: Rows, counts: Tally) -> Flags:
        """Say which pairs hold for the rows of the other side that they met."""
        take = lambda name, at: side.contents.take(at, (name,)).column(0)  # noqa: E731
        return self._holds(number, side.terms, take, slots, queries, counts)

    def _holds(
        self, side: int, keys: Sequence[Ints], take: Take, items: Rows, queries: Rows,
        counts: Tally,
    ) -> Flags:  # fmt: skip
        """Ask a side's further terms, its texts, its residual: the cheapest first."""
        holds: Flags = np.ones(len(items), dtype=np.bool_)
        entries = self._queries.columns
        for term, own in zip(self._sides[side].further, keys, strict=True):
            key = own[items]
            holds &= (entries[term.low][queries] <= key) & (key <= entries[term.high][queries])
        for term in self._sides[side].texts:
            assert term.text is not None
            at = np.flatnonzero(holds)
            mine = texts_of(take(term.column, items[at]), term.type)
            asked = self._queries.contents.take(queries[at], (term.text,)).column(0)
            holds[at] = same_values(mine.cast(pa.string()), asked)
        test = self._tests[side]
        if test is not None:
            shape = self._shapes[side].branch
            at = np.flatnonzero(holds)
            columns = [(take, name, items[at]) for name in shape.residual_columns]
            holds[at] = self._ask(test, columns, side, queries[at], counts)
        return holds

    def across(
        self, side: int, arrivals: SideArrivals, other: Side, tuples: Rows, slots: Rows,
        queries: Rows, counts: Tally,
    ) -> Flags:  # fmt: skip
        """Say which triples hold for both rows together; `side` is the arriving one."""
        test = self._tests[2]
        assert test is not None
        near = lambda name, at: arrivals.table.column(name).take(pa.array(at))  # noqa: E731
        far = lambda name, at: other.contents.take(at, (name,)).column(0)  # noqa: E731
        columns = []
        for number, column in self._cross_columns:
            columns.append((near, column, tuples) if number == side else (far, column, slots))
        return self._ask(test, columns, 2, queries, counts)

    def _ask(
        self, test: Predicate, columns: list[tuple[Take, str, Rows]], own: int, queries: Rows,
        counts: Tally,
    ) -> Flags:  # fmt: skip
        contents, names = self._queries.contents, self._names[own]
        return residual_holds(test, columns, contents, names, queries, counts)
