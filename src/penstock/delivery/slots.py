"""Slots: whose the pairs of a batch are, found once for all that was registered together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from penstock.delivery.sheets import SheetSelection
from penstock.vocabulary.batches import NO_QUERIES, Ints
from penstock.vocabulary.errors import PenstockError

NOBODY, UNREAD = -1, -2
NOTHING_KNOWN = np.array([UNREAD], dtype=np.int64), np.array([NOBODY], dtype=np.int64)
"""No key is below -1: what begins the keys of a group, so that there always is one."""


class Claims(Protocol):
    """Says whose the pairs of a group are, as of now."""

    @property
    def version(self) -> int:
        """What changes whenever an answer may change."""

    def selections(self, name: str) -> Sequence[SheetSelection]:
        """Give what a subscription reads."""

    def keys(self, queries: Ints) -> Ints:
        """Give what was registered together one key, for as long as the version stays.

        The key of a query that nobody is known to have registered is -1.
        """

    def owner(self, query: int) -> str | None:
        """Say which subscription a query was registered for."""


class SlotTable:
    """A slot for every selection of the subscriptions that are followed, as far as it was asked.

    It holds as long as the claims' version and the followers are as they were. `names`,
    `selections`, `kinds` and `order` say of every slot whose it is, what is read, with whom it
    shares its outputs, and which of its subscription's selections it is.
    """

    def __init__(self, claims: Claims, followed: Iterable[str]) -> None:
        self._claims = claims
        self._followed = frozenset(followed)
        self._known: dict[str, tuple[Ints, Ints]] = {}
        """The keys of every group that were asked for, in ascending order, and their slots."""
        self._numbers: dict[tuple[str, int], int] = {}
        self._kinds: dict[tuple[int, str | None], int] = {}
        self._kind_of: list[int] = []
        self.names: list[str] = []
        self.selections: list[SheetSelection] = []
        self.kinds: Ints = NO_QUERIES
        self.order: list[int] = []
        self.ids: dict[int, Any] = {}
        """The ids of query numbers, where a selection has few of them."""
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
        keys = self._claims.keys(query)
        known, slots = self._known.get(group, NOTHING_KNOWN)
        at = np.searchsorted(known, keys)
        is_new = known.take(at, mode="clip") != keys
        if is_new.any():
            new, sample = np.unique(keys[is_new], return_index=True)
            found = [self._found(group, one, unread) for one in query[is_new][sample].tolist()]
            order = np.argsort(known := np.concatenate([known, new]))
            known, slots = known[order], np.concatenate([slots, found])[order]
            at = np.searchsorted(known, keys)
            # Whoever could not be asked is asked again with the next batch.
            self._known[group] = known[slots != UNREAD], slots[slots != UNREAD]
            self.kinds = np.array(self._kind_of, dtype=np.int64)
        slot: Ints = slots[at]
        if wanted is None:
            return slot
        own, place = np.unique(slot, return_inverse=True)
        kept = [one if one >= 0 and wanted(self.names[one]) else NOBODY for one in own.tolist()]
        return np.array(kept, dtype=np.int64)[place]

    def _found(self, group: str, query: int, unread: dict[str, Exception]) -> int:
        """Say which slot's a query of a group is."""
        name = self._claims.owner(query)
        if name is None or name not in self._followed:
            return NOBODY
        try:
            own = self._claims.selections(name)
        except PenstockError as error:
            unread[name] = error
            return UNREAD
        for number in reversed(range(len(own))):
            if own[number].group == group and own[number].holds(query):
                return self._slot(name, number, own[number])
        return NOBODY

    def _slot(self, name: str, number: int, selection: SheetSelection) -> int:
        slot = self._numbers.setdefault((name, number), len(self.names))
        if slot == len(self.names):
            self.names.append(name)
            self.selections.append(selection)
            kind = id(selection.outputs), selection.change_column
            self._kind_of.append(self._kinds.setdefault(kind, len(self._kinds)))
            self.order.append(number)
            self.ids |= selection.few_ids() or {}
        return slot
