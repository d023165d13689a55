"""Answers: what queries are told of segments, from the birth of each on.

Where a step predicts, a row that begins behind the time that has come is *expected*. When that time
comes, and nobody has taken it back, it is *confirmed*: the expectation goes, and the row stays.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.algebra.models import ModelQueryStep
from penstock.models.segments import Segments
from penstock.operators.model_query.asked_index import AskedIndex
from penstock.operators.model_query.expectations import turn
from penstock.operators.model_query.key_codes import UNKNOWN, KeyCodes
from penstock.operators.model_query.made_rows import MadePairs, RowMaker
from penstock.operators.shared.births import Births
from penstock.operators.shared.queries import Queries
from penstock.vocabulary.batches import Floats, Ints, Results, Rows

NO_SLOTS: Rows = np.empty(0, dtype=np.int32)
BIRTHS_MAX = 10_000
"""Births that are told apart; queries of older ones are told also of the time before theirs."""


class Answers:
    """The queries of a group, what they are told, and what is expected of those that predict."""

    def __init__(
        self, step: ModelQueryStep, codes: KeyCodes, queries: Queries, births: Births
    ) -> None:
        self._step, self._codes, self._queries, self._births = step, codes, queries, births
        self._relation = step.relations[0]
        self._maker = RowMaker(step, codes)
        self._index = AskedIndex(step)
        self._all_known = True
        self._texts = -1
        """How many texts had codes when queries were indexed; -1: they must be indexed anew."""
        self._newborn: Rows = NO_SLOTS
        self._expected: MadePairs | None = None
        """What queries expect; None: it must be found again."""
        self.confirmed = 0
        """Expectations that the last batch confirmed."""

    @property
    def solved(self) -> int:
        """Pairs of a query and a segment that were solved in the last batch."""
        return self._index.solved

    # Queries.

    def follow(self, gone: Rows) -> None:
        """Follow queries that came or went; `gone` are the slots of the latter."""
        self._texts = -1
        if self._expected is not None and len(gone):
            self._expected = self._expected.take(~np.isin(self._expected.slot, gone)).compact()

    def bear(self, slots: Rows, now: Ints) -> None:
        """Note the births of queries."""
        before = self._births.facts()["known"]
        self._births.note(slots, self._queries.numbers, now)
        self._newborn = slots[self._queries.numbers[slots] > before]

    def forget(self) -> None:
        """Forget the oldest births, if they are too many.

        How far back a plan may speak nobody knows: over a gap it holds what was before it.
        """
        if len(self._births) > BIRTHS_MAX:
            oldest = self._births.facts()["births"][-BIRTHS_MAX // 2]
            self._births.forget(np.array(oldest, dtype=np.int64))

    def lose(self) -> None:
        """Let what is expected be found again: another copy told it, to those that were new too."""
        self._expected, self._newborn = None, NO_SLOTS

    def _settle(self) -> None:
        """Index the queries that stand."""
        self._index.solved = 0
        size = self._codes.texts.size
        if self._texts == size or (self._texts >= 0 and self._all_known):
            return
        live = self._queries.live()
        keys = self._keys(live)
        self._all_known = not (keys == UNKNOWN).any()
        self._index.put(live, keys, self._numbers(live))
        self._texts = size

    def _keys(self, slots: Rows) -> Ints:
        """Give the codes that queries ask for."""
        found = np.empty((len(slots), len(self._step.asked.key)), dtype=np.int64)
        for place in range(found.shape[1]):
            name = f"e{place}"
            if name in self._queries.columns:
                found[:, place] = self._queries.columns[name][slots]
            else:
                texts = self._queries.contents.take(slots, (name,)).column(0)
                found[:, place] = self._codes.find(texts.combine_chunks())
        return found

    def _numbers(self, slots: Rows) -> Floats:
        count = len(self._step.asked.comparisons)
        found = np.empty((len(slots), count))
        for place in range(count):
            found[:, place] = self._queries.columns[f"n{place}"][slots]
        return found

    # Telling.

    def begun(self, standing: Segments, now: int) -> MadePairs | None:
        """Give what queries that are new find in what stands.

        If what is expected was lost, it is found again.
        """
        self._settle()
        newborn, self._newborn = self._newborn, NO_SLOTS
        if self._step.predicts and self._expected is None:
            found = self._pairs(self._index, standing)
            is_new = np.isin(found.slot, newborn)
            self._expected = found.take((found.starts > now) & ~is_new).compact()
        if len(newborn) == 0 or len(standing) == 0:
            return None
        index = AskedIndex(self._step)
        index.put(newborn, self._keys(newborn), self._numbers(newborn))
        return self._pairs(index, standing)

    def tell(self, begun: MadePairs | None, said: Segments, now: int) -> list[Results]:
        """Tell queries what the plan said, and new ones what they found before."""
        self.confirmed = 0
        if begun is None and len(said) == 0 and not self._is_due(now):
            return []
        parts = [self._pairs(self._index, said)]
        if begun is not None:
            parts.insert(0, begun)
        told = MadePairs.joined(parts) if len(parts) > 1 else parts[0]
        if not self._step.predicts:
            return self._told(told)
        assert self._expected is not None, "what is expected was found before the batch"
        turned = turn(told, self._expected, now)
        self.confirmed, self._expected = turned.confirmed, turned.expected
        if len(turned.slot) == 0:
            return []
        table = self._maker.table(turned.rows, turned.sign, turned.ahead)
        return self._results(turned.slot, turned.event, table)

    def _is_due(self, now: int) -> bool:
        """Say whether the time of something comes that is expected."""
        return self._expected is not None and bool((self._expected.starts <= now).any())

    def _pairs(self, index: AskedIndex, segments: Segments) -> MadePairs:
        """Give what segments say to the queries of an index, each from its birth on."""
        return self._maker.pairs(segments, index.pieces(segments), self._births.of)

    def _told(self, told: MadePairs) -> list[Results]:
        """Give pairs as results: every row with its sign once."""
        if len(told.slot) == 0:
            return []
        sign = np.empty(len(told.rows), dtype=np.int8)
        sign[told.row] = told.sign
        table = self._maker.table(told.rows, sign, None)
        return self._results(told.slot, told.row.astype(np.int32), table)

    def _results(self, slot: Rows, event: Rows, table: pa.Table) -> list[Results]:
        query = self._queries.numbers[slot]
        return [Results(relation=self._relation, query=query, event=event, rows=table)]
