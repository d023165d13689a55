"""Handed batches: a batch on its way to very many readers, whose changes are made by the page.

Where there are very many readers, most have one change of a batch or two. To make these reader by
reader costs more than the changes do; so those of some hundred rows are made together, and
everyone takes its own out of the page. Nobody else gets them: a row is its reader's to change.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

import numpy as np

from penstock.delivery.changes import Change, changes_of
from penstock.delivery.shares import ListedPage, Shares

PAGES_KEPT = 64
"""Whoever comes when its page is no longer kept has its changes made alone."""
Page = dict[int, list[Change]]
"""The changes that nobody has taken yet, by the number of their piece."""


class HandedBatch:
    """A batch that was handed out; so many as `untaken` says have not taken their share."""

    def __init__(self, batch: int, version: int, shares: Shares) -> None:
        self.batch, self.version, self.shares = batch, version, shares
        self.untaken = 0
        self._pages: dict[int, Page] = {}
        self._kept: deque[Page] = deque()
        self._lock = threading.Lock()

    def changes(self, name: str, seen: int = 0) -> Iterable[Change]:
        """Give a subscription's changes, behind those that were seen."""
        piece, number = self.shares.place(name)
        if not seen and number is not None:
            page = self._pages.get(number)
            if page is None:
                page = self._page(number)
            own = page.pop(piece, None)
            if own is not None:
                return own
        return changes_of(self.shares.pieces(name), self.batch, self.version, seen)

    def _page(self, number: int) -> Page:
        with self._lock:
            page = self._pages.get(number)
            if page is None:
                page = self._pages[number] = _made(self.shares.page(number), self)
                self._kept.append(page)
                if len(self._kept) > PAGES_KEPT:
                    self._kept.popleft().clear()
            return page


def _made(page: ListedPage, of: HandedBatch) -> Page:
    """Make the changes of a page; tokens count them within each piece."""
    batch, version, names = of.batch, of.version, page.names
    starts, lengths = page.cuts[:-1], np.diff(page.cuts)
    tokens = [f"{batch}:{count}" for count in range(1, lengths.max(initial=0) + 1)]
    places = np.arange(page.cuts[0], page.cuts[-1]) - np.repeat(starts, lengths)
    changes = [
        Change(id_, dict(zip(names, row)), sign, batch, version, tokens[place])  # noqa: B905  # it costs time
        for id_, row, sign, place in zip(
            page.ids, page.rows, page.signs, places.tolist(), strict=True
        )
    ]
    own = (np.array(page.cuts) - page.cuts[0]).tolist()
    return {
        piece: changes[start:stop]
        for piece, start, stop in zip(page.pieces, own, own[1:], strict=False)
    }
