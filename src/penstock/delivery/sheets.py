"""Sheets: the changes of one group in one section of a batch, laid out once for all who read them.

However many subscriptions read a group, its pairs are sorted, its events gathered and its outputs
computed once; a subscription's share is a piece of the sheet. So what reading costs follows the
matches, not the subscriptions.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.logical import Output
from penstock.delivery.log import LoggedSection
from penstock.expressions.allowances import EvaluationError, allowance
from penstock.expressions.evaluation import evaluate
from penstock.expressions.quotation import quoted
from penstock.vocabulary.batches import NO_QUERIES, Flags, Ints
from penstock.vocabulary.changes import sign_among, signs_of

HEAD = ("_id", "_query", "_sign")
HEAD_COLUMNS = len(HEAD)
"""Id, query number and sign come before a text's own columns."""
PAGE_ROWS = 1_024
PAGES_KEPT = 16
SMALL_ROWS = 64
"""A piece of fewer rows is taken from a page that its neighbours share; a larger one by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetSelection:
    """What to read in one group: whose pairs, and which columns of the events.

    `change_column` tells the signs of a table's own rows; rows that an operator made carry theirs.
    `queries` are the query numbers of interest in ascending order; None means the whole group.
    `ids` maps numbers to the user's ids. `reader` is who hears of outputs that fail.
    """

    group: str
    outputs: tuple[Output, ...]
    change_column: str | None
    queries: Ints | None
    ids: Callable[[Ints], pa.Array]
    reader: str = ""
    _known: dict[int, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def holds_all(self, query: Ints) -> Flags:
        """Say which of some query numbers are among those of interest."""
        if self.queries is None:
            return np.ones(len(query), dtype=np.bool_)
        if not len(self.queries):
            return np.zeros(len(query), dtype=np.bool_)
        at = np.searchsorted(self.queries, query)
        at[at == len(self.queries)] = 0
        held: Flags = self.queries[at] == query
        return held

    def holds(self, query: int) -> bool:
        """Say whether a query number is of interest."""
        few = self.few_ids()
        return query in few if few is not None else bool(self.holds_all(np.array([query]))[0])

    def listed_ids(self, query: list[int]) -> list[Any]:
        """Give the ids of query numbers as Python's values."""
        few = self._known or self.few_ids()
        if few is not None:
            return list(map(few.__getitem__, query))
        return self.ids(np.array(query)).to_pylist()  # type: ignore[no-any-return]

    def few_ids(self) -> dict[int, Any] | None:
        """Give the ids by query number, if they are few enough to be remembered."""
        if self.queries is None or len(self.queries) > SMALL_ROWS:
            return None
        if not self._known and len(self.queries):
            values = self.ids(self.queries).to_pylist()
            self._known.update(zip(self.queries.tolist(), values, strict=True))
        return self._known


Listed = tuple[list[int], list[int], list[tuple[Any, ...]]]
"""Query numbers, signs and outputs of some rows, as Python's values."""


class Sheet:
    """Pairs in the order in which readers see them, each with its sign and its outputs.

    The rows from one of the `cuts` to the next are one selection's: that of the slot in `slots`.
    """

    def __init__(
        self, query: Ints, signs: pa.Array, outputs: pa.Table, slots: list[int], cuts: list[int]
    ) -> None:
        self.query, self.signs, self.outputs = query, signs, outputs
        self.slots, self.cuts = slots, cuts
        self.names = outputs.column_names
        self._pages: dict[int, Listed] = {}
        self._lock = threading.Lock()
        # A list or a struct is made anew for everyone: two readers must not share one.
        self._is_paged = not any(pa.types.is_nested(type_) for type_ in outputs.schema.types)

    @property
    def nbytes(self) -> int:
        """How much memory the sheet takes."""
        return int(self.query.nbytes + self.signs.nbytes + self.outputs.nbytes)

    def values(self, start: int, stop: int) -> Listed:
        """Give some rows as Python's values."""
        first = start // PAGE_ROWS
        base = first * PAGE_ROWS
        if not self._is_paged or stop - start > SMALL_ROWS or stop > base + PAGE_ROWS:
            return self.listed(start, stop)
        query, signs, rows = self._pages.get(first) or self._page(first)
        start, stop = start - base, stop - base
        return query[start:stop], signs[start:stop], rows[start:stop]

    def _page(self, number: int) -> Listed:
        with self._lock:
            page = self._pages.get(number)
            if page is None:
                if len(self._pages) >= PAGES_KEPT:
                    del self._pages[next(iter(self._pages))]
                end = min((number + 1) * PAGE_ROWS, len(self.query))
                page = self._pages[number] = self.listed(number * PAGE_ROWS, end)
            return page

    def listed(self, start: int, stop: int) -> Listed:
        """Give some rows as Python's values, made anew."""
        count = stop - start
        columns = [column.slice(start, count).to_pylist() for column in self.outputs.columns]
        rows = list(zip(*columns, strict=True)) if columns else [()] * count
        return self.query[start:stop].tolist(), self.signs.slice(start, count).to_pylist(), rows


