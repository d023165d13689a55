"""Groups first: the two rows nearest to each group's point decide (SJ-SSI, SJ-HOT).

Queries in groups are probed through `Groups`; the rest, through a stabbing index of the arriving
side. The rest are the scattered queries, if only hotspots are groups, and those that came since the
groups were last built. Groups are built anew when going without has cost as much as building would:
whatever comes next, that is at most twice the least possible.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.group_probes import DESCENTS, FOUND, PROBES, STATE, VISITED, pairs_keep
from penstock.operators.join.partition import HotspotTracker
from penstock.operators.join.partition.maintenance import MaintainedPartition
from penstock.operators.join.runs import Runs
from penstock.operators.join.select.group_probes import Probing
from penstock.operators.join.select.groups import SelectGroups
from penstock.operators.join.select.join_first import SelectJoinStrategy
from penstock.operators.join.select.scan import Scan
from penstock.operators.join.select.selection import SelectSelectionStrategy
from penstock.operators.join.select.strategy import NO_ROWS, Pairs, Rectangles, joined
from penstock.operators.shared.threads import run_parts
from penstock.vocabulary.batches import Ints, Rows

CHUNK_MIN, CHUNK_MAX = 1 << 14, 1 << 22
"""Pairs per buffer: too few cost another buffer, too many cost nothing much."""
NOWHERE, FRESH, REST, BASE = 0, 1, 2, 3
"""Where a query is: not here, not placed yet, in the stabbing index, in a group."""
BUILD_NS = 400
"""What building a group costs per member, about."""
PROBE_NS, CHANGE_NS, PLACE_NS = 100, 3, 150
"""What going without costs per tuple, per tuple and change, and per new query, about."""


class Grouped:
    """Queries in stabbing groups of their ranges on the probed side, and the rest.

    Parameters
    ----------
    grouping
        A partition of all queries, or a tracker of hotspots.
    rest
        What finds the queries in no group; default: selection first.
    """

    def __init__(
        self, rectangles: Rectangles, grouping: MaintainedPartition | HotspotTracker,
        threads: int = 1, rest: Scan | SelectSelectionStrategy | SelectJoinStrategy | None = None,
    ) -> None:  # fmt: skip
        self.grouping = grouping
        self.groups = SelectGroups()
        self.rest = rest or SelectSelectionStrategy(rectangles, threads)
        self.builds = 0
        self._rectangles = rectangles
        self._threads = threads
        self._where = np.zeros(0, dtype=np.uint8)
        self._stale = np.zeros(0, dtype=np.bool_)
        self._stale_count = 0
        self._touched: Rows = NO_ROWS
        self._changes = self._fresh = self._rent = 0
        self._pairs_per_tuple = 4.0
        self._work: Ints = np.zeros(STATE, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.grouping)

    def add(self, slots: Rows, _al: Ints, _ah: Ints, cl: Ints, ch: Ints) -> None:
        """Take queries."""
        more = len(self._rectangles.here) - len(self._where)
        if more > 0:
            self._where = np.concatenate([self._where, np.zeros(more, dtype=np.uint8)])
            self._stale = np.concatenate([self._stale, np.zeros(more, dtype=np.bool_)])
        self.grouping.insert(slots, cl, ch)
        self._where[slots] = FRESH
        self._changes += len(slots)
        self._fresh += len(slots)

    def drop(self, slots: Rows) -> None:
        """Forget queries."""
        self.grouping.delete(slots)
        places = self._where[slots]
        self.rest.drop(slots[places == REST])
        self._stale[slots[places == BASE]] = True
        self._stale_count += int(np.count_nonzero(places == BASE))
        self._fresh -= int(np.count_nonzero(places == FRESH))
        self._where[slots] = NOWHERE
        self._changes += len(slots)

    def identify(self, a: Ints, codes: Rows, runs: Runs) -> Pairs:
        """Give all affected pairs."""
        self._prepare(len(a))
        parts = self._probe(a, codes, runs, writes=True) if len(self.groups) else []
        pairs = [self._living(pair) for part in parts for pair in part]
        if len(self.rest):
            pairs.append(self.rest.identify(a, codes, runs))
        return joined(pairs)

    def find(self, a: Ints, codes: Rows, runs: Runs) -> int:
        """Count the affected pairs."""
        self._prepare(len(a))
        if self._stale_count:
            return len(self.identify(a, codes, runs)[0])
        count = self.rest.find(a, codes, runs) if len(self.rest) else 0
        if len(self.groups):
            before = self._work[FOUND]
            self._probe(a, codes, runs, writes=False)
            count += int(self._work[FOUND] - before)
        return count

    def counts(self) -> dict[str, int]:
        """Give the operations so far, and what the partition did."""
        rest = self.rest.counts()
        return {
            "descents": int(self._work[DESCENTS]),
            "probes": int(self._work[PROBES]) + rest.get("probes", 0),
            "visited": int(self._work[VISITED]) + rest["visited"],
            "searches": rest.get("searches", 0),
            "groups": len(self.groups),
            "scattered": len(self.rest),
            "builds": self.builds,
            "rebuilds": self.grouping.rebuilds,
            "moves": self.grouping.moves if isinstance(self.grouping, HotspotTracker) else 0,
        }

    def settle(self) -> None:
        """Bring the groups up to date."""
        if not self._changes:
            return
        self._touched = np.union1d(self._touched, self.grouping.drain())
        touched = np.zeros(len(self.grouping.sizes) + 1, dtype=np.bool_)
        touched[self._touched] = True
        group = np.full(len(self._where), -1, dtype=np.int32)
        known = min(len(group), len(self.grouping.group_of))
        group[:known] = self.grouping.group_of[:known]
        enters = touched[group]  # The last flag, for -1, is never set.
        alone = ((self._where == BASE) | (self._where == FRESH)) & (group < 0)
        self.rest.drop(np.flatnonzero(enters & (self._where == REST)).astype(np.int32))
        self._add_rest(np.flatnonzero(alone).astype(np.int32))
        self._where[enters] = BASE
        self._where[alone] = REST
        self.groups.update(self.grouping, self._touched, self._rectangles)
        self._touched = NO_ROWS
        self._stale[:] = False
        self._stale_count = self._changes = self._fresh = self._rent = 0
        self.builds += 1

    def _prepare(self, tuples: int) -> None:
        """Build what has changed if that pays; else put new queries where they can be found."""
        if not self._changes:
            return
        self._touched = np.union1d(self._touched, self.grouping.drain())
        self._rent += tuples * (PROBE_NS + CHANGE_NS * self._changes) + PLACE_NS * self._fresh
        if self._rent >= BUILD_NS * int(self.grouping.sizes[self._touched].sum()):
            self.settle()
        elif self._fresh:
            fresh = np.flatnonzero(self._where == FRESH).astype(np.int32)
            self._add_rest(fresh)
            self._where[fresh] = REST
            self._fresh = 0

    def _add_rest(self, slots: Rows) -> None:
        a, c = self._rectangles.a[slots], self._rectangles.c[slots]
        self.rest.add(slots, a[:, 0], a[:, 1], c[:, 0], c[:, 1])

    def _living(self, pairs: Pairs) -> Pairs:
        """Leave out the pairs of queries that went, or moved to the rest, since the last build."""
        if not self._stale_count:
            return pairs
        count = pairs_keep(*pairs, self._stale)
        return pairs[0][:count], pairs[1][:count]

    def _probe(self, a: Ints, codes: Rows, runs: Runs, writes: bool) -> list[list[Pairs]]:
        """Give the pairs of all groups, in several arrays; add to the counts of work."""
        guess = int(1.25 * self._pairs_per_tuple * len(a) / self._threads)
        room = max(min(max(guess, CHUNK_MIN), CHUNK_MAX), 2 * self.groups.largest_cell)
        probing = Probing(a, codes, runs, self.groups, room if writes else 0)
        parts = run_parts(probing, len(probing), self._threads)
        before = self._work[FOUND]
        for part in parts:
            self._work += part.work
        self._pairs_per_tuple = float(self._work[FOUND] - before) / max(len(a), 1)
        return [part.pairs for part in parts]
