"""The core of band joins: which standing bands an arriving value meets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from penstock.kernels.band_groups import tuples_find
from penstock.kernels.bands import HIGHEST, SEARCHES, STATE, VISITED
from penstock.operators.join.band.costs import DEFAULTS, BandConstants, costs
from penstock.operators.join.band.lists import GroupLists, Listing
from penstock.operators.join.band.plans import (
    Batch,
    Pairs,
    Plan,
    data_plan,
    distinct,
    groups_plan,
    merge_plan,
    queries_plan,
)
from penstock.operators.join.band.ranges import Book, OrderedRanges, Values
from penstock.operators.join.options import Options
from penstock.operators.join.ownership import owned
from penstock.operators.join.partition import HotspotTracker, maintainer
from penstock.operators.protocol import WHOLE, Share
from penstock.operators.shared.bounds import floats_of
from penstock.operators.shared.keys import float_keys
from penstock.operators.shared.threads import default_threads
from penstock.vocabulary.batches import Ints, Rows

STRATEGIES = ("queries", "data", "merge", "ssi", "hot", "dynamic")
PLANS = {"queries": queries_plan, "data": data_plan, "merge": merge_plan}
NOTHING: Pairs = (np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32))


class BandCore:
    """Standing bands of one direction: closed ranges of right value minus left value.

    Parameters
    ----------
    strategy
        queries, data, merge, ssi, hot or dynamic; all give the same pairs.
    floats
        Whether values and bounds are float64; else they are int64. Open ends are the infinities,
        or the lowest and the highest int64. Differences of whole numbers stop at the open ends.
    mirrored
        Whether arriving values are the right ones: then the stored ones are the left ones.
    share
        Which part of the queries to answer for; the others are not kept.

    >>> core = BandCore("merge")
    >>> core.add(np.array([0, 1], dtype=np.int32), np.array([-5, 3]), np.array([5, 9]))
    >>> rows, slots = core.identify(np.array([10, 4]), np.array([6, 12]))
    >>> sorted(zip(rows.tolist(), slots.tolist()))
    [(0, 0), (1, 0), (1, 1)]
    """

    def __init__(
        self,
        strategy: str,
        options: Options | None = None,
        *,
        floats: bool = False,
        mirrored: bool = False,
        share: Share = WHOLE,
        constants: BandConstants = DEFAULTS,
        threads: int | None = None,
    ) -> None:
        assert strategy in STRATEGIES
        options = options or Options()
        self._strategy, self._mirrored, self._floats = strategy, mirrored, floats
        self._plan_scattered = PLANS[options.scattered or "merge"]
        self._share, self._constants = share, constants
        self._threads = threads or default_threads()
        self._dtype = np.dtype(np.float64 if floats else np.int64)
        self._book = Book(self._dtype)
        self._all = OrderedRanges(self._dtype)
        self._scattered = OrderedRanges(self._dtype)
        self._lists = GroupLists(self._dtype, self._decode)
        self._rest = GroupLists(self._dtype, self._decode)
        grouping = maintainer(options.maintainer, options.epsilon)
        self._tracker: HotspotTracker | None = None
        self._grouping: Listing | None = None
        if strategy in {"hot", "dynamic"}:
            self._tracker = HotspotTracker(options.alpha, options.epsilon, grouping)
            self._grouping = self._tracker
        elif strategy == "ssi":
            self._grouping = grouping
        self._tuples = dict.fromkeys(STRATEGIES[:-1], 0)
        self._work: Ints = np.zeros(STATE, dtype=np.int64)

    def __len__(self) -> int:
        """Count the queries that this core answers for."""
        return self._book.count

    def add(self, slots: npt.ArrayLike, lows: npt.ArrayLike, highs: npt.ArrayLike) -> None:
        """Register queries; a range whose low lies above its high never holds."""
        own, low, high = self._normal(slots, lows, highs)
        mine = low <= high
        if self._share.count > 1:
            mine[mine] = owned(self._encode(low[mine]), self._encode(high[mine]), self._share)
        own, low, high = own[mine], low[mine], high[mine]
        if len(own) == 0:
            return
        if self._mirrored:
            low, high = -high, -low
        self._book.add(own, low, high)
        if self._grouping is not None:
            self._grouping.insert(own, self._encode(low), self._encode(high))
        self._touch(own)

    def drop(self, slots: npt.ArrayLike) -> None:
        """Forget queries; those that are not here change nothing."""
        own = np.asarray(slots, dtype=np.int32)
        own = own[own < len(self._book.live)]
        own = own[self._book.live[own]]
        if len(own) == 0:
            return
        self._book.drop(own)
        if self._grouping is not None:
            self._grouping.delete(own)
        self._touch(own)

    def identify(self, given: npt.ArrayLike, values: npt.ArrayLike) -> Pairs:
        """Give all pairs (place of the arriving value, slot of a query that it affects), each once.

        `values` are the stored values of the other side, ascending. A query is affected if some
        stored value differs from the arriving one by what its range allows.
        """
        found = list(self.pieces(given, values))
        if len(found) <= 1:
            return found[0] if found else NOTHING
        return np.concatenate([rows for rows, _ in found]), np.concatenate([s for _, s in found])

    def pieces(self, given: npt.ArrayLike, values: npt.ArrayLike) -> Iterator[Pairs]:
        """Give the pairs as they are found, in arrays of limited size."""
        arriving, stored = self._own(given), self._own(values)
        rows = np.argsort(arriving, kind="stable").astype(np.int32)
        arriving = arriving[rows]
        if self._floats:
            finite = np.isfinite(arriving)
            yield from self._infinite(arriving[~finite], rows[~finite], stored)
            arriving, rows = arriving[finite], rows[finite]
        batch = Batch.of(arriving, rows)
        for plan in self._plans(stored, len(arriving)):
            yield from plan.pieces(batch, self._threads, self._work)

    def find(self, given: npt.ArrayLike, values: npt.ArrayLike) -> int:
        """Find all answers without writing them; give how many queries their slices hold.

        Arriving values are finite. The slices of "ssi" and "hot" may hold a query twice.
        """
        arriving, stored = np.sort(self._own(given)), self._own(values)
        batch = Batch.of(arriving, np.zeros(len(arriving), dtype=np.int32))
        plans = self._plans(stored, len(arriving))
        return sum(plan.measure(batch, self._threads, self._work) for plan in plans)

    def find_singly(self, given: npt.ArrayLike, values: npt.ArrayLike) -> int:
        """Do as `find` does with "ssi", tuple by tuple as published: the twin of the batch."""
        arriving, stored = self._own(given), self._own(values)
        assert self._strategy == "ssi"
        self._plans(stored, len(arriving))
        reached = np.zeros(len(arriving), dtype=np.int64)
        tuples_find(self._work, arriving, stored, self._lists.groups, reached)
        return int(reached.sum())

    def counts(self) -> dict[str, int]:
        """Say what all batches so far have cost."""
        return {"searches": int(self._work[SEARCHES]), "visited": int(self._work[VISITED])}

    def plans(self) -> dict[str, int]:
        """Say how many tuples went to each strategy."""
        return dict(self._tuples)

    def groups(self) -> Ints:
        """Give the sizes of the stabbing groups that the last batch met."""
        return np.diff(self._lists.groups.starts)

    @property
    def grouping(self) -> Listing | None:
        """The stabbing groups, if the strategy keeps any."""
        return self._grouping

    def choose(self, rows: int) -> str:
        """Say which strategy serves a batch against so many stored values."""
        found = self.estimate(rows)
        return min(found, key=found.__getitem__) if found else self._strategy

    def estimate(self, rows: int) -> dict[str, float]:
        """Give the cost of each strategy for a tuple; nothing if there is no choice."""
        if self._tracker is None or self._strategy != "dynamic":
            return {}
        tracker = self._tracker
        hot, scattered = len(tracker.live()), len(tracker) - tracker.hot_members
        return costs(
            self._constants,
            queries=self._book.count,
            rows=rows,
            groups=hot + len(tracker.scattered.live()),
            hot=hot,
            scattered=scattered,
        )

    def _touch(self, slots: Rows) -> None:
        """Tell the structures that this strategy reads."""
        dynamic = self._strategy == "dynamic"
        if dynamic or self._strategy in PLANS:
            self._all.touch(slots)
        if self._grouping is not None:
            self._lists.touch(slots)
        if dynamic:
            self._rest.touch(slots)

    def _plans(self, stored: Values, tuples: int) -> list[Plan]:
        """Bring the structures up to date and say how to run a batch."""
        if len(stored) == 0 or tuples == 0 or self._book.count == 0:
            return []
        strategy = self.choose(len(stored))
        self._tuples[strategy] += tuples
        if strategy in PLANS:
            self._all.refresh(self._book, self._book.live)
            return [PLANS[strategy](self._all, distinct(stored))]
        assert self._grouping is not None
        self._lists.refresh(self._grouping, self._book)
        if tuples * len(self._lists) > len(stored):
            stored = distinct(stored)
        plans = [groups_plan(self._lists, stored)]
        if self._tracker is not None:
            tracker = self._tracker
            if strategy == "ssi":
                self._rest.refresh(tracker.scattered, self._book)
                plans.append(groups_plan(self._rest, stored))
            else:
                self._scattered.touch(tracker.drain_scattered())
                self._scattered.refresh(self._book, tracker.scattered.group_of >= 0)
                plans.append(self._plan_scattered(self._scattered, stored))
        return plans

    def _infinite(self, given: Values, rows: Rows, stored: Values) -> Iterator[Pairs]:
        """Answer for infinite arriving values: their differences are infinite, or not numbers."""
        book = self._book
        for sign, ends in ((np.inf, book.low == -np.inf), (-np.inf, book.high == np.inf)):
            own, slots = rows[given == sign], np.flatnonzero(book.live & ends).astype(np.int32)
            if len(own) and len(slots) and (stored != sign).any():
                yield np.repeat(own, len(slots)), np.tile(slots, len(own))

    def _own(self, values: npt.ArrayLike) -> Values:
        """Give an array as kernels know it: any other layout would compile them again."""
        return np.require(values, self._dtype, ["C_CONTIGUOUS", "WRITEABLE"])

    def _normal(
        self, slots: npt.ArrayLike, lows: npt.ArrayLike, highs: npt.ArrayLike
    ) -> tuple[Rows, Values, Values]:
        """Give slots and ranges; whole numbers from -HIGHEST on, so that they can change sign."""
        low, high = self._own(lows), self._own(highs)
        if not self._floats:
            low, high = np.maximum(low, -HIGHEST), np.maximum(high, -HIGHEST)
        return np.asarray(slots, dtype=np.int32), low, high

    def _encode(self, bounds: Values) -> Ints:
        """Give bounds as keys of the same order."""
        return float_keys(bounds)[0] if self._floats else bounds

    def _decode(self, keys: Ints) -> Values:
        """Give back the bounds that keys stand for."""
        return floats_of(keys) if self._floats else keys