@dataclass(slots=True)
class Piece:
    """Rows of a sheet that are one reader's."""

    sheet: Sheet
    start: int
    stop: int
    selection: SheetSelection

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def query(self) -> Ints:
        """The query numbers."""
        return self.sheet.query[self.start : self.stop]

    def table(self) -> pa.Table:
        """Give the rows as a table: id, query, sign, the outputs."""
        outputs = self.sheet.outputs
        head = [self.selection.ids(self.query), pa.array(self.query)]
        parts = [each.slice(self.start, len(self)) for each in (self.sheet.signs, *outputs.columns)]
        return pa.Table.from_arrays([*head, *parts], names=[*HEAD, *outputs.column_names])

    def rows(self, seen: int = 0) -> Iterable[tuple[Any, int, tuple[Any, ...]]]:
        """Give id, sign and outputs row by row, behind those that were seen."""
        start = self.start + seen
        if start >= self.stop:
            return ()
        query, signs, rows = self.sheet.values(start, self.stop)
        return zip(self.selection.listed_ids(query), signs, rows)  # noqa: B905  # it costs time

    def ids(self) -> list[Any]:
        """Give the ids of the rows."""
        return self.selection.listed_ids(self.query.tolist())


def no_changes(selection: SheetSelection, events: pa.Schema) -> pa.Table:
    """Give the columns of a selection's changes, and no row; `events` are those of its group."""
    outputs, _ = _outputs(events.empty_table(), selection.outputs)
    sheet = Sheet(NO_QUERIES, pa.array([], pa.int8()), outputs, [], [])
    return Piece(sheet, 0, 0, selection).table()


OutputsFailed = Callable[[SheetSelection, int], None]
"""Told whose outputs failed on the values of a row, and how many; they are NULL."""


DearOutputs = dict[tuple[Output, ...], EvaluationError]
"""SELECT lists that took too much once, and why: nobody who reads for all tries them again."""


@dataclass(frozen=True, slots=True)
class OutputLimits:
    """What limits outputs that are computed for all; `unread` is told whose are not computed."""

    dear: DearOutputs
    unread: Callable[[SheetSelection, EvaluationError], None]

    def computed(
        self, events: pa.Table, outputs: tuple[Output, ...]
    ) -> tuple[pa.Table, Flags | None] | EvaluationError:
        """Compute outputs, or say why not: one SELECT list holds up no other."""
        if outputs not in self.dear:
            try:
                with allowance():
                    return _outputs(events, outputs)
            except EvaluationError as error:
                self.dear[outputs] = error
        return self.dear[outputs]


def lay_out(
    section: LoggedSection,
    pairs: tuple[Ints, Ints],
    slot: Ints,
    selections: Sequence[SheetSelection],
    kinds: Ints,
    failing: OutputsFailed,
    limits: OutputLimits | None = None,
) -> list[Sheet]:
    """Lay out pairs (query, event) of one group, and say whose the rows are.

    `slot` says for each pair whose it is among the selections; below zero it is nobody's. `kinds`
    says for every slot whose outputs it shares: those of one kind share a sheet.
    """
    query, event = pairs
    if len(slot) and slot.min() < 0:
        mine = slot >= 0
        query, event, slot = query[mine], event[mine], slot[mine]
    if not len(query):
        return []
    kind = kinds[slot]
    # The order in which an operator found pairs is its own affair; readers see a fixed one.
    order = np.lexsort((query, event, slot, kind))
    query, event, slot, kind = query[order], event[order], slot[order], kind[order]
    found: list[Sheet] = []
    for rows in itertools.starmap(slice, pairwise(_cuts(kind))):
        first = selections[slot[rows.start]]
        taken = section.events_at(event[rows])
        # Rows that an operator made are the group's own section, and carry their signs.
        made = section.relation == first.group
        signs = (
            taken[sign_among(taken.column_names)] if made else _signs(taken, first.change_column)
        )
        computed = (limits.computed if limits else _outputs)(taken, first.outputs)
        if isinstance(computed, EvaluationError):
            assert limits is not None
            for number in np.unique(slot[rows]):
                limits.unread(selections[number], computed)
            continue
        outputs, failed = computed
        cuts = _cuts(slot[rows])
        numbers = slot[rows][cuts[:-1]].tolist()
        found.append(Sheet(query[rows], signs, outputs, numbers, cuts))
        if failed is not None:
            for number, count in zip(numbers, np.add.reduceat(failed, cuts[:-1]), strict=True):
                if count:
                    failing(selections[number], int(count))
    return found


def _cuts(values: Ints) -> list[int]:
    """Say where sorted values change, with the beginning and the end.

    >>> _cuts(np.array([4, 4, 7]))
    [0, 2, 3]
    """
    return [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]


def _outputs(events: pa.Table, outputs: tuple[Output, ...]) -> tuple[pa.Table, Flags | None]:
    """Compute the answer's columns; plain ones are handed on. Also count what failed, by row."""
    plain = {quoted(name): name for name in events.column_names}
    computed = [each.sql for each in outputs if each.sql not in plain]
    found = dict(zip(computed, evaluate(computed, events), strict=True)) if computed else {}
    columns = [
        events[plain[each.sql]] if each.sql in plain else found[each.sql].values for each in outputs
    ]
    failures = [each.failed for each in found.values() if each.failed is not None]
    failed = np.sum(failures, axis=0) if failures else None
    return pa.Table.from_arrays(columns, names=[each.name for each in outputs]), failed


def _signs(events: pa.Table, change_column: str | None) -> pa.Array:
    if change_column is None:
        return pa.array(np.ones(events.num_rows, dtype=np.int8))
    # A line that does not parse has no word, and is told to who asks for it.
    signs = signs_of(events[change_column])
    return pc.if_else(pc.equal(signs, 0), pa.scalar(1, pa.int8()), signs)
