"""The strategy that chooses: a decision table, and a batch cut in parts.

It is a strategy like those it chooses from, so a core cannot tell. A strategy is built when a tuple
is first sent to it: one that never pays costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from penstock.kernels.routes import (
    STEPS,
    rows_restore,
    step_of,
    tuples_cut,
    tuples_place,
    tuples_route,
)
from penstock.operators.join.routing.constants import CHOICES, CostConstants, load_constants
from penstock.operators.join.routing.costs import Sizes
from penstock.operators.join.routing.statistics import Hotspots, QueryRectangles, RoutingStatistics
from penstock.operators.join.routing.table import DRIFT, DecisionTable
from penstock.operators.protocol import RouteCosts
from penstock.vocabulary.batches import Bytes, Ints, Rows, added

MARGIN = 1.5
"""So many times the least cost may be wrong: what is nearer than this counts as equal."""
WORTH = 0.1
"""A part of a batch is cut off only if that saves this share of the batch's cost."""
NO_ROWS: Rows = np.empty(0, dtype=np.int32)
NONE = len(CHOICES)
"""The number of no strategy: of a tuple that joins with nothing."""


class RoutedPart(NamedTuple):
    """Tuples of a batch that go to one strategy; `rows`: where in the batch they are, or all."""

    a: Ints
    codes: Rows
    rows: Rows | None


class RoutedStrategy(Protocol):
    """What is asked of a strategy."""

    def add(self, slots: Rows, al: Ints, ah: Ints, cl: Ints, ch: Ints, /) -> None:
        """Take queries."""

    def drop(self, slots: Rows, /) -> None:
        """Forget queries."""

    def identify(self, a: Ints, codes: Rows, runs: Any, /) -> tuple[Rows, Rows]:
        """Give the affected queries of a batch: pairs (tuple, slot)."""

    def find(self, a: Ints, codes: Rows, runs: Any, /) -> int:
        """Count those pairs."""

    def counts(self) -> dict[str, int]:
        """Tell the work done."""


@runtime_checkable
class Settles(Protocol):
    """A strategy that may put work off until it pays."""

    def settle(self) -> None:
        """Do it now."""


