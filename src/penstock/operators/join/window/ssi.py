"""Stabbing groups: only rows next to a group's point, or recent, probe its queries (WJ-SSI)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.operators.join.band.ranges import Touched
from penstock.operators.join.options import Options
from penstock.operators.join.partition import HotspotTracker, maintainer
from penstock.operators.join.window.book import Pairs, WindowBook
from penstock.operators.join.window.box_probes import WindowBoxes, WindowJoinStrategy
from penstock.operators.join.window.rows import TimedRows
from penstock.operators.join.window.selection import WindowSelectionStrategy
from penstock.operators.join.window.skylines import Skylines
from penstock.operators.shared.slots import grown
from penstock.vocabulary.batches import Flags, Ints, Rows, added

NOWHERE, BOXED, ASIDE = 0, 1, 2


class Stabbing:
    """Queries in boxes, probed by skylines around the points of their groups.

    Two kinds of queries stand aside, in a selection index or in boxes that all rows probe. Young
    ones: some row arrived before they did, and it might hide a row that they may see. And scattered
    ones, if only hotspots are boxed (WJ-HOT). A query moves when its kind changes, at the next
    batch.
    """

    def __init__(self, book: WindowBook, threads: int, options: Options, hot: bool) -> None:
        self._book = book
        grouping = maintainer(options.maintainer, options.epsilon)
        self._tracker = HotspotTracker(options.alpha, options.epsilon, grouping) if hot else None
        self._grouping = self._tracker or grouping
        self._boxes = WindowBoxes(book, threads)
        self._others: WindowSelectionStrategy | WindowJoinStrategy = WindowSelectionStrategy(
            book, threads
        )
        if options.scattered == "join":
            self._others = WindowJoinStrategy(book, threads)
        self.skylines = Skylines()
        self._where = np.zeros(0, dtype=np.uint8)
        self._grouped: Flags = np.zeros(0, dtype=np.bool_)
        self._young: Rows = np.zeros(0, dtype=np.int32)
        self._touched = Touched()
        self._newest_since = -(1 << 63)

    @property
    def groups(self) -> int:
        """How many groups have skylines."""
        return len(self._grouping.live())

    @property
    def boxed(self) -> int:
        """How many queries stood in boxes at the last batch."""
        return len(self._boxes)

    def add(self, slots: Rows) -> None:
        """Take queries."""
        if len(slots) == 0:
            return
        top = int(slots.max()) + 1
        self._where, self._grouped = grown(self._where, top), grown(self._grouped, top)
        self._young = np.concatenate([self._young, slots])
        self._touched.add(slots)

    def drop(self, slots: Rows) -> None:
        """Forget queries."""
        self._take_out(slots)
        grouped = slots[self._grouped[slots]]
        self._grouping.delete(grouped)
        self._grouped[grouped] = False
        self._young = self._young[~np.isin(self._young, slots)]

    def pieces(self, a: Ints, codes: Rows, moments: Ints, rows: TimedRows) -> Iterator[Pairs]:
        """Give all affected pairs; the two kinds of queries have none in common."""
        self.refresh(rows)
        yield from self._others.pieces(a, codes, moments, rows)
        if len(self._boxes):
            rows.summarise(codes)
            self.skylines.move(self._grouping.points[self._grouping.live()])
            reach = self._book.widest
            picked = self.skylines.picked(codes, moments, reach, rows)
            yield from self._boxes.pieces(a, moments, rows, picked, reach)

    def counts(self) -> dict[str, int]:
        """Give probes and candidates, and what making skylines cost."""
        own = {
            "probes": self._boxes.probes,
            "visited": self._boxes.hits,
            "passes": self.skylines.passes,
            "rows_read": self.skylines.rows_read,
        }
        return added([own, self._others.counts()])

    def refresh(self, rows: TimedRows) -> None:
        """Group the queries that are no longer young, and put every touched query in its place."""
        book = self._book
        if len(self._young) or self._newest_since > -(1 << 63):
            oldest = rows.oldest_arrival()
            if oldest < self._newest_since:
                # Rows came back that are older than grouped queries: look at all anew.
                old = np.flatnonzero(self._grouped & (book.since[: len(self._grouped)] > oldest))
                self._leave_group(old.astype(np.int32))
                self._newest_since = oldest
            aged = book.since[self._young] <= oldest
            mature = self._young[aged]
            self._young = self._young[~aged]
            if len(mature):
                self._grouping.insert(mature, book.low[mature], book.high[mature])
                self._grouped[mature] = True
                self._touched.add(mature)
                newest = int(book.since[mature].max())
                self._newest_since = max(self._newest_since, newest)
        if self._tracker is not None:
            self._touched.add(self._tracker.drain_scattered())
        touched = self._touched.take()
        if len(touched) == 0:
            return
        touched = touched[book.live[touched] & book.able(touched)]
        boxed = self._grouped[touched]
        if self._tracker is not None:
            group_of = grown(self._tracker.group_of, len(self._where))
            boxed &= group_of[touched] >= 0
        self._take_out(touched)
        self._boxes.add(touched[boxed])
        self._others.add(touched[~boxed])
        self._where[touched] = np.where(boxed, BOXED, ASIDE)

    def _leave_group(self, slots: Rows) -> None:
        self._grouping.delete(slots)
        self._grouped[slots] = False
        self._young = np.concatenate([self._young, slots])
        self._touched.add(slots)

    def _take_out(self, slots: Rows) -> None:
        """Remove queries from where they stand."""
        where = self._where[slots]
        self._boxes.drop(slots[where == BOXED])
        self._others.drop(slots[where == ASIDE])
        self._where[slots] = NOWHERE
