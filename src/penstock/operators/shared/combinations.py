"""Verifying: which queries a combination is a result of, as far as the cascade does not say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.algebra.inputs import InputsShape, place_of
from penstock.expressions.conditions import Predicate
from penstock.operators.shared.common_keys import same_values, texts_of, value_keys
from penstock.operators.shared.inputs import Input, StreamInput
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.residuals import residual_holds
from penstock.operators.shared.terms import Term
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import Flags, Ints, Rows
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import ASKED, PASSED

PAIRS_MAX = 1 << 20
"""How many pairs of a combination and a query are looked at together: it bounds the memory."""
Combinations = npt.NDArray[np.int64]
"""Row numbers: a row per combination, a column per input."""
NumberedRows = npt.NDArray[np.int64]
Keys = dict[tuple[int, str], Ints]


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """What results must be asked: terms (input, number of the term), residuals of inputs."""

    terms: tuple[tuple[int, int], ...]
    residuals: tuple[int, ...]
    births: bool


Ages = Callable[[StreamInput, Ints], Ints]
"""`(input, row numbers)`: event times, or whatever else the order of rows is."""


class Verifying:
    """Everything that a query asks beyond what holds for every combination already."""

    def __init__(
        self,
        step: InputsShape,
        inputs: Sequence[Input],
        queries: Queries,
        names: tuple[str, ...],
        ages: Ages = StreamInput.times,
    ) -> None:
        """Ask `step`; `ages` gives rows what their queries' births are compared with."""
        self._ages = ages
        self._inputs = {each.number: each for each in inputs}
        self._queries = queries
        self._names = names
        self._test = Predicate(step.residual_sql) if step.residual_sql else None
        self._columns = tuple(place_of(name) for name in step.residual_columns)

    def pairs(
        self, found: Combinations, oldest: Ints, slots: Rows, births: npt.NDArray[np.int64],
        pulled: frozenset[int], counts: Tally,
    ) -> tuple[NumberedRows, Rows]:  # fmt: skip
        """Give (combination, query slot) for all results.

        No row is older than those in `oldest`; `births` are those of the queries in `slots`, who
        see rows behind them; `pulled` are inputs whose terms the cascade asks.
        """
        open_ = self._open(oldest, births, pulled)
        if not (open_.terms or open_.residuals or open_.births or self._test):
            rows = np.repeat(np.arange(len(found)), len(slots))
            return rows, np.tile(slots, len(found))
        parts = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32))]
        size = max(1, PAIRS_MAX // len(slots))
        for start in range(0, len(found), size):
            rows, at = self._some(found[start : start + size], slots, births, open_, counts)
            parts.append((start + rows, slots[at]))
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def _open(self, oldest: Ints, births: npt.NDArray[np.int64], pulled: frozenset[int]) -> Open:
        """Say what results must be asked; mostly nothing is, so this asks no result."""
        terms, residuals = [], []
        for each in self._inputs.values():
            sure = not isinstance(each, StreamInput) or oldest[each.number] >= each.sure_from
            own = each.selection.open_terms(each.number in pulled, sure)
            terms += [(each.number, term) for term in own]
            if each.selection.open_residual(sure):
                residuals.append(each.number)
        return Open(
            terms=tuple(terms),
            residuals=tuple(residuals),
            births=bool((births > LOWEST_TIME).any()),
        )

    def _some(
        self, found: Combinations, slots: Rows, births: npt.NDArray[np.int64], open_: Open,
        counts: Tally,
    ) -> tuple[NumberedRows, NumberedRows]:  # fmt: skip
        """Ask some combinations, the cheapest first: give pairs (combination, place in `slots`)."""
        holds: Flags = np.ones((len(found), len(slots)), dtype=np.bool_)
        if open_.births:
            for each in self._inputs.values():
                if isinstance(each, StreamInput):
                    ages = self._ages(each, np.ascontiguousarray(found[:, each.number]))
                    holds &= ages[:, None] > births[None, :, each.number]
        keys: Keys = {}
        for number, place in open_.terms:
            each = self._inputs[number]
            term = each.selection.terms[place][0]
            key = self._key(keys, each, term, found[:, number])
            low, high = (self._queries.columns[name][slots] for name in (term.low, term.high))
            holds &= (low[None, :] <= key[:, None]) & (key[:, None] <= high[None, :])
        rows, at = np.nonzero(holds)
        for number, place in open_.terms:
            term = self._inputs[number].selection.terms[place][0]
            if term.text is not None:
                same = self._same(self._inputs[number], term, found[rows, number], slots[at])
                rows, at = rows[same], at[same]
        for number in open_.residuals:
            same = self._residual(number, found[rows, number], slots[at], counts)
            counts[ASKED, number, "residual"] += len(rows)
            counts[PASSED, number, "residual"] += int(np.count_nonzero(same))
            rows, at = rows[same], at[same]
        if self._test is not None:
            same = self._across(found[rows], slots[at], counts)
            rows, at = rows[same], at[same]
        return rows, at

    def _key(self, keys: Keys, each: Input, term: Term, ids: Ints) -> Ints:
        place = each.number, term.column
        if place not in keys:
            column = each.take(ids, (term.column,)).column(0)
            keys[place] = value_keys(column, term.type)[0]
        return keys[place]

    def _same(self, each: Input, term: Term, ids: Ints, queries: Rows) -> Flags:
        """Compare texts themselves: their hashes are equal."""
        assert term.text is not None
        mine = texts_of(each.take(ids, (term.column,)).column(0), term.type).cast(pa.string())
        asked = self._queries.contents.take(queries, (term.text,)).column(0)
        return same_values(mine, asked)

    def _residual(self, number: int, ids: Ints, queries: Rows, counts: Tally) -> Flags:
        selection = self._inputs[number].selection
        if len(ids) == 0:
            return np.empty(0, dtype=np.bool_)
        take = lambda name, items: self._inputs[number].take(items, (name,)).column(0)  # noqa: E731
        columns = [(take, name, ids) for name in selection.columns]
        assert selection.test is not None
        return residual_holds(
            selection.test, columns, self._queries.contents, selection.names, queries, counts
        )

    def _across(self, found: Combinations, queries: Rows, counts: Tally) -> Flags:
        assert self._test is not None
        columns = []
        for number, column in self._columns:
            each = self._inputs[number]
            take = lambda name, items, own=each: own.take(items, (name,)).column(0)  # noqa: E731
            columns.append((take, column, np.ascontiguousarray(found[:, number])))
        contents = self._queries.contents
        return residual_holds(self._test, columns, contents, self._names, queries, counts)
