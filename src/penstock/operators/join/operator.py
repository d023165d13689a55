"""JoinOperator: standing joins of one shape against changes on both sides.

Within a batch the left side's changes meet the right side's rows as they were before, then the
right side's changes meet the left side's rows after it: every pair of rows is met exactly once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.joins import JoinStep
from penstock.kernels.made_rows import pairs_sort
from penstock.operators.join.cores import Matching, matching
from penstock.operators.join.entries import entry_schema
from penstock.operators.join.further_terms import JoinVerifying
from penstock.operators.join.results import Made
from penstock.operators.join.state import (
    NUMBER,
    PRINT,
    SIGN,
    apart,
    changes_table,
    renewed,
    rows_table,
)
from penstock.operators.protocol import NO_CLOCKS, WHOLE, RouteCosts, Share
from penstock.operators.shared.births import Births
from penstock.operators.shared.codec import Part, from_bytes, numbers_of, to_bytes
from penstock.operators.shared.codes import BranchCodes
from penstock.operators.shared.common_keys import key_types
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.readers import Reader, SideArrivals, columns_read
from penstock.operators.shared.sides import NO_SLOTS, Side
from penstock.operators.shared.terms import residual_names
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import Flags, Ints, QueryChanges, Results, Rows
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import (
    LATE_ROWS,
    NULL_EVENT_TIMES,
    UNKNOWN_DELETES,
)
from penstock.vocabulary.shared_figures import CANDIDATES, NULL_VALUES, PAIRS, QUERIES, ROWS

TRIPLES_MAX = 1 << 20
"""How many (change, query, row) triples are looked at together: it bounds the memory."""
CODES_MIN = 1 << 12
"""So many codes of keys are never too many."""


class JoinOperator:
    """Keeps the rows of two relations and finds what each change means for every standing join.

    With a key, only rows that belong to this shard are kept; bands divide the queries.
    """

    def __init__(self, step: JoinStep, snapshot: bytes | None = None, share: Share = WHOLE) -> None:
        self._step = step
        self._queries = Queries(entry_schema(step), residual_names(step))
        self._verifying = JoinVerifying(step, self._queries)
        everything = step.mode == "full" or self._verifying.needs_contents
        self._codes = BranchCodes(key_types(step))
        self._sides = tuple(
            Side(Reader(shape, columns_read(step, number, everything), self._codes, share))
            for number, shape in enumerate(step.inputs)
        )
        self._matching: Matching = matching(step, self._queries.columns, share)
        # With a band every shard sees every row: one of them counts.
        self._counts_rows = bool(step.keys) or share.number == 0
        self._forgets = step.kind == "window_join" and not any(s.is_table for s in self._sides)
        self._births = Births(1)
        self._widest = 0
        self._next = 0
        self._fresh: list[tuple[Part, dict[str, Any]]] = []
        self._counts = Tally()
        self._worked = Tally()
        if snapshot is not None:
            self._restore(snapshot)

    # Queries.

    def apply(self, changes: QueryChanges) -> None:
        """Take a registry version's changes; drops name queries of earlier versions."""
        gone = self._queries.drop(changes.drops)
        if len(gone):
            self._matching.drop(gone)
            if self._forgets and self._queries.columns["w"][gone].max() == self._widest:
                self._widest = int(self._queries.columns["w"][self._queries.live()].max(initial=0))
        table = changes.adds.get(PORT)
        if table is not None and table.num_rows:
            slots = self._queries.add(table)
            births = np.zeros(len(slots), dtype=np.int64)
            if self._forgets:
                # A query sees what comes behind the newest row.
                now = np.array([self._next - 1])
                born = self._births.add(self._queries.numbers[slots], now)[:, 0]
                births = np.maximum(born + 1, 0)
                self._widest = max(self._widest, int(self._queries.columns["w"][slots].max()))
            self._matching.add(slots, births)

    # Data.

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take the rows that the tables held, or how far the streams had come, before the group."""
        if not self._forgets:
            self._run(tables, None)
            return
        for side in self._sides:
            side.clock = clocks.get(side.reader.shape.relation, LOWEST_TIME)
        if max(self._clocks()) > LOWEST_TIME:
            left, right = (changes_table(side, None) for side in self._sides)
            self._fresh.append(((left, right), {"clocks": self._clocks()}))

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Match one batch: made rows, and the queries that each is for."""
        made = Made(self._step)
        self._counts = Tally()
        if self._run(batch, made):
            work = self._matching.counts()
            self._counts.add(work)
            self._counts.add(self._worked, sign=-1)
            self._worked = work
        return made.results()

    def _run(self, batch: Mapping[str, pa.Table], made: Made | None) -> bool:
        """Take a batch's changes, matching them on the way if results are wanted."""
        clocks = self._clocks()
        found: list[SideArrivals | None] = []
        met = False
        for number, side in enumerate(self._sides):
            table = batch.get(side.reader.shape.relation)
            arrivals = None
            if table is not None and table.num_rows:
                met = True
                arrivals = self._arrive(number, table)
                if made is not None and len(arrivals):
                    self._match(number, arrivals, made)
                self._take(number, arrivals)
            found.append(arrivals)
        if self._clocks() != clocks or any(found):
            left, right = (
                changes_table(side, own) for side, own in zip(self._sides, found, strict=True)
            )
            self._fresh.append(((left, right), {"clocks": self._clocks()}))
            self._settle()
        return met

    def _arrive(self, number: int, table: pa.Table) -> SideArrivals:
        """Read the changes of a side that take effect, and count the others."""
        side = self._sides[number]
        reader = side.reader
        counted = Tally()
        if self._forgets:
            # Late is what is late by the batches before: within one, Spark's order is its own.
            newest = side.clock
            side.clock = max(newest, _newest(reader, table))
            table = reader.mine(table)
            times, there = reader.times(table)
            late = there & (times < newest - reader.shape.lateness_us)
            if number == 0 or len(self._step.relations) > 1:
                counted[LATE_ROWS] = int(np.count_nonzero(late))
                counted[NULL_EVENT_TIMES] = int(np.count_nonzero(~there))
            here = there & ~late
            table = table if here.all() else table.filter(pa.array(here))
        else:
            table = reader.mine(table)
        signs = reader.signs(table)
        arrivals, counted[NULL_VALUES] = reader.read(reader.conform(table), signs)
        arrivals, counted[UNKNOWN_DELETES] = side.resolve(arrivals)
        if self._counts_rows:
            self._counts.add(counted)
        return arrivals

    def _take(self, number: int, arrivals: SideArrivals, numbers: Ints | None = None) -> None:
        """Bring changes into a side's rows and into the index."""
        side = self._sides[number]
        if numbers is None:
            inserts = int(np.count_nonzero(arrivals.signs > 0))
            numbers = self._next + np.arange(inserts)
            self._next += inserts
        came, went = side.take(arrivals, numbers)
        self._matching.change(number, side, came, went)
        side.forget(went)

    def _settle(self) -> None:
        """Forget what no row can meet any more, and codes that no row has."""
        if self._forgets:
            for number, side in enumerate(self._sides):
                other = self._sides[1 - number]
                if other.clock > LOWEST_TIME:
                    until = other.clock - other.reader.shape.lateness_us - self._widest
                    gone = side.outdated(until)
                    self._matching.change(number, side, NO_SLOTS, gone)
                    side.forget(gone)
            self._births.forget(np.array([self._oldest()]))
        rows = sum(len(side) for side in self._sides)
        if self._step.keys and self._codes.size > CODES_MIN + 4 * rows:
            self._recode()

    def _recode(self) -> None:
        """Forget the codes of keys that no row has; rows leave the index and come back."""
        slots = [side.in_order() for side in self._sides]
        used = [side.codes[own] for side, own in zip(self._sides, slots, strict=True)]
        for number, side in enumerate(self._sides):
            self._matching.change(number, side, NO_SLOTS, slots[number])
        renamed = self._codes.shrink(np.unique(np.concatenate(used)).astype(np.int64))
        for number, side in enumerate(self._sides):
            side.recode(renamed)
            self._matching.change(number, side, slots[number], NO_SLOTS)

    def _oldest(self) -> int:
        """Give the arrival number of the oldest row, or of the next one."""
        found = (side.oldest() for side in self._sides)
        return min((number for number in found if number is not None), default=self._next)

    def _clocks(self) -> list[int]:
        return [side.clock for side in self._sides]

    # Matching.

    def _match(self, number: int, arrivals: SideArrivals, made: Made) -> None:
        """Find what changes of one side mean, against the other side's rows as they are."""
        other = self._sides[1 - number]
        if len(self._queries) == 0 or len(other) == 0:
            return
        tuples, queries = self._matching.identify(number, arrivals)
        self._counts[CANDIDATES] += len(tuples)
        if self._verifying.asks_side(number) and len(tuples):
            parts = [slice(at, at + TRIPLES_MAX) for at in range(0, len(tuples), TRIPLES_MAX)]
            near = [
                self._verifying.near(number, arrivals, tuples[p], queries[p], self._counts)
                for p in parts
            ]
            holds = np.concatenate(near)
            tuples, queries = tuples[holds], queries[holds]
        if len(tuples) == 0:
            return
        numbers = self._queries.numbers
        if self._step.mode == "full":
            tuples, queries = _sorted(tuples, queries, len(arrivals))
            for _, t, q, slots in self._triples(number, arrivals, tuples, queries):
                self._counts[PAIRS] += len(t)
                made.join(number, arrivals, other, numbers[q], t, slots)
            return
        asks = self._verifying.asks_side(1 - number) or self._verifying.asks_both
        if asks or not self._matching.is_exact:
            sure: Flags = np.zeros(len(tuples), dtype=np.bool_)
            for pairs, *_ in self._triples(number, arrivals, tuples, queries):
                sure[pairs] = True
            tuples, queries = tuples[sure], queries[sure]
        self._counts[PAIRS] += len(tuples)
        made.affect(number, arrivals, numbers, tuples, queries)

    def _triples(
        self, number: int, arrivals: SideArrivals, tuples: Rows, queries: Rows
    ) -> Iterator[tuple[Ints, Rows, Rows, Rows]]:
        """Give (pair, change, query, row) for all rows of the other side that pairs really meet."""
        ranges = self._matching.ranges(number, arrivals, tuples, queries)
        ends = np.cumsum(self._matching.measure(number, ranges))
        begin = 0
        while begin < len(tuples):
            before = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + TRIPLES_MAX, side="right")))
            own = ranges[0][begin:end], ranges[1][begin:end], ranges[2][begin:end]
            offsets, slots = self._matching.expand(
                number, arrivals, own, tuples[begin:end], queries[begin:end]
            )
            pairs = begin + np.repeat(np.arange(end - begin), np.diff(offsets))
            t, q = tuples[pairs], queries[pairs]
            keep = self._holds(number, arrivals, t, q, slots)
            if keep is not None and not keep.all():
                pairs, t, q, slots = pairs[keep], t[keep], q[keep], slots[keep]
            if len(t):
                yield pairs, t, q, slots
            begin = end

    def _holds(
        self, number: int, arrivals: SideArrivals, tuples: Rows, queries: Rows, slots: Rows
    ) -> Flags | None:
        """Ask everything of triples that their ranges do not say; None: there is nothing."""
        other = self._sides[1 - number]
        keep = self._matching.meets(number, arrivals, other, tuples, queries, slots)
        if self._verifying.asks_side(1 - number):
            holds = self._verifying.far(other, 1 - number, slots, queries, self._counts)
            keep = holds if keep is None else keep & holds
        if self._verifying.asks_both:
            keep = np.ones(len(slots), dtype=np.bool_) if keep is None else keep
            at = np.flatnonzero(keep)
            keep[at] = self._verifying.across(
                number, arrivals, other, tuples[at], slots[at], queries[at], self._counts
            )
        return keep

    def explain_tuple(self, relation: str, row: pa.Table) -> RouteCosts:
        """Tell what each strategy would cost for a row that arrives, and which would be chosen."""
        number = self._step.relations.index(relation)
        reader = self._sides[number].reader
        signs = np.ones(row.num_rows, dtype=np.int8)
        arrivals, _ = reader.read(reader.conform(row), signs)
        if len(arrivals) == 0:
            return RouteCosts()
        return self._matching.explain(number, arrivals)

    # State.

    def delta(self) -> bytes | None:
        """Give the changes that took effect since the last call."""
        fresh, self._fresh = self._fresh, []
        if not fresh:
            return None
        return to_bytes([part for part, _ in fresh], {"rounds": [facts for _, facts in fresh]})

    def catch_up(self, delta: bytes) -> None:
        """Repeat the changes that another copy took."""
        parts, facts = from_bytes(delta)
        for part, own in zip(parts, facts["rounds"], strict=True):
            self._read(part, restoring=False)
            for side, clock in zip(self._sides, own["clocks"], strict=True):
                side.clock = clock
            self._settle()

    def snapshot(self) -> bytes | None:
        """Give all rows in the order of their arrival; copies in one state give the same bytes."""
        left, right = (rows_table(side) for side in self._sides)
        facts = {"clocks": self._clocks(), "next": self._next, "births": self._births.facts()}
        return to_bytes([(left, right)], facts)

    def _restore(self, snapshot: bytes) -> None:
        (part,), facts = from_bytes(snapshot, renewed)
        self._read(part, restoring=True)
        self._next = facts["next"]
        self._births = Births(1, facts["births"])
        for side, clock in zip(self._sides, facts["clocks"], strict=True):
            side.clock = clock

    def _read(self, part: Part, restoring: bool) -> None:
        for number, (side, both) in enumerate(zip(self._sides, part, strict=True)):
            rows, extra = apart(side, both)
            signs = numbers_of(extra, SIGN)
            if signs is None:
                signs = np.ones(rows.num_rows, dtype=np.int8)
            conformed = side.reader.conform(rows)
            arrivals, missing = side.reader.read(conformed, signs, numbers_of(extra, PRINT))
            arrivals, unknown = side.resolve(arrivals)
            assert missing == 0 and unknown == 0, "only changes that took effect are told"
            self._take(number, arrivals, numbers_of(extra, NUMBER) if restoring else None)

    # Figures.

    def sizes(self) -> Tally:
        """Say what stands: queries, and the rows that are kept of each side."""
        left, right = (len(side) for side in self._sides)
        stands = Tally({QUERIES: len(self._queries), (ROWS, 0): left, (ROWS, 1): right})
        stands.add(self._matching.sizes())
        return stands

    def counts(self) -> Tally:
        """Say what the last batch met, and what matching it cost."""
        return self._counts


def _sorted(tuples: Rows, queries: Rows, count: int) -> tuple[Rows, Rows]:
    """Bring the pairs of each change together."""
    sorted_, own = np.empty_like(tuples), np.empty_like(queries)
    pairs_sort(tuples, queries, np.zeros(count + 1, dtype=np.int64), sorted_, own)
    return sorted_, own


def _newest(reader: Reader, table: pa.Table) -> int:
    """Give the newest event time of a table."""
    times, there = reader.times(table)
    return int(times[there].max()) if there.any() else LOWEST_TIME
