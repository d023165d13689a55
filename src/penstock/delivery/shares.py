"""Shares: what one batch has for each of very many subscriptions.

A share is a number until its reader takes it. Thousands are handed out at once: an object for each
would be made, kept and looked at by Python's garbage collector before the first is taken.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, KeysView, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from penstock.delivery.sheets import Piece, Sheet, SheetSelection
from penstock.delivery.slots import SlotTable

PAGE_ROWS = 256
"""Neighbouring pieces of so many rows in all are listed together: what is made of them is gone
before Python's garbage collector thinks it time to look at all readers."""
LISTED_MAX = 1_024
"""A larger piece is listed by itself, up to so many rows."""


class ListedPage(NamedTuple):
    """Some pieces of a sheet as Python's values: ids, signs and outputs of every row.

    The rows from one of the `cuts` to the next are one piece's.
    """

    names: list[str]
    pieces: range
    cuts: list[int]
    ids: list[Any]
    signs: list[int]
    rows: Iterable[tuple[Any, ...]]


@dataclass(slots=True)
class Shares:
    """What a batch has for subscriptions, by name; what could not be read, by name and by group.

    Pieces have numbers: of each, the lists say whose slot it is, its sheet, and its rows.
    """

    unread: dict[str, Exception] = field(default_factory=dict)
    unread_groups: dict[str, Exception] = field(default_factory=dict)
    nbytes: int = 0
    """How much memory the batch takes."""
    slots: list[int] = field(default_factory=list)
    _table: SlotTable | None = None
    _sheets: list[Sheet] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _stops: list[int] = field(default_factory=list)
    _page_of: list[int | None] = field(default_factory=list)
    _pages: list[range] = field(default_factory=list)
    _pieces: dict[str, int | list[int]] = field(default_factory=dict)
    """The numbers of everyone's pieces; as a rule it is one."""

    @property
    def names(self) -> KeysView[str]:
        """Those for whom the batch has something."""
        return self._pieces.keys()

    def add(self, sheets: Sequence[Sheet], slots: SlotTable) -> None:
        """Add the sheets of a section; `slots` says whose their rows are."""
        self._table = slots
        first = len(self.slots)
        for sheet in sheets:
            self._add_pages(sheet.cuts)
            self.slots += sheet.slots
            self._sheets += [sheet] * len(sheet.slots)
            self._starts += sheet.cuts[:-1]
            self._stops += sheet.cuts[1:]
            self.nbytes += sheet.nbytes
        slot = self.slots[first:]
        names = list(map(slots.names.__getitem__, slot))
        own = dict(zip(names, count(first)))  # as many as there are names
        if len(own) == len(names) and self._pieces.keys().isdisjoint(own):
            self._pieces.update(own)
            return
        # Someone has several pieces: they come in the order of a subscription's selections.
        for at in sorted(range(len(slot)), key=lambda at: slots.order[slot[at]]):
            before = self._pieces.setdefault(names[at], first + at)
            if isinstance(before, list):
                before.append(first + at)
            elif before != first + at:
                self._pieces[names[at]] = [before, first + at]

    def _add_pages(self, cuts: list[int]) -> None:
        """Gather neighbouring pieces of a sheet into pages."""
        first, at = len(self.slots), 0
        while at < len(cuts) - 1:
            upto = max(at + 1, bisect_right(cuts, cuts[at] + PAGE_ROWS, at) - 1)
            if cuts[upto] - cuts[at] > LISTED_MAX:
                self._page_of.append(None)
            else:
                self._page_of += [len(self._pages)] * (upto - at)
                self._pages.append(range(first + at, first + upto))
            at = upto

    def pieces(self, name: str) -> list[Piece]:
        """Give what is a subscription's, in the order in which it is read."""
        own = self._pieces[name]
        return list(map(self._piece, [own] if isinstance(own, int) else own))

    def _piece(self, number: int) -> Piece:
        return Piece(
            self._sheets[number], self._starts[number], self._stops[number], self._selection(number)
        )

    def _selection(self, number: int) -> SheetSelection:
        assert self._table is not None
        return self._table.selections[self.slots[number]]

    def place(self, name: str) -> tuple[int, int | None]:
        """Give a subscription's piece and the page that it is on, if it is one, and not large."""
        own = self._pieces[name]
        return (own, self._page_of[own]) if isinstance(own, int) else (own[0], None)

    def page(self, number: int) -> ListedPage:
        """Give the pieces of a page as Python's values."""
        pieces = self._pages[number]
        sheet = self._sheets[pieces.start]
        start, stop = self._starts[pieces.start], self._stops[pieces.stop - 1]
        query, signs, rows = sheet.listed(start, stop)
        assert self._table is not None
        known = self._table.ids
        try:
            ids = list(map(known.__getitem__, query))
        except KeyError:
            ids = [id_ for each in pieces for id_ in self._piece(each).ids()]
        cuts = [*self._starts[pieces.start : pieces.stop], stop]
        return ListedPage(sheet.names, pieces, cuts, ids, signs, rows)
