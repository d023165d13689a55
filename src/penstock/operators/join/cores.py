"""Cores: the index of each class of joins, both directions, behind one face.

This is the one place that knows which core answers for a kind of join and a strategy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.algebra.joins import JoinStep
from penstock.operators.join.band.core import BandCore
from penstock.operators.join.figures import HOT_GROUPS, HOT_QUERIES, PLAN, STABBING_GROUPS, WORK
from penstock.operators.join.options import Options
from penstock.operators.join.partition import HotspotTracker
from penstock.operators.join.routing import DynamicStrategy
from penstock.operators.join.runs import Runs
from penstock.operators.join.select.core import SelectCore
from penstock.operators.join.window import TimedRows, WindowCore
from penstock.operators.protocol import RouteCosts, Share
from penstock.operators.shared.bounds import floats_of
from penstock.operators.shared.common_keys import difference_type
from penstock.operators.shared.keys import HIGHEST, LOWEST, float_keys
from penstock.operators.shared.readers import SideArrivals
from penstock.operators.shared.sides import Side
from penstock.operators.shared.slots import grown
from penstock.operators.shared.terms import PRIMARY
from penstock.vocabulary.batches import Flags, Ints, Rows
from penstock.vocabulary.figures import Tally, added_up
from penstock.vocabulary.types import ColumnKind, kind_of

Pairs = tuple[Rows, Rows]
Columns = Mapping[str, npt.NDArray[Any]]
"""The entries by name, each an array by query slot."""


class Matching(ABC):
    """The two cores of a group and the rows that they probe. Side 0 is the left one.

    The core of a side answers for changes that arrive there; it probes the rows of the other side.
    """

    cores: tuple[Any, Any]

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._runs = Runs(), Runs()

    @abstractmethod
    def add(self, slots: Rows, births: Ints) -> None:
        """Take the queries of slots, whose entries are in the columns.

        `births` are arrival numbers: in a window join, a query sees rows from there on.
        """

    def drop(self, slots: Rows) -> None:
        """Forget queries."""
        for core in self.cores:
            core.drop(slots)

    @abstractmethod
    def identify(self, side: int, arrivals: SideArrivals) -> Pairs:
        """Give pairs (change, query slot), each once: the queries that a change affects."""

    @property
    def is_exact(self) -> bool:
        """Whether every pair that is identified has a row to show."""
        return True

    @abstractmethod
    def ranges(
        self, side: int, arrivals: SideArrivals, tuples: Rows, queries: Rows
    ) -> tuple[Rows, Ints, Ints]:  # fmt: skip
        """Give, for pairs, where the other side's rows lie: code, lowest and highest value."""

    def measure(self, side: int, ranges: tuple[Rows, Ints, Ints]) -> Ints:
        """Give how many rows lie in each range, or a few more than the queries meet."""
        starts, stops = self._runs[1 - side].slices(*ranges)
        return stops - starts

    def expand(
        self, side: int, _arrivals: SideArrivals, ranges: tuple[Rows, Ints, Ints],
        _tuples: Rows, _queries: Rows,
    ) -> tuple[Ints, Rows]:  # fmt: skip
        """Give the row slots of each range, and where each begins."""
        return self._runs[1 - side].expand(*ranges)

    def meets(
        self, _side: int, _arrivals: SideArrivals, _other: Side,
        _tuples: Rows, _queries: Rows, _slots: Rows,
    ) -> Flags | None:  # fmt: skip
        """Say which of those rows the queries really meet; None: all do."""
        return None

    def change(self, side: int, rows: Side, came: Rows, went: Rows) -> None:
        """Take rows that came to a side and rows that went."""
        slots = np.concatenate([came, went])
        fresh = np.arange(len(slots)) < len(came)
        self._runs[side].change(rows.codes[slots], rows.values[slots], slots, fresh)

    @abstractmethod
    def explain(self, side: int, arrivals: SideArrivals) -> RouteCosts:
        """Tell what each strategy would cost for one change, and the choice."""

    def counts(self) -> Tally:
        """Give the work of both directions so far, and how often each strategy was chosen."""
        found = Tally()
        for core in self.cores:
            for name, value in core.counts().items():
                if name in WORK:
                    found[WORK[name]] += value
            for choice, value in core.plans().items():
                found[PLAN, choice] += value
        return found

    def sizes(self) -> Tally:
        """Count the stabbing groups of both directions, as far as queries alone decide them."""
        return added_up(_group_sizes(core) for core in self.cores)


def _group_sizes(core: Any) -> Tally:
    grouping = getattr(core, "grouping", None)
    if grouping is None:
        return Tally()
    hot = len(grouping.live())
    if not isinstance(grouping, HotspotTracker):
        return Tally({STABBING_GROUPS: hot})
    groups = hot + len(grouping.scattered.live())
    return Tally({STABBING_GROUPS: groups, HOT_GROUPS: hot, HOT_QUERIES: grouping.hot_members})


