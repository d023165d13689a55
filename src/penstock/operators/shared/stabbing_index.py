"""Index: the standing entries of one branch, as levels of falling size.

New entries are a small level; levels of like size become one (the logarithmic method), so that an
entry is sorted again only a few times in its life and an event visits only a few levels. A level
holds a contiguous range of query numbers: a dropped query is found by searching, dies in place,
and vanishes when its level is next rebuilt. Nothing here costs more than the change or the batch
does, but for such a rebuild.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from penstock.operators.shared.codes import BranchCodes
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.operators.shared.stabbing_choice import Probes, expected_candidates, midpoints
from penstock.operators.shared.stabbing_level import Level, LevelEntries, build_level, join_entries
from penstock.operators.shared.stabbing_probes import Events, Work, arrange, stab
from penstock.vocabulary.batches import Flags, Ints, Rows

GROWTH = 2
"""A level is merged into its older neighbour unless that is this many times its size."""
CAPACITY_MAX = 1 << 22
CAPACITY_MIN = 1 << 12


class BranchIndex:
    """Levels of one branch; `columns` counts its range columns.

    Parameters
    ----------
    types
        The types of the equality columns.
    growth
        How much larger an older level is at least; tests use it to force or avoid merges.
    """

    def __init__(self, types: Sequence[pa.DataType], columns: int, growth: int = GROWTH) -> None:
        self.codes = BranchCodes(types)
        self.columns = columns
        self.indexed = 0
        self.levels: list[Level] = []
        self.work = Work()
        self._coded = len(types) > 0
        self._growth = growth
        self._dead: list[int] = []
        self._probes: Probes | None = None
        self._pairs_per_event = 4.0

    def __len__(self) -> int:
        """Count the entries that live."""
        return sum(len(level) for level in self.levels) - sum(self._dead)

    def add(self, table: pa.Table) -> None:
        """Take the entries of a port; their queries are above all earlier ones."""
        if table.num_rows == 0:
            return
        equal = [name for name in table.column_names if name[0] == "e"]
        residual = [name for name in table.column_names if name[0] == "r"]
        codes = np.zeros(table.num_rows, dtype=np.int32)
        if equal:
            codes = self.codes.code([table.column(name) for name in equal])
        lows = np.full((max(self.columns, 1), table.num_rows), LOWEST)
        highs = np.full((max(self.columns, 1), table.num_rows), HIGHEST)
        for k in range(self.columns):
            lows[k] = table.column(f"l{k}").to_numpy()
            highs[k] = table.column(f"h{k}").to_numpy()
        shared = table.column("shared").to_numpy()
        self.add_entries(
            LevelEntries(
                codes=codes,
                lows=lows,
                highs=highs,
                queries=np.array(table.column("query").to_numpy(), dtype=np.int64),
                shared=np.array(shared) if shared.any() else None,
                parameters=table.select(residual) if residual else None,
            )
        )

    def add_entries(self, entries: LevelEntries) -> None:
        """Take entries that are coded already."""
        first = len(self.levels)
        total = len(entries)
        while first > 0 and len(self.levels[first - 1]) < self._growth * total:
            first -= 1
            total += len(self.levels[first])
        self._rebuild(first, [entries])

    def drop(self, queries: Ints) -> Flags:
        """Forget queries; say which of them were known (unknown numbers change nothing)."""
        known: Flags = np.zeros(len(queries), dtype=np.bool_)
        if len(queries) == 0:
            return known
        for i in range(len(self.levels) - 1, -1, -1):
            died, hit = self.levels[i].kill(queries)
            known |= hit
            self._dead[i] += died
            if 2 * self._dead[i] > len(self.levels[i]):
                self._rebuild(i, [], last=i + 1)
        return known

    def observe(self, events: Events) -> None:
        """Remember what events look like; index another column if that is far better for them."""
        if self.columns < 2 or self._probes is not None or not self.levels:
            return
        able = events.valid if len(events.codes) == 0 else events.valid & (events.codes >= 0)
        rows = np.flatnonzero(able)
        if len(rows) == 0:
            return
        rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), 128)).astype(np.int64)]
        codes = events.codes[rows] if self._coded else np.zeros(len(rows), dtype=np.int32)
        self._probes = Probes(codes=codes, keys=events.keys[:, rows])
        entries = join_entries([level.entries() for level in self.levels])
        if len(entries) == 0:
            return
        expected = expected_candidates(entries.codes, entries.lows, entries.highs, self._probes)
        if 2 * expected.min() < expected[self.indexed]:
            self._rebuild(0, [])

    def _rebuild(self, first: int, added: list[LevelEntries], last: int | None = None) -> None:
        """Make one level of the levels [first, last) and the added entries."""
        last = len(self.levels) if last is None else last
        parts = [level.entries() for level in self.levels[first:last]] + added
        entries = join_entries(parts)
        if first == 0 and last == len(self.levels) and len(entries):
            entries = self._reconsider(entries)
        fresh = [build_level(entries, self.indexed)] if len(entries) else []
        self.levels[first:last] = fresh
        self._dead[first:last] = [0] * len(fresh)

    def _reconsider(self, entries: LevelEntries) -> LevelEntries:
        """Use a rebuild of everything to forget unused codes and to choose the column anew."""
        if self._coded:
            used = np.flatnonzero(np.bincount(entries.codes, minlength=self.codes.size))
            if 2 * len(used) < self.codes.size:
                renamed = self.codes.shrink(used)
                entries = LevelEntries(
                    codes=renamed[entries.codes], lows=entries.lows, highs=entries.highs,
                    queries=entries.queries, shared=entries.shared,
                    parameters=entries.parameters,
                )  # fmt: skip
                self._probes = None
        if self.columns > 1:
            ranges = (entries.codes, entries.lows, entries.highs)
            probes = self._probes or midpoints(*ranges)
            self.indexed = int(np.argmin(expected_candidates(*ranges, probes)))
        return entries

    def probe(
        self, events: Events, start: int, stop: int, capacity: int | None = None
    ) -> Iterator[tuple[Level, Rows, Ints]]:
        """Give (level, event rows, payloads) of all candidate pairs, at most `capacity` at once."""
        if not self.levels or start == stop:
            return
        arranged = arrange(events, self.indexed, start, stop)
        work = Work()
        for level in self.levels:
            room = capacity or self._capacity(stop - start)
            found = 0
            for rows, payloads in stab(level, arranged, room, work):
                found += len(rows)
                yield level, rows, payloads
            if level is self.levels[0]:
                self._pairs_per_event = found / (stop - start)
        self.work.scanned += work.scanned
        self.work.skimmed += work.skimmed

    def _capacity(self, events: int) -> int:
        """Guess how many pairs come: too few costs another buffer, too many costs nothing much."""
        guess = int(1.25 * self._pairs_per_event * events)
        return min(max(guess, CAPACITY_MIN), CAPACITY_MAX)