class DynamicStrategy:
    """Send every tuple of a batch to the strategy that the cost model finds cheapest for it.

    `makers` builds strategies by name; only those that it names are chosen. "hot" is always there,
    because its hotspots are part of the statistics: `hotspots` reads them off the strategy.
    """

    def __init__(
        self,
        rectangles: QueryRectangles,
        makers: Mapping[str, Callable[[], RoutedStrategy]],
        hotspots: Callable[[Any], Hotspots],
        constants: CostConstants | None = None,
        buckets: int = 100,
    ) -> None:
        self.constants = constants or load_constants()
        self.statistics = RoutingStatistics(rectangles, buckets)
        self._rectangles = rectangles
        self._makers = dict(makers)
        self._calls = np.array([self.constants.of(name).call for name in CHOICES])
        self._built = {"hot": makers["hot"]()}
        self._hotspots = hotspots(self._built["hot"])
        self._changes = 0
        self._sizes: Sizes | None = None
        self._table: DecisionTable | None = None
        self._shares = np.zeros(NONE + 1, dtype=np.int64)
        self._estimated = 0.0
        self._tables = 0

    @property
    def grouping(self) -> Hotspots:
        """The hotspots that the statistics know."""
        return self._hotspots

    def add(self, slots: Rows, al: Ints, ah: Ints, cl: Ints, ch: Ints) -> None:
        """Take queries; every strategy that is built takes them too."""
        self.statistics.add(slots)
        for strategy in self._built.values():
            strategy.add(slots, al, ah, cl, ch)
        self._changes += len(slots)
        self._sizes = None

    def drop(self, slots: Rows) -> None:
        """Forget queries."""
        self.statistics.drop(slots)
        for strategy in self._built.values():
            strategy.drop(slots)
        self._changes += len(slots)
        self._sizes = None

    def identify(self, a: Ints, codes: Rows, runs: Any) -> tuple[Rows, Rows]:
        """Give the affected queries of a batch, each tuple by its own strategy."""
        found = []
        for strategy, part in self.parts(a, codes, runs):
            rows, slots = strategy.identify(part.a, part.codes, runs)
            if part.rows is not None:
                rows_restore(rows, part.rows)
            found.append((rows, slots))
        if len(found) == 1:
            return found[0]
        rows_found = [rows for rows, _ in found] or [NO_ROWS]
        slots_found = [slots for _, slots in found] or [NO_ROWS]
        return np.concatenate(rows_found), np.concatenate(slots_found)

    def find(self, a: Ints, codes: Rows, runs: Any) -> int:
        """Count the pairs that `identify` would give."""
        parts = self.parts(a, codes, runs)
        return sum(s.find(part.a, part.codes, runs) for s, part in parts)

    def parts(self, a: Ints, codes: Rows, runs: Any) -> Iterator[tuple[RoutedStrategy, RoutedPart]]:
        """Cut a batch by strategy; tuples that join with nothing are in no part."""
        choices, tally = self.route(a, codes, runs)
        self._shares += tally
        chosen = [choice for choice in range(NONE) if tally[choice]]
        if len(chosen) == 1 and 2 * tally[NONE] <= len(a):
            yield self.strategy(chosen[0]), RoutedPart(a, codes, None)
            return
        starts = np.cumsum(tally) - tally
        cut_a, cut_codes, rows = np.empty_like(a), np.empty_like(codes), np.empty_like(codes)
        tuples_cut(a, codes, choices, starts, cut_a, cut_codes, rows)
        for choice in chosen:
            place = slice(int(starts[choice]), int(starts[choice] + tally[choice]))
            yield self.strategy(choice), RoutedPart(cut_a[place], cut_codes[place], rows[place])

    def settle(self) -> None:
        """Let every strategy finish what it has put off."""
        for strategy in self._built.values():
            if isinstance(strategy, Settles):
                strategy.settle()

    def route(self, a: Ints, codes: Rows, runs: Any) -> tuple[Bytes, Ints]:
        """Choose a strategy's number for each tuple; count the tuples of each.

        The strategy that is cheapest for the whole batch is the usual one. A tuple leaves it only
        where that saves more than the model may err, and a part of the batch only where it saves
        more than a call costs and a tenth of the whole: strategies that take turns cool each
        other's caches.
        """
        table = self.table(runs)
        histogram = self.statistics.accepted
        cells = np.empty(len(a), dtype=np.int32)
        totals = self._calls.copy()
        tuples_place(
            a, codes, runs.length, histogram.low, histogram.high, histogram.scale,
            table.costs, cells, totals,
        )  # fmt: skip
        usual = int(totals.argmin())
        choices = np.empty(len(a), dtype=np.uint8)
        tally = np.zeros(NONE + 1, dtype=np.int64)
        sums = np.zeros((NONE + 1, NONE), dtype=np.float64)
        tuples_route(cells, table.choices, table.costs, usual, MARGIN, choices, tally, sums)
        for choice in range(NONE):
            saved = sums[choice, usual] - sums[choice, choice]
            least = max(self._calls[choice], WORTH * totals[usual])
            if choice != usual and tally[choice] and saved < least:
                choices[choices == choice] = usual
                tally[usual] += tally[choice]
                tally[choice] = 0
                sums[usual] += sums[choice]
                sums[choice] = 0.0
        self._estimated += float(np.trace(sums[:NONE]))
        return choices, tally

    def table(self, runs: Any) -> DecisionTable:
        """Give the decision table, made anew when queries or sizes have drifted by a tenth."""
        if self._sizes is None or self._sizes.rows != len(runs):
            self._sizes = self.statistics.sizes(len(runs), self._hotspots)
        table = self._table
        if (
            table is not None
            and self._changes <= DRIFT * table.sizes.queries
            and not self._sizes.drifted(table.sizes, DRIFT)
        ):
            return table
        if self._changes:
            self.statistics.refresh(self._hotspots)
            self._changes = 0
        accepted = self.statistics.accepted.counts()
        scattered = self.statistics.scattered.counts()
        enabled = tuple(self._makers)
        self._table = DecisionTable(self.constants, self._sizes, accepted, scattered, enabled)
        self._tables += 1
        return self._table

    def explain(self, a: int, code: int, runs: Any) -> RouteCosts:
        """Tell what each strategy would cost for a tuple, from which estimates, and the choice."""
        table = self.table(runs)
        bucket = self.statistics.accepted.bucket(a)
        rows = int(runs.length[code]) if 0 <= code < len(runs.length) else 0
        cell = bucket * STEPS + step_of(rows)
        known = zip(CHOICES, table.costs[cell], strict=True)
        return RouteCosts(
            choice=CHOICES[table.choices[cell]] if rows else None,
            costs={name: float(cost) for name, cost in known if name in self._makers},
            estimates={
                "rows_joining": rows,
                "queries_accepting": float(table.accepted[bucket]),
                "queries_accepting_scattered": float(table.scattered[bucket]),
            },
            unit=self.constants.unit,
        )

    def counts(self) -> dict[str, int]:
        """Tell the work done: the estimated cost, and each strategy's own."""
        counted = {"estimated_cost": round(self._estimated), "decision_tables": self._tables}
        return added([counted, *(strategy.counts() for strategy in self._built.values())])

    def plans(self) -> dict[str, int]:
        """Tell how many tuples went to each strategy."""
        shares = zip((*CHOICES, "none"), self._shares, strict=True)
        return {name: int(count) for name, count in shares}

    def strategy(self, choice: int) -> RoutedStrategy:
        """Give a strategy; one that is chosen for the first time is built from all queries."""
        name = CHOICES[choice]
        if name not in self._built:
            strategy = self._makers[name]()
            slots = np.flatnonzero(self._rectangles.here).astype(np.int32)
            a, c = self._rectangles.a[slots].T.copy(), self._rectangles.c[slots].T.copy()
            strategy.add(slots, a[0], a[1], c[0], c[1])
            self._built[name] = strategy
        return self._built[name]
