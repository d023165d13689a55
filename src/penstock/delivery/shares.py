"""Shares: what one batch has for each of very many subscriptions.

A share is a number until its reader takes it. Thousands are handed out at once: an object for each
would be made, kept and looked at by Python's garbage collector before the first is taken.
"""

from __future__ import annotations

from collections.abc import KeysView, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from penstock.delivery.sheets import Piece, Sheet, SheetSelection
from penstock.delivery.slots import SlotTable

LISTED_MAX = 1_024
"""So many changes of a reader are made at once."""
ListedShare = tuple[list[str], list[Any], list[int], list[tuple[Any, ...]]]
"""The names of the outputs; ids, signs and outputs of every row."""


@dataclass(slots=True)
class Shares:
    """What a batch has for subscriptions, by name; what could not be read, by name and by group.

    Pieces have numbers: of each, the lists say the sheet, its rows, and whose they are.
    """

    unread: dict[str, Exception] = field(default_factory=dict)
    unread_groups: dict[str, Exception] = field(default_factory=dict)
    nbytes: int = 0
    """How much memory the batch takes."""
    _sheets: list[Sheet] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _stops: list[int] = field(default_factory=list)
    _selections: list[SheetSelection] = field(default_factory=list)
    _pieces: dict[str, int | list[int]] = field(default_factory=dict)
    """The numbers of everyone's pieces; as a rule it is one."""

    @property
    def names(self) -> KeysView[str]:
        """Those for whom the batch has something."""
        return self._pieces.keys()

    def add(self, sheets: Sequence[Sheet], slots: SlotTable) -> None:
        """Add the sheets of a section; `slots` says whose their rows are."""
        first, slot = len(self._starts), list[int]()
        for sheet in sheets:
            slot += sheet.slots
            self._sheets += [sheet] * len(sheet.slots)
            self._starts += sheet.cuts[:-1]
            self._stops += sheet.cuts[1:]
            self.nbytes += sheet.nbytes
        self._selections += map(slots.selections.__getitem__, slot)
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

    def pieces(self, name: str) -> list[Piece]:
        """Give what is a subscription's, in the order in which it is read."""
        own = self._pieces[name]
        numbers = [own] if isinstance(own, int) else own
        sheets, selections = self._sheets, self._selections
        return [
            Piece(sheets[each], self._starts[each], self._stops[each], selections[each])
            for each in numbers
        ]

    def listed(self, name: str) -> ListedShare | None:
        """Give what is a subscription's as Python's values, if it is one piece, and not large."""
        own = self._pieces[name]
        if not isinstance(own, int):
            return None
        sheet, start, stop = self._sheets[own], self._starts[own], self._stops[own]
        if stop - start > LISTED_MAX:
            return None
        query, signs, rows = sheet.values(start, stop)
        return sheet.names, self._selections[own].listed_ids(query), signs, rows
