"""The core of select-joins: one direction, from arriving tuples to affected queries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from penstock.operators.join.options import Options
from penstock.operators.join.partition import HotspotTracker, maintainer
from penstock.operators.join.partition.maintenance import MaintainedPartition
from penstock.operators.join.routing import CHOICES, CostConstants, DynamicStrategy
from penstock.operators.join.runs import Runs, own
from penstock.operators.join.select.grouped import Grouped
from penstock.operators.join.select.join_first import SelectJoinStrategy
from penstock.operators.join.select.scan import Scan
from penstock.operators.join.select.selection import SelectSelectionStrategy
from penstock.operators.join.select.strategy import Pairs, Rectangles, Strategy
from penstock.operators.shared.threads import default_threads
from penstock.vocabulary.batches import Ints, Rows

Maker = Callable[[Rectangles, Options, int], Strategy]


def make_ssi(rectangles: Rectangles, options: Options, threads: int) -> Grouped:
    """Make the strategy that groups all queries."""
    return Grouped(rectangles, maintainer(options.maintainer, options.epsilon), threads)


def make_hot(rectangles: Rectangles, options: Options, threads: int) -> Grouped:
    """Make the strategy that groups the hotspots only."""
    scattered = maintainer(options.maintainer, options.epsilon)
    tracker = HotspotTracker(options.alpha, options.epsilon, scattered)
    rest = TRADITIONAL[options.scattered or "selection"](rectangles, threads)
    return Grouped(rectangles, tracker, threads, rest)


TRADITIONAL: dict[str, type[Scan] | type[SelectSelectionStrategy] | type[SelectJoinStrategy]] = {
    "scan": Scan,
    "selection": SelectSelectionStrategy,
    "join": SelectJoinStrategy,
}
STRATEGIES: dict[str, Maker] = {
    "scan": lambda rectangles, _, threads: Scan(rectangles, threads),
    "selection": lambda rectangles, _, threads: SelectSelectionStrategy(rectangles, threads),
    "join": lambda rectangles, _, threads: SelectJoinStrategy(rectangles, threads),
    "ssi": make_ssi,
    "hot": make_hot,
}
"""How each strategy is made from rectangles, options and a number of threads."""


class SelectCore:
    """Standing select-joins, asked which of them a batch of arriving tuples affects.

    Parameters
    ----------
    strategy
        One of `STRATEGIES`, or "dynamic"; the answers do not depend on it.
    options
        Tuning of the strategies.
    constants
        What the router of "dynamic" believes that operations cost.
    threads
        How many threads share a batch; 0: as many as there are cores.

    >>> core, runs = SelectCore("scan"), Runs()
    >>> core.add([0, 1], [0, 50], [100, 60], [5, 5], [9, 9])
    >>> runs.change([3, 3], [7, 20], [0, 1], [True, True])
    >>> [found.tolist() for found in core.identify([10, 10], [3, 4], runs)]
    [[0], [0]]
    """

    def __init__(
        self,
        strategy: str,
        options: Options | None = None,
        constants: CostConstants | None = None,
        threads: int = 0,
    ) -> None:
        self.rectangles = Rectangles()
        self.options = options or Options()
        self._threads = threads or default_threads()
        self.strategy: Strategy
        if strategy == "dynamic":
            makers = {name: partial(self._make, STRATEGIES[name]) for name in CHOICES}
            self.strategy = DynamicStrategy(
                self.rectangles, makers, lambda hot: hot.grouping, constants, self.options.buckets
            )
        else:
            self.strategy = self._make(STRATEGIES[strategy])

    def _make(self, maker: Maker) -> Strategy:
        return maker(self.rectangles, self.options, self._threads)

    def __len__(self) -> int:
        """Count the queries that can match something."""
        return self.rectangles.count

    def add(
        self, slots: npt.ArrayLike, al: npt.ArrayLike, ah: npt.ArrayLike, cl: npt.ArrayLike,
        ch: npt.ArrayLike,
    ) -> None:  # fmt: skip
        """Take queries: [al, ah] on the arriving side, [cl, ch] on the probed side.

        A query with an empty range is accepted and never found.
        """
        numbers: Rows = own(slots, np.int32)
        bounds: list[Ints] = [own(side, np.int64) for side in (al, ah, cl, ch)]
        filled = (bounds[0] <= bounds[1]) & (bounds[2] <= bounds[3])
        if not filled.all():
            numbers, bounds = numbers[filled], [side[filled] for side in bounds]
        self.rectangles.put(numbers, *bounds)
        self.strategy.add(numbers, *bounds)

    def drop(self, slots: npt.ArrayLike) -> None:
        """Forget queries; slots that hold none change nothing."""
        numbers: Rows = own(slots, np.int32)
        numbers = numbers[numbers < len(self.rectangles.here)]
        numbers = numbers[self.rectangles.here[numbers]]
        self.strategy.drop(numbers)
        self.rectangles.remove(numbers)

    def identify(self, a: npt.ArrayLike, codes: npt.ArrayLike, runs: Runs) -> Pairs:
        """Give pairs (position of a tuple, slot of a query that it affects), each once, unordered.

        A tuple whose code is -1 affects nothing.
        """
        keys, numbers = own(a, np.int64), own(codes, np.int32)
        return self.strategy.identify(keys, numbers, runs)

    def find(self, a: npt.ArrayLike, codes: npt.ArrayLike, runs: Runs) -> int:
        """Count the pairs that `identify` would give, without writing them."""
        return self.strategy.find(own(a, np.int64), own(codes, np.int32), runs)

    @property
    def grouping(self) -> MaintainedPartition | HotspotTracker | None:
        """The stabbing groups, if the strategy keeps any."""
        return getattr(self.strategy, "grouping", None)

    def counts(self) -> dict[str, int]:
        """Give the operations so far."""
        return self.strategy.counts()

    def plans(self) -> dict[str, int]:
        """Say how many tuples went to each strategy, where a router chooses."""
        return self.strategy.plans() if isinstance(self.strategy, DynamicStrategy) else {}
