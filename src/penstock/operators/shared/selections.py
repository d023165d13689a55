"""Selections: what the queries of a group ask of the rows of one input alone.

At the leaf a row passes if some query may want it: its keys lie in the union of the queries'
ranges. What that does not settle is asked of the results, query by query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.inputs import InputShape
from penstock.expressions.conditions import Predicate
from penstock.operators.shared.common_keys import same_values, texts_of
from penstock.operators.shared.fields import Matrix
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.residuals import residual_holds
from penstock.operators.shared.terms import Term
from penstock.vocabulary.batches import Flags, Ints, Rows
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import ASKED, PASSED


class Union:
    """Ranges of keys that do not meet, in order.

    >>> union = Union(np.array([5, 1, 2]), np.array([6, 2, 3]))
    >>> union.lows.tolist(), union.highs.tolist(), union.holds(np.array([0, 3, 4, 6])).tolist()
    ([1, 5], [3, 6], [False, True, False, True])
    """

    def __init__(self, lows: Ints, highs: Ints) -> None:
        order = np.argsort(lows, kind="stable")
        lows, highs = lows[order], np.maximum.accumulate(highs[order])
        begins = np.flatnonzero(np.append(True, lows[1:] > highs[:-1]))
        self.lows: Ints = lows[begins]
        self.highs: Ints = highs[np.append(begins[1:], len(lows)) - 1]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Union)
            and np.array_equal(self.lows, other.lows)
            and np.array_equal(self.highs, other.highs)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def span(self) -> tuple[int, int]:
        """The one range that holds them all."""
        return int(self.lows[0]), int(self.highs[-1])

    def holds(self, keys: Ints) -> Flags:
        """Say which keys lie in some range."""
        if len(self.lows) == 1:
            low, high = self.span
            inside: Flags = keys <= high
            return inside if low == LOWEST else inside & (keys >= low)
        at = np.searchsorted(self.lows, keys, side="right") - 1
        found: Flags = (at >= 0) & (keys <= self.highs[at])
        return found


@dataclass(frozen=True, slots=True)
class TermAsked:
    """One term: the union of all queries' ranges, and whether every query has the same.

    `text` is the text that a term on texts compares with, when all queries have the same.
    """

    field: int
    union: Union
    uniform: bool
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """What is asked at a leaf; equal criteria pass the same rows.

    `query` holds the slot of a query whose parameters the residual is asked with.
    """

    nobody: bool = True
    terms: tuple[TermAsked, ...] = ()
    residual: bool = False
    parameters: tuple[str, ...] = ()
    query: int = field(default=0, compare=False)


class Selection:
    """The selections of one input."""

    def __init__(
        self, shape: InputShape, number: int, terms: Sequence[tuple[Term, int]],
        names: tuple[str, ...], queries: Queries,
    ) -> None:  # fmt: skip
        self.number = number
        self.terms = tuple(terms)
        self.names = names
        self.columns = shape.branch.residual_columns
        sql = shape.branch.residual_sql
        self.test = Predicate(sql) if sql else None
        self._queries = queries
        self.asked: tuple[TermAsked, ...] = ()
        self.leaf = Criterion()
        self.terms_below = self.residual_below = False

    def arrange(self, slots: Rows, terms_at_leaf: bool, residual_at_leaf: bool) -> bool:
        """Take the queries that stand and where the plan asks; say if the leaf asks otherwise now.

        Queries whose residuals have different parameters are asked at the root only.
        """
        before = self.leaf
        if len(slots) == 0:
            self.asked, self.leaf = (), Criterion()
            return before != self.leaf
        self.asked = tuple(self._term(term, place, slots) for term, place in self.terms)
        parameters = self._parameters(slots) if self.test is not None else None
        self.terms_below = terms_at_leaf
        self.residual_below = residual_at_leaf and parameters is not None
        self.leaf = Criterion(
            nobody=False,
            terms=self.asked if terms_at_leaf else (),
            residual=self.residual_below,
            parameters=parameters if self.residual_below and parameters else (),
            query=int(slots[0]),
        )
        return before != self.leaf

    def _term(self, term: Term, place: int, slots: Rows) -> TermAsked:
        lows = self._queries.columns[term.low][slots]
        highs = self._queries.columns[term.high][slots]
        uniform = bool((lows == lows[0]).all() and (highs == highs[0]).all())
        text = None
        if term.text is not None:
            texts = pc.unique(self._queries.contents.take(slots, (term.text,)).column(0))
            uniform = len(texts) == 1
            text = texts[0].as_py() if uniform else None
        return TermAsked(place, Union(lows, highs), uniform, text)

    def _parameters(self, slots: Rows) -> tuple[str, ...] | None:
        """Give the parameters of the residual if all queries have the same, else None."""
        if not self.names:
            return ()
        table = self._queries.contents.take(slots, self.names)
        distinct = table.group_by(list(self.names)).aggregate([])
        return tuple(map(repr, distinct.to_pylist())) if distinct.num_rows == 1 else None

    def passes(
        self, fields: Matrix, table: pa.Table, counts: Tally | None,
        weights: Ints | None = None,
    ) -> Flags:  # fmt: skip
        """Say which rows some query may want; count how many were asked, and how many passed.

        `weights` say how many candidates each row stands for, if not for one.
        """
        leaf = self.leaf
        rows = len(fields)
        if leaf.nobody:
            return np.zeros(rows, dtype=np.bool_)
        passing: Flags = np.ones(rows, dtype=np.bool_)
        if leaf.terms and rows:
            for (term, place), asked in zip(self.terms, leaf.terms, strict=True):
                if asked.union.span != (LOWEST, HIGHEST):
                    passing &= asked.union.holds(fields[:, place])
                if asked.text is not None:
                    at = np.flatnonzero(passing)
                    passing[at] = _same(table.column(term.column).take(pa.array(at)), term, asked)
            self._count(counts, "terms", rows, int(np.count_nonzero(passing)))
        if leaf.residual and passing.any():
            at = np.flatnonzero(passing)
            queries = np.full(len(at), leaf.query, dtype=np.int32)
            own = None if weights is None else weights[at]
            passing[at] = self.holds(at, table, queries, counts, own)
            self._count(counts, "residual", len(at), int(np.count_nonzero(passing)))
        return passing

    def holds(
        self, at: Ints, table: pa.Table, queries: Rows, counts: Tally | None,
        weights: Ints | None = None,
    ) -> Flags:  # fmt: skip
        """Ask the residual of rows of a table, each with the parameters of a query."""
        assert self.test is not None
        take = lambda name, items: table.column(name).take(pa.array(items))  # noqa: E731
        columns = [(take, name, at) for name in self.columns]
        return residual_holds(
            self.test, columns, self._queries.contents, self.names, queries, counts, weights
        )

    def _count(self, counts: Tally | None, part: str, asked: int, passed: int) -> None:
        if counts is not None:
            counts[ASKED, self.number, part] += asked
            counts[PASSED, self.number, part] += passed

    def open_terms(self, pulled: bool, sure: bool) -> list[int]:
        """Give the terms that results must still be asked, query by query.

        `pulled`: the kernels ask them, by keys, above the leaf. `sure`: no row is older than what
        is asked at the leaf now.
        """
        return [
            number
            for number, ((term, _), asked) in enumerate(zip(self.terms, self.asked, strict=True))
            if not asked.uniform
            or (pulled and term.text is not None)
            or not (pulled or (self.terms_below and sure))
        ]

    def open_residual(self, sure: bool) -> bool:
        """Whether results must still be asked the residual."""
        return self.test is not None and not (self.residual_below and sure)


def _same(column: pa.Array | pa.ChunkedArray, term: Term, asked: TermAsked) -> Flags:
    texts = texts_of(column, term.type).cast(pa.string())
    return same_values(texts, pa.scalar(asked.text))
