"""The operator of range aggregates: rows in, and for each query its old and its new value out.

Every shard keeps all rows; shards divide the queries by their numbers. What is kept depends on the
rows alone, never on the queries, so that messages can be told for all ranges there may be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from penstock.algebra.range_aggregates import RangeAggregateStep
from penstock.operators.protocol import NO_CLOCKS, WHOLE, Share
from penstock.operators.range_aggregate.books import (
    NO_SLOTS,
    MeasureBook,
    MeasureWords,
    StandingRanges,
)
from penstock.operators.range_aggregate.entries import END_NAMES
from penstock.operators.range_aggregate.figures import (
    EFFECTS,
    MESSAGES,
    NOTIFICATIONS,
    PARTITIONS,
    PLACES,
    TUPLES,
    UPDATES,
)
from penstock.operators.range_aggregate.message_rows import MessageRows
from penstock.operators.range_aggregate.partitions import Partitions
from penstock.operators.range_aggregate.point_books import PointBook, point_book
from penstock.operators.range_aggregate.row_changes import RowChanges, RowReader
from penstock.operators.range_aggregate.state import merge_state, state_of
from penstock.operators.range_aggregate.total_books import TotalBook, books_of
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.subscription_points import SubscriptionPoints
from penstock.operators.shared.totals import COUNT
from penstock.vocabulary.batches import Ints, QueryChanges, Results, Rows
from penstock.vocabulary.changes import MADE_SIGN
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import QUERIES

ENTRIES = ("query", "l", "h", "part")


class RangeAggregateOperator:
    """All range aggregates of one shape."""

    def __init__(
        self,
        step: RangeAggregateStep,
        snapshot: bytes | None = None,
        share: Share = WHOLE,
    ) -> None:
        self._step, self._share = step, share
        self._tells = step.form == "messages"
        self._keeps_rows = self._tells and step.measures[0].is_total
        self._partitions = Partitions([type_ for _, type_ in step.partition])
        self._reader = RowReader(step, self._partitions)
        self._rows = TotalBook(None, ())
        """All rows, for what is told of the group; also the book of COUNT(*), if that is asked."""
        self._book: dict[str, MeasureBook] = self._opened()
        distinct = {id(own): own for own in (self._rows, *self._book.values())}
        self._books: list[MeasureBook] = list(distinct.values())
        self._further = END_NAMES[1] if step.further else ()
        names = (*ENTRIES, *self._further)
        self._queries = Queries(pa.schema([(name, pa.int64()) for name in names]), ())
        self._points = SubscriptionPoints()
        self._live: Rows = NO_SLOTS
        self._owed: Rows = NO_SLOTS
        """Queries that are told all there is behind the next batch."""
        self._is_stale = False
        """Whether rows changed elsewhere, so that the values of queries must be computed anew."""
        self._counts = Tally()
        if snapshot is not None:
            merge_state(snapshot, self._books, self._partitions)

    def _opened(self) -> dict[str, MeasureBook]:
        measures = self._step.measures
        if self._tells:
            (only,) = measures
            return {only.name: point_book(only)}
        found = books_of(measures, planes=bool(self._step.further))
        if self._step.further:
            return found
        counted = [each.name for each in measures if each.is_total and each.column is None]
        return found | dict.fromkeys(counted, self._rows)

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take the rows that the table holds already."""
        del clocks
        table = tables.get(self._step.relation)
        if table is not None and table.num_rows:
            rows = self._reader.read(table, Tally(), signed=False)
            self._take(rows, NO_SLOTS)

    def apply(self, changes: QueryChanges) -> None:
        """Take a registry version's changes."""
        gone = self._queries.drop(changes.drops)
        if not self._tells and len(gone):
            self._points.drop(gone[self._mine(gone)])
        table = changes.adds.get(PORT)
        if table is not None and table.num_rows:
            slots = self._queries.add(self._entries(table))
            own = slots[self._mine(slots)]
            if not self._tells:
                ranges = self._ranges
                self._points.add(own, *ranges.at(own))
                if not self._is_stale:
                    self._refresh(own)
        live = self._queries.live()
        self._live = live[self._mine(live)]

    def _entries(self, table: pa.Table) -> pa.Table:
        codes = np.zeros(table.num_rows, dtype=np.int64)
        ends = np.ones(table.num_rows, dtype=np.int64), np.zeros(table.num_rows, dtype=np.int64)
        if not self._tells:
            ends = table["l"].to_numpy(), table["h"].to_numpy()
            if self._step.partition:
                keys = [table[f"e{i}"] for i in range(len(self._step.partition))]
                codes = self._partitions.code([key.combine_chunks() for key in keys])
        further = {name: table[name] for name in self._further}
        return pa.table(
            {"query": table["query"], "l": ends[0], "h": ends[1], "part": codes, **further}
        )

    def _mine(self, slots: Rows) -> np.ndarray:
        """Say which queries are this shard's."""
        mine: np.ndarray = self._queries.numbers[slots] % self._share.count == self._share.number
        return mine

    @property
    def _ranges(self) -> StandingRanges:
        columns = self._queries.columns
        further = tuple(columns[name] for name in self._further)
        return StandingRanges(columns["part"], columns["l"], columns["h"], self._points, further)

    def _refresh(self, slots: Rows) -> None:
        """Compute the values of queries from what is kept."""
        for book in self._asked():
            book.refresh(slots, self._ranges)

    def _asked(self) -> list[MeasureBook]:
        """Give the books that queries ask of."""
        return list({id(own): own for own in self._book.values()}.values())

    def _catch_up(self) -> None:
        if self._is_stale and not self._tells:
            self._refresh(self._live)
        self._is_stale = False

    def first_answers(self, asked: Sequence[QueryChanges]) -> list[Results]:
        """Tell new queries WITH SNAPSHOT what they find, before a batch is taken.

        Those that ask for messages are told behind the batch: all there is, instead of its changes.
        """
        self._catch_up()
        tables = [own.adds[PORT] for own in asked if PORT in own.adds]
        wished = [own["query"].to_numpy()[own["told"].to_numpy()] for own in tables]
        numbers = self._queries.numbers[self._live]
        slots = self._live[np.isin(numbers, np.concatenate([np.empty(0, np.int64), *wished]))]
        if len(slots) == 0:
            return []
        if self._tells:
            self._owed = slots
            return []
        return self._changed(slots, [self._words(slots)], [1])

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Take a batch; give the old and the new values of queries that it changes."""
        owed, self._owed = self._owed, NO_SLOTS
        found = self._process(batch, np.setdiff1d(self._live, owed) if len(owed) else self._live)
        return [*self._told(owed, self._all_messages()), *found] if len(owed) else found

    def _process(self, batch: Mapping[str, pa.Table], live: Rows) -> list[Results]:
        self._counts = counts = Tally()
        table = batch.get(self._step.relation)
        if table is None or table.num_rows == 0:
            return []
        self._catch_up()
        rows = self._reader.read(table, counts)
        if self._share.number:
            self._counts = counts = Tally()
        if len(rows) == 0:
            return []
        slots = self._take(rows, NO_SLOTS if self._tells else live)
        self._count_updates(counts)
        if self._tells:
            told = self._messages()
            counts[MESSAGES] = 0 if self._share.number else told.num_rows
            found = self._told(live, told) if told.num_rows else []
        else:
            before = self._words(slots)
            for book in self._asked():
                book.settle()
            after = self._words(slots)
            differs = _differ(before, after)
            counts[NOTIFICATIONS] = int(np.count_nonzero(differs))
            at = np.flatnonzero(differs)
            both = [[_at(own, at) for own in words] for words in (before, after)]
            found = self._changed(slots[differs], both, [-1, 1]) if len(at) else []
        return found

    def _take(self, rows: RowChanges, live: Rows) -> Rows:
        """Let all books take rows; give the queries that may notice it."""
        found = [NO_SLOTS]
        asked = self._asked()
        for book in self._books:
            is_asked = any(book is own for own in asked)
            found.append(book.take(rows, self._ranges, live if is_asked else NO_SLOTS))
        return np.unique(np.concatenate(found)) if len(live) else NO_SLOTS

    def _count_updates(self, counts: Tally) -> None:
        """Count what changes may do to ranges, and in how many rectangles."""
        if self._share.number or self._keeps_rows:
            return
        for book in self._books:
            if not isinstance(book, PointBook):
                continue
            came, changed = book.updates
            told = np.unique(book.messages.ordinals)
            easy = int(np.count_nonzero(told < came))
            sizes = (max(changed - len(told), 0), easy, len(told) - easy)
            for effect, size in zip(EFFECTS, sizes, strict=True):
                counts[UPDATES, effect] += size
            counts[MESSAGES] += len(book.messages.values)

    def _words(self, slots: Rows) -> list[MeasureWords]:
        return [self._book[each.name].words(each, slots) for each in self._step.measures]

    def _changed(
        self, slots: Rows, told: Sequence[Sequence[MeasureWords]], signs: Sequence[int]
    ) -> list[Results]:
        """Give rows of values, each once, with a sign; one for every query and sign."""
        both = [_joined([words[i] for words in told]) for i in range(len(self._step.measures))]
        sign = np.repeat(np.array(signs, dtype=np.int8), len(slots))
        first, event = _distinct([sign, *(w for own in both for w in (*own.words, own.absent))])
        columns = {
            each.name: self._book[each.name].array(each, _at(own, first))
            for each, own in zip(self._step.measures, both, strict=True)
        }
        rows = pa.table({**columns, MADE_SIGN: pa.array(sign[first])})
        numbers = np.tile(self._queries.numbers[slots], len(signs))
        relation = self._step.relation
        return [Results(relation=relation, query=numbers, event=event, rows=rows)]

    def _told(self, slots: Rows, rows: pa.Table) -> list[Results]:
        """Give messages to the queries that ask for them."""
        count = rows.num_rows
        if count == 0 or len(slots) == 0:
            return []
        rows = rows.append_column(MADE_SIGN, pa.array(np.ones(count, dtype=np.int8)))
        numbers = np.repeat(self._queries.numbers[slots], count)
        event = np.tile(np.arange(count, dtype=np.int32), len(slots))
        return [Results(relation=self._step.relation, query=numbers, event=event, rows=rows)]

    @property
    def _only(self) -> PointBook:
        """The book that messages are made of."""
        book = self._book[self._step.measures[0].name]
        assert isinstance(book, PointBook)
        return book

    def _messages(self) -> pa.Table:
        """Give the messages of the last batch."""
        made = MessageRows(self._step, self._partitions)
        if self._keeps_rows:
            return made.of_changes(self._only.net)
        return made.of_rectangles(self._only.messages)

    def _all_messages(self) -> pa.Table:
        """Give messages that say all there is, to somebody who knows nothing."""
        made = MessageRows(self._step, self._partitions)
        if self._keeps_rows:
            return made.of_changes(self._only.points())
        return made.of_rectangles(self._only.all_messages())

    def delta(self) -> bytes | None:
        """Give what changed in the books since the last call."""
        fresh = [(number, book.fresh()) for number, book in enumerate(self._books)]
        told = [(number, table) for number, table in fresh if table is not None and len(table.xs)]
        return state_of(told, self._partitions) if told else None

    def catch_up(self, delta: bytes) -> None:
        """Take a delta that another copy of this operator gave."""
        merge_state(delta, self._books, self._partitions)
        self._is_stale = True

    def snapshot(self) -> bytes | None:
        """Give all that the books keep."""
        tables = [(number, book.table()) for number, book in enumerate(self._books)]
        return state_of(tables, self._partitions)

    def sizes(self) -> Tally:
        """Say what stands: queries, rows, values of the attribute, partitions."""
        places = self._rows.totals.places
        held = places.partitions
        partitions = int(np.count_nonzero(np.diff(held))) + 1 if len(held) else 0
        return Tally(
            {
                QUERIES: len(self._queries), TUPLES: int(places.own(COUNT).sum()),
                PLACES: len(places),
                PARTITIONS: partitions if self._step.partition else 0,
            }
        )  # fmt: skip

    def counts(self) -> Tally:
        """Say what the last batch met."""
        return self._counts


def _differ(before: Sequence[MeasureWords], after: Sequence[MeasureWords]) -> np.ndarray:
    """Say which queries have another value in any measure."""
    found = np.zeros(len(before[0].absent), dtype=np.bool_)
    for one, other in zip(before, after, strict=True):
        found |= one.absent != other.absent
        for a, b in zip(one.words, other.words, strict=True):
            found |= a != b
    return found


def _at(told: MeasureWords, places: np.ndarray) -> MeasureWords:
    return MeasureWords([own[places] for own in told.words], told.absent[places])


def _joined(told: Sequence[MeasureWords]) -> MeasureWords:
    words = [np.concatenate(own) for own in zip(*(each.words for each in told), strict=True)]
    return MeasureWords(words, np.concatenate([each.absent for each in told]))


def _distinct(columns: Sequence[np.ndarray]) -> tuple[Ints, Rows]:
    """Give the place of the first of equal rows, and for every row which of these it is."""
    order = np.lexsort(columns[::-1])
    differs = np.zeros(len(order), dtype=np.bool_)
    differs[:1] = True
    for column in columns:
        own = column[order]
        differs[1:] |= own[1:] != own[:-1]
    event = np.empty(len(order), dtype=np.int32)
    event[order] = np.cumsum(differs) - 1
    return order[differs], event