class SelectMatching(Matching):
    """Select-joins: equal keys, a range on each side."""

    def __init__(self, step: JoinStep, columns: Columns) -> None:
        super().__init__(columns)
        self._strategy = step.strategy
        options = Options.of(step.tuning)
        self.cores = SelectCore(step.strategy, options), SelectCore(step.strategy, options)

    def add(self, slots: Rows, _births: Ints) -> None:
        """Take queries: the left core's arriving range is `a`, the right core's is `c`."""
        for side, core in enumerate(self.cores):
            names = (*PRIMARY[side], *PRIMARY[1 - side])
            core.add(slots, *(self._columns[name][slots] for name in names))

    def identify(self, side: int, arrivals: SideArrivals) -> Pairs:
        """Give the affected queries of changes."""
        found: Pairs = self.cores[side].identify(
            arrivals.values, arrivals.codes, self._runs[1 - side]
        )
        return found

    def explain(self, side: int, arrivals: SideArrivals) -> RouteCosts:
        """Ask the router."""
        runs, strategy = self._runs[1 - side], self.cores[side].strategy
        if not isinstance(strategy, DynamicStrategy):
            return RouteCosts(choice=self._strategy)
        return strategy.explain(int(arrivals.values[0]), int(arrivals.codes[0]), runs)

    def ranges(
        self, side: int, arrivals: SideArrivals, tuples: Rows, queries: Rows
    ) -> tuple[Rows, Ints, Ints]:  # fmt: skip
        """Give the other side's range of each query, in the change's own run."""
        low, high = PRIMARY[1 - side]
        return arrivals.codes[tuples], self._columns[low][queries], self._columns[high][queries]


class BandMatching(Matching):
    """Band joins: right value minus left value in a range. All rows are one run."""

    def __init__(self, step: JoinStep, columns: Columns, share: Share) -> None:
        super().__init__(columns)
        assert step.band is not None
        left, right = (own.types[name] for own, name in zip(step.inputs, step.band, strict=True))
        self._floats = kind_of(difference_type(left, right)) is ColumnKind.FLOAT
        self._single = left == right == pa.float32()
        options = Options.of(step.tuning)
        self.cores = tuple(  # type: ignore[assignment]
            BandCore(step.strategy, options, floats=self._floats, mirrored=bool(side), share=share)
            for side in range(2)
        )

    def add(self, slots: Rows, _births: Ints) -> None:
        """Take queries."""
        for core in self.cores:
            core.add(slots, *self._bounds(slots))

    @property
    def is_exact(self) -> bool:
        """Differences of 32-bit floats are rounded to 32 bits: the core knows only about."""
        return not self._single

    def _bounds(self, queries: Rows) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Give the bands of queries; a little wider than they are for 32-bit floats."""
        low, high = self._columns["bl"][queries], self._columns["bh"][queries]
        if not self._single:
            return low, high
        return _wider(low, -np.inf), _wider(high, np.inf)

    def identify(self, side: int, arrivals: SideArrivals) -> Pairs:
        """Give the affected queries of changes."""
        stored = self._runs[1 - side].run(0)
        found: Pairs = self.cores[side].identify(
            self._numbers(arrivals.values), self._numbers(stored)
        )
        return found

    def explain(self, side: int, _arrivals: SideArrivals) -> RouteCosts:
        """Give the costs of the strategies for any tuple: a band's do not depend on its value."""
        rows = len(self._runs[1 - side])
        core = self.cores[side]
        estimates: dict[str, float] = {"rows": rows, "queries": len(core)}
        for figure, _, size in _group_sizes(core):
            estimates["groups" if figure == STABBING_GROUPS else figure.name] = size
        choice = core.choose(rows) if rows else None
        return RouteCosts(choice=choice, costs=core.estimate(rows), estimates=estimates)

    def ranges(
        self, side: int, arrivals: SideArrivals, tuples: Rows, queries: Rows
    ) -> tuple[Rows, Ints, Ints]:  # fmt: skip
        """Give the values that a band reaches from a change; for floats a little more."""
        low, high = self._bounds(queries)
        if side == 1:
            low, high = _negated(high), _negated(low)
        given = self._numbers(arrivals.values)[tuples]
        codes = np.zeros(len(tuples), dtype=np.int32)
        if self._floats:
            return codes, *_reach(given, low, high)
        return codes, _sum(given, low), _sum(given, high)

    def meets(
        self,
        side: int,
        arrivals: SideArrivals,
        other: Side,
        tuples: Rows,
        queries: Rows,
        slots: Rows,
    ) -> Flags | None:  # fmt: skip
        """Ask the rounded difference of floats, as SQL computes it."""
        if not self._floats:
            return None
        own, met = floats_of(arrivals.values[tuples]), floats_of(other.values[slots])
        if self._single:
            own, met = own.astype(np.float32), met.astype(np.float32)
        with np.errstate(invalid="ignore", over="ignore"):
            difference = (met - own if side == 0 else own - met).astype(np.float64)
        low, high = self._columns["bl"][queries], self._columns["bh"][queries]
        flags: Flags = (low <= difference) & (difference <= high)
        return flags

    def _numbers(self, keys: Ints) -> npt.NDArray[Any]:
        return floats_of(keys) if self._floats else keys


