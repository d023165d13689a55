"""LookupJoinOperator: a stream whose rows are enriched from a table of another database.

Rows are answered in the order of their arrival. When the source does not answer, they wait, and so
does all that comes after them; nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.lookups import LookupJoinStep
from penstock.operators.bounded.forecasts import lookup_facts
from penstock.operators.bounded.law_fits import LawFit
from penstock.operators.lookup import figures, state
from penstock.operators.lookup.fetches import Fetching, settings_of
from penstock.operators.lookup.held import ABSENT, BROKEN
from penstock.operators.lookup.matches import LookupMatching
from penstock.operators.lookup.references import NEVER, Looking
from penstock.operators.lookup.source_tables import open_source
from penstock.operators.lookup.sources import LookupSource, masked
from penstock.operators.protocol import NO_CLOCKS, WHOLE, Share
from penstock.operators.shared.births import Births
from penstock.operators.shared.chunks import Stretch
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.input_entries import entry_schema
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.terms import residual_names
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import QueryChanges, Results
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import FAILED_CONDITIONS
from penstock.vocabulary.shared_figures import (
    ARRIVED,
    HITS,
    LAW,
    NULL_VALUES,
    QUERIES,
    RESULTS,
    ROWS_BUDGET,
    ROWS_UNDER,
    ROWS_WAITING,
)

CHUNK_ROWS = 1 << 13
"""Rows that are looked up together: it bounds the looked-up rows in hand beside the cache."""


class LookupJoinOperator:
    """Looks the rows of a stream up, through a cache that never holds more than its budget.

    The share says which part of the cache is this shard's, and which keys, where the host brings
    all rows; `source` where rows are looked up, if not where the step says.
    """

    def __init__(
        self,
        step: LookupJoinStep,
        snapshot: bytes | None = None,
        share: Share = WHOLE,
        source: LookupSource | None = None,
    ) -> None:
        self.step = step
        self._relation = step.relations[0]
        self._settings = settings_of(step.lookup)
        # Rows that all shards see wait in all of them.
        shares = 1 if step.sees_all else share.count
        self._waiting_max = -(-self._settings.waiting // shares)
        names = residual_names(step)
        self._queries = Queries(entry_schema(step), names)
        columns = [name for name, _ in step.table.columns]
        seed = step.lookup.memory.seed + share.number
        fetching = Fetching(source or open_source(step.lookup, columns), self._settings, seed=seed)
        self.looking = Looking(step, self._settings, fetching, share)
        self._matching = LookupMatching(step, self._queries, self.looking.held)
        self._stream = self._matching.stream
        self._head = 0
        self._clock = NEVER
        self._is_stale = True
        self._births = Births(2)
        self._fresh: list[state.Round] = []
        self._counts = Tally()
        self._asked = Tally()
        """What queries were asked in the last batch, of which failures are told."""
        if snapshot is not None:
            self._restore(snapshot)

    # Queries.

    def apply(self, changes: QueryChanges) -> None:
        """Take a registry version's changes."""
        self._is_stale = True
        self._queries.drop(changes.drops)
        queries = changes.adds.get(PORT)
        if queries is None or queries.num_rows == 0:
            return
        slots = self._queries.add(queries)
        now = np.full(2, LOWEST_TIME, dtype=np.int64)
        now[self._stream.number] = self._stream.contents.next - 1
        self._births.note(slots, self._queries.numbers, now)

    def _settle(self) -> None:
        """Let selections follow the queries that stand now."""
        if self._is_stale:
            self._is_stale = False
            self._matching.arrange(self._queries.live())

    # Data.

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take nothing: no table is kept."""

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Match one batch; first the rows that wait. A batch without rows tries them again."""
        self._counts, self._asked = Tally(), Tally()
        table = batch.get(self._relation)
        came = table is not None and table.num_rows > 0
        if not came and self._waiting == 0:
            return []
        self._settle()
        before = self._told()
        first = self._stream.contents.next
        if came:
            assert table is not None
            self._arrive(table)
        none = self._stream.schema.empty_table()
        turn = state.Round(waiting=none, schema=self.looking.schema)
        results = self._answer(turn)
        self._counts[FAILED_CONDITIONS] = self._asked[FAILED_CONDITIONS]
        if self._waiting > self._waiting_max:
            raise self._too_many()
        turn.facts = self._told()
        if turn.facts != before:
            head, following = max(self._head, first), self._stream.contents.next
            turn.waiting = self._stream.take(np.arange(head, following))
            self._fresh.append(turn)
            self._forget()
        return results

    @property
    def _waiting(self) -> int:
        return self._stream.contents.next - self._head

    def _arrive(self, table: pa.Table) -> None:
        """Let the rows wait that some query may want."""
        # Of rows that every shard sees, one shard tells.
        tells = self.looking.owning.is_first or not self.step.sees_all
        self._counts[ARRIVED, self._stream.number] += table.num_rows * tells
        if self._settings.max_age_us is not None:
            times, there = self._stream.reader.times(table)
            self._clock = int(times[there].max(initial=self._clock))
        rows, nulls = self._matching.wanted(
            self._stream.reader.conform(table), self._asked if tells else None
        )
        self._counts[NULL_VALUES] += nulls * tells
        self._stream.contents.add(rows)

    def _answer(self, turn: state.Round) -> list[Results]:
        """Look up the rows that wait, in their order, until all have an answer or none comes."""
        results: list[Results] = []
        counts = self._counts
        live, fetching = self._queries.live(), self.looking.fetching
        if len(live) == 0:
            # Nobody asks any more.
            self._head = self._stream.contents.next
        before = fetching.fetches, fetching.failures
        while self._waiting:
            end = min(self._head + CHUNK_ROWS, self._stream.contents.next)
            table = self._stream.contents.take(np.arange(self._head, end))
            chunk = self.looking.ask(table, self._clock)
            if chunk is None:
                break
            births = self._births.of
            results += self._matching.results(self._head, table, chunk.slots, births, self._asked)
            hits = self.looking.settle(chunk)
            turn.take(chunk)
            counts[figures.REFERENCES] += int(np.count_nonzero(chunk.owned))
            counts[HITS] += hits
            counts[figures.FETCHED] += len(chunk.fetched)
            counts[figures.ABSENT] += chunk.fetched.count(ABSENT)
            counts[figures.BROKEN] += chunk.fetched.count(BROKEN)
            self._head = end
        counts[figures.FETCHES] += fetching.fetches - before[0]
        counts[figures.FAILURES] += fetching.failures - before[1]
        counts[RESULTS] += sum(len(each.query) for each in results)
        return results

    def _forget(self) -> None:
        """Forget the rows that are answered, and births that no row is older than."""
        self._stream.contents.forget(self._head)
        heads = np.zeros(2, dtype=np.int64)
        heads[self._stream.number] = self._head
        self._births.forget(heads)

    def _too_many(self) -> PenstockError:
        lookup = self.step.lookup
        reason = self.looking.fetching.reason or "it does not answer"
        return PenstockError(
            "LKP-009",
            f"{self._waiting:,} rows of {self._relation!r} wait for {masked(lookup.source)!r}, and "
            f"{self._waiting_max:,} may: {reason.rstrip('.')}.",
            "The batch was not taken, so nothing is lost: repair the source and start again, or "
            "let more rows wait: OPTIONS (waiting = n).",
        )

    def _own_waiting(self) -> int:
        """Give how many of the rows that wait are looked up here."""
        if not self.step.sees_all or not self._waiting:
            return self._waiting
        rows = self._stream.take(np.arange(self._head, self._stream.contents.next))
        return int(np.count_nonzero(self.looking.owning.mine(rows)))

    # State.

    def _told(self) -> dict[str, Any]:
        looking = self.looking
        return {
            "head": self._head, "next": self._stream.contents.next, "clock": self._clock,
            "totals": dict(looking.totals), "reasons": [list(each) for each in looking.reasons],
        }  # fmt: skip

    def _take(self, facts: dict[str, Any]) -> None:
        self._head, self._clock = facts["head"], facts["clock"]
        self.looking.totals, self.looking.reasons = dict(facts["totals"]), facts["reasons"]

    def delta(self) -> bytes | None:
        """Give what was fed, what was fetched and what waits since the last call."""
        fresh, self._fresh = self._fresh, []
        if not fresh:
            return None
        parts = [part for turn in fresh for part in turn.parts()]
        return state.to_bytes(parts, {"rounds": [turn.told() for turn in fresh]})

    def catch_up(self, delta: bytes) -> None:
        """Repeat what another copy did, without asking the source."""
        parts, facts = state.from_bytes(delta)
        self._settle()
        for number, told in enumerate(facts["rounds"]):
            turn = state.Round.of(parts[2 * number : 2 * number + 2], told)
            for keys, owned, fetched in turn.chunks:
                self.looking.repeat(keys, owned, fetched, told["clock"])
            self._take(told)
            waiting = turn.waiting
            if told["next"] - waiting.num_rows > self._stream.contents.next:
                first = told["next"] - waiting.num_rows
                self._stream.contents = Stretch(self._stream.schema, first)
            self._stream.contents.add(waiting)
            self._forget()

    def snapshot(self) -> bytes | None:
        """Give cached rows, the cache and the rows that wait; equal states give equal bytes."""
        waiting = self._stream.take(np.arange(self._head, self._stream.contents.next))
        arrays = state.arrays_table(self.looking.cache.arrays())
        facts = {**self._told(), "births": self._births.facts()}
        return state.to_bytes([self.looking.held.rows(), (waiting, arrays)], facts)

    def _restore(self, snapshot: bytes) -> None:
        (rows, (waiting, arrays)), facts = state.from_bytes(snapshot, state.renewed)
        self.looking.held.restore(*rows)
        self.looking.cache.restore(state.arrays_of(arrays))
        self._stream.contents = Stretch(self._stream.schema, facts["head"])
        self._stream.contents.add(waiting)
        self._take(facts)
        self._births = Births(2, facts["births"])

    # Figures.

    def sizes(self) -> Tally:
        """Say what stands: queries, rows held, rows that wait."""
        return Tally(
            {
                QUERIES: len(self._queries),
                figures.ROWS_CACHED: len(self.looking.held),
                ROWS_BUDGET: self.looking.budget,
                (ROWS_UNDER, self.looking.cache.in_force): self.looking.budget,
                ROWS_WAITING: self._own_waiting(),
                # Rows wait while the breaker is not closed, and this is the same in every copy.
                figures.BREAKER_OPEN: int(self._waiting > 0),
                (LAW, 0): self.looking.cache.family,
            }
        )

    def counts(self) -> Tally:
        """Say what the last batch met."""
        return self._counts

    def forecasting(self) -> Callable[[], dict[str, Any]] | None:
        """Give what foretells the hit rate by the law in force; None while nothing is fitted.

        It takes what it needs now, and may be called later, beside the next batch.
        """
        fit: LawFit | None = getattr(self.looking.cache, "fit", None)
        if fit is None:
            return None
        return partial(lookup_facts, self.looking.memory, fit.law)
