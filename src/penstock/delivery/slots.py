"""Slots: whose the pairs of a batch are, found once for all that was registered together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol

import numpy as np

from penstock.delivery.sheets import SheetSelection
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError

NOBODY = -1


class Claims(Protocol):
    """Says whose the pairs of a group are, as of now."""

    @property
    def version(self) -> int:
        """What changes whenever an answer may change."""

    def selections(self, name: str) -> Sequence[SheetSelection]:
        """Give what a subscription reads."""

    def owners(self, queries: Ints) -> tuple[Ints, list[tuple[int, str, int]]]:
        """Say who registered queries: the place of each in a list of (key, name, one such query).

        What was registered together has one key, as long as the version stays. The place of a
        query that nobody is known to have registered is -1.
        """


class SlotTable:
    """A slot for every selection of the subscriptions that are followed, as far as it was asked.

    It holds as long as the claims' version and the followers are as they were. `names`,
    `selections`, `kinds` and `order` say of every slot whose it is, what is read, with whom it
    shares its outputs, and which of its subscription's selections it is.
    """

    def __init__(self, claims: Claims, followed: Iterable[str]) -> None:
        self._claims = claims
        self._followed = frozenset(followed)
        self._slots: dict[str, dict[int, int]] = {}
        self._numbers: dict[tuple[str, int], int] = {}
        self._kinds: dict[tuple[int, str | None], int] = {}
        self.names: list[str] = []
        self.selections: list[SheetSelection] = []
        self.kinds: list[int] = []
        self.order: list[int] = []
        self.have_order = False
        groups: set[str] = set()
        for name in self._followed:
            with suppress(PenstockError):  # told to its followers, batch by batch
                groups |= {selection.group for selection in claims.selections(name)}
        self.groups = frozenset(groups)

    def of(
        self,
        group: str,
        query: Ints,
        unread: dict[str, Exception],
        wanted: Callable[[str], bool] | None = None,
    ) -> Ints:
        """Say of every query number of a group which slot's it is; nobody's are below zero."""
        place, owners = self._claims.owners(query)
        known = self._slots.setdefault(group, {})
        of_owner = [
            known[key] if key in known else self._found(group, key, name, sample, unread)
            for key, name, sample in owners
        ]
        if wanted is not None:
            of_owner = [
                slot if slot >= 0 and wanted(self.names[slot]) else NOBODY for slot in of_owner
            ]
        return np.array([*of_owner, NOBODY], dtype=np.int64)[place]

    def _found(
        self, group: str, key: int, name: str, sample: int, unread: dict[str, Exception]
    ) -> int:
        found = NOBODY
        if name in self._followed:
            try:
                own = self._claims.selections(name)
            except PenstockError as error:
                unread[name] = error
                return NOBODY
            for number, selection in enumerate(own):
                if selection.group == group and selection.holds(sample):
                    found = self._slot(name, number, selection)
        self._slots[group][key] = found
        return found

    def _slot(self, name: str, number: int, selection: SheetSelection) -> int:
        slot = self._numbers.setdefault((name, number), len(self.names))
        if slot == len(self.names):
            self.names.append(name)
            self.selections.append(selection)
            kind = id(selection.outputs), selection.change_column
            self.kinds.append(self._kinds.setdefault(kind, len(self._kinds)))
            self.order.append(number)
            self.have_order = self.have_order or number > 0
        return slot