class WindowMatching(SelectMatching):
    """Window joins: select-joins whose rows are near in time."""

    def __init__(self, step: JoinStep, columns: Columns) -> None:
        Matching.__init__(self, columns)
        options = Options.of(step.tuning)
        self.cores = WindowCore(step.strategy, options), WindowCore(step.strategy, options)
        self._rows = TimedRows(), TimedRows()
        self._runs = self._rows[0].runs, self._rows[1].runs
        self._births: Ints = np.empty(0, dtype=np.int64)

    def add(self, slots: Rows, births: Ints) -> None:
        """Take queries; they see rows from their births on."""
        self._births = grown(self._births, int(slots.max()) + 1)
        self._births[slots] = births
        for side, core in enumerate(self.cores):
            names = (*PRIMARY[side], *PRIMARY[1 - side], "w")
            core.add(slots, *(self._columns[name][slots] for name in names), since=births)

    def identify(self, side: int, arrivals: SideArrivals) -> Pairs:
        """Give the affected queries of changes."""
        found: Pairs = self.cores[side].identify(
            arrivals.values, arrivals.codes, arrivals.times, self._rows[1 - side]
        )
        return found

    def explain(self, side: int, arrivals: SideArrivals) -> RouteCosts:
        """Give the costs of the strategies for a batch of this change alone."""
        rows, core = self._rows[1 - side], self.cores[side]
        joining = (
            rows.runs.length[arrivals.codes[0]] if arrivals.codes[0] < len(rows.runs.length) else 0
        )
        given = arrivals.values, arrivals.codes, rows
        return RouteCosts(
            choice=core.choose(*given) if joining else None,
            costs=core.estimate(*given),
            estimates={"rows_joining": int(joining), "queries": len(core)},
        )

    def expand(
        self, side: int, arrivals: SideArrivals, ranges: tuple[Rows, Ints, Ints],
        tuples: Rows, queries: Rows,
    ) -> tuple[Ints, Rows]:  # fmt: skip
        """Give the rows in the ranges that are near in time and no older than the query."""
        widths, births = self._columns["w"][queries], self._births[queries]
        return self._rows[1 - side].expand(*ranges, arrivals.times[tuples], widths, births)

    def change(self, side: int, rows: Side, came: Rows, went: Rows) -> None:
        """Take rows that came to a side and rows that went."""
        slots = np.concatenate([came, went])
        fresh = np.arange(len(slots)) < len(came)
        self._rows[side].change(
            rows.codes[slots], rows.values[slots], rows.times[slots], slots, fresh,
            rows.numbers[slots],
        )  # fmt: skip


def _wider(bounds: npt.NDArray[Any], towards: float) -> npt.NDArray[Any]:
    """Move bounds by two 32-bit floats."""
    with np.errstate(over="ignore", under="ignore"):
        moved = bounds.astype(np.float32)
        for _ in range(2):
            moved = np.nextafter(moved, np.float32(towards))
    return moved.astype(np.float64)


def _negated(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give -value; the open ends are each other's."""
    if values.dtype == np.float64:
        return -values
    return np.where(values == LOWEST, HIGHEST, np.where(values == HIGHEST, LOWEST, -values))


def _sum(values: Ints, widths: Ints) -> Ints:
    """Add whole numbers; sums beyond int64 stop at its ends, and open ends stay open."""
    total = values + widths
    over = ((values ^ total) & (widths ^ total)) < 0
    total = np.where(over, np.where(widths > 0, HIGHEST, LOWEST), total)
    return np.where((widths == LOWEST) | (widths == HIGHEST), widths, total)


def _reach(
    given: npt.NDArray[np.float64], low: npt.NDArray[Any], high: npt.NDArray[Any]
) -> tuple[Ints, Ints]:
    """Give keys around [given + low, given + high], wide enough for every rounding."""
    ends = []
    with np.errstate(invalid="ignore", over="ignore"):
        for bound, sign in ((low, -1.0), (high, 1.0)):
            slack = 4 * np.spacing(np.maximum(np.abs(given), np.abs(bound)))
            end = given + bound + sign * slack
            ends.append(np.where(np.isnan(end), sign * np.inf, end))
    return float_keys(ends[0])[0], float_keys(ends[1])[0]


def matching(step: JoinStep, columns: Columns, share: Share) -> Matching:
    """Give the cores of a step."""
    if step.kind == "band_join":
        return BandMatching(step, columns, share)
    return (SelectMatching if step.kind == "select_join" else WindowMatching)(step, columns)
