"""Maintenance: what an update of a standing band join costs, strategy by strategy.

Queries are inserted and deleted with equal chance, one by one. BJ-SSI keeps a lazy partition and,
per group, two sorted lists; BJ-MJ one sorted list; BJ-D a search tree for stabbing; BJ-Q nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import thread_time

import numpy as np

from penstock.kernels.partition_trees import NODE, PATH, Tree, tree_build
from penstock.lab.draws import generator
from penstock.lab.joins.drift import drift
from penstock.lab.kernels.lists import (
    ListPool,
    grouped_change,
    lists_change,
    lists_fill,
    lists_pack,
    tree_change,
)
from penstock.lab.report import Findings, Size, Table, at_most, sized
from penstock.lab.timing import alternate, say
from penstock.operators.join.partition import HotspotTracker, LazyPartition, RefinedPartition
from penstock.operators.join.partition.maintenance import MaintainedPartition
from penstock.vocabulary.batches import Flags, Ints, Rows

DOMAIN = 10_000
SCALE = 1_000
LENGTH_MEAN, LENGTH_DEVIATION = 1_000, 240
UPKEEP_MAX = sized(4.0, 1.5, 1.2)
"""BJ-MJ's one list shifts what lies behind an insertion: little of few queries."""
EPSILON = 3.0
ALPHA = 0.001
SLACK = 0.1
PIECES = 256
"""The tuned form of BJ-MJ's list: so many pieces, so that an insertion shifts little."""
SIZES = sized((2_000, 2_000, 1), (20_000, 20_000, 2), (100_000, 100_000, 3))  # fmt: skip
GROWTH = sized((1_000, 10_000), (10_000, 100_000), (10_000, 1_000_000))


def bands(rng: np.random.Generator, count: int) -> tuple[Ints, Ints]:
    """Draw bands with uniform middles and normal lengths, in thousandths."""
    middles = rng.uniform(0, DOMAIN, count)
    lengths = np.maximum(rng.normal(LENGTH_MEAN, LENGTH_DEVIATION, count), 1)
    low, high = middles - lengths / 2, middles + lengths / 2
    return (low * SCALE).astype(np.int64), (high * SCALE).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateHistory:
    """Ranges by slot at first, then updates in order; a slot is used once."""

    lows: Ints
    highs: Ints
    slots: Rows
    added: Flags
    initial: int

    def first(self) -> tuple[Rows, Ints, Ints]:
        """Give what is there before the updates."""
        n = self.initial
        return np.arange(n, dtype=np.int32), self.lows[:n], self.highs[:n]


def history(initial: int, updates: int, seed: int = 1) -> UpdateHistory:
    """Draw a history: each update inserts a new band or deletes one that is there."""
    rng = generator(seed)
    lows, highs = bands(rng, initial + updates)
    added = rng.random(updates) < 0.5
    here = list(range(initial))
    slots = np.empty(updates, dtype=np.int32)
    fresh = initial
    for i, draw in enumerate(rng.random(updates)):
        if added[i]:
            slots[i] = fresh
            here.append(fresh)
            fresh += 1
        else:
            place = int(draw * len(here))
            here[place], here[-1] = here[-1], here[place]
            slots[i] = here.pop()
    return UpdateHistory(lows=lows, highs=highs, slots=slots, added=added, initial=initial)


def _sorted_lists(numbers: Rows, count: int, keys: Ints, slots: Rows) -> ListPool:
    order = np.lexsort((slots, keys))
    return lists_fill(numbers[order], count, keys[order], slots[order], SLACK)


class GroupedLists:
    """BJ-SSI: a partition, and per group its left ends and its right ends, sorted."""

    def __init__(self, given: UpdateHistory) -> None:
        self.partition = LazyPartition(EPSILON)
        self.partition.insert(*given.first())
        self._given = given
        self.partition.reserve_slots(len(given.lows))
        self.partition.reserve_groups(len(given.slots) + len(self.partition.live()))
        self.fill()

    def fill(self) -> None:
        """Make all lists anew from the partition."""
        group_of = self.partition.group_of
        slots = np.flatnonzero(group_of >= 0).astype(np.int32)
        count, numbers = len(self.partition.points), group_of[slots]
        self.lefts = _sorted_lists(numbers, count, self._given.lows[slots], slots)
        self.rights = _sorted_lists(numbers, count, ~self._given.highs[slots], slots)

    def change(self) -> None:
        """Apply all updates, one by one."""
        given, done = self._given, 0
        lows, highs = given.lows[given.slots], given.highs[given.slots]
        while done < len(given.slots):
            rebuilds = self.partition.rebuilds
            done = grouped_change(
                self.partition.state, self.lefts, self.rights,
                given.slots, lows, highs, given.added, done,
            )  # fmt: skip
            if self.partition.rebuilds != rebuilds:
                self.fill()
            elif done < len(given.slots):
                self.lefts = lists_pack(self.lefts, SLACK)
                self.rights = lists_pack(self.rights, SLACK)


class OneList:
    """BJ-MJ: all left ends in one sorted list, in one piece or in several."""

    def __init__(self, given: UpdateHistory, pieces: int) -> None:
        slots, lows, _ = given.first()
        self._given = given
        self._cuts = np.quantile(lows, np.arange(1, pieces) / pieces).astype(np.int64)
        self.pool = _sorted_lists(self._pieces(lows), pieces, lows, slots)

    def _pieces(self, keys: Ints) -> Rows:
        return np.searchsorted(self._cuts, keys, side="right").astype(np.int32)

    def change(self) -> None:
        """Apply all updates, one by one."""
        given, done = self._given, 0
        keys = given.lows[given.slots]
        numbers = self._pieces(keys)
        while done < len(given.slots):
            done = lists_change(self.pool, numbers, keys, given.slots, given.added, done)
            if done < len(given.slots):
                self.pool = lists_pack(self.pool, SLACK)


class StabbingTree:
    """BJ-D: a search tree by left end whose nodes know the greatest right end below them.

    The tree carries the least of what is given as high, so it is given ~high.
    """

    def __init__(self, given: UpdateHistory) -> None:
        nodes = np.zeros(len(given.lows), dtype=NODE)
        nodes["low"], nodes["high"] = given.lows, ~given.highs
        self.tree = Tree(nodes, True, np.empty(PATH, dtype=np.int32))
        slots, lows, _ = given.first()
        order = slots[np.lexsort((slots, lows))]
        self._root = int(tree_build(self.tree, order, 0, len(order)))
        self._given = given

    def change(self) -> None:
        """Apply all updates, one by one."""
        self._root = tree_change(self.tree, self._root, self._given.slots, self._given.added)


def strategies(size: Size) -> Findings:
    """Time all strategies on one history, alternately; every round starts from the same state."""
    initial, updates, rounds = SIZES[size]
    say(f"maintenance: {initial:,} band queries, {updates:,} updates")
    given = history(initial, updates)
    makers: dict[str, Callable[[], GroupedLists | OneList | StabbingTree]] = {
        "BJ-SSI, partition and two lists per group": partial(GroupedLists, given),
        "BJ-MJ, one sorted list": partial(OneList, given, 1),
        f"BJ-MJ, one sorted list in {PIECES} pieces": partial(OneList, given, PIECES),
        "BJ-D, stabbing tree": partial(StabbingTree, given),
    }
    best = dict.fromkeys(makers, float("inf"))
    rebuilds = 0
    for turn in range(rounds + 1):
        for name, make in makers.items():
            side = make()
            took = alternate({name: side.change}, 1, thread_time)[name]
            if turn:  # the first turn compiles
                best[name] = min(best[name], took)
            if isinstance(side, GroupedLists):
                rebuilds = side.partition.rebuilds
    ssi, merge = (best[name] for name in list(makers)[:2])
    rows = [(name, 1e6 * took / updates, took / merge) for name, took in best.items()]
    rows.append(("BJ-Q, nothing to maintain", 0.0, 0.0))
    yield Table("maintenance per update", ("strategy", "time (µs)", "times BJ-MJ"), rows)
    yield at_most("rebuilds of the partition", rebuilds, 5)
    yield at_most("BJ-SSI's maintenance over BJ-MJ's", ssi / merge, UPKEEP_MAX[size], timed=True)


def tracking(size: Size) -> Findings:
    """Count the moves of trackers over twice as many random updates."""
    initial, updates, _ = SIZES[size]
    given = history(initial, 2 * updates, seed=2)
    rows = []
    for name, kept in (("lazy", LazyPartition(EPSILON)), ("refined", RefinedPartition(EPSILON))):
        tracker = HotspotTracker(ALPHA, EPSILON, maintainer=kept)
        tracker.insert(*given.first())
        loaded = tracker.moves
        ends = np.flatnonzero(np.diff(given.added)) + 1
        for part in np.split(np.arange(2 * updates), ends):
            slots = given.slots[part]
            if given.added[part[0]]:
                tracker.insert(slots, given.lows[slots], given.highs[slots])
            else:
                tracker.delete(slots)
        moves = tracker.moves - loaded
        share = 100 * tracker.hot_members / len(tracker)
        rows.append((name, loaded, moves, moves / (2 * updates), tracker.rebuilds, share))
        yield at_most(f"moves per update, {name}", moves / (2 * updates), 5)
    columns = (
        "maintainer", "moves at the load", "moves", "moves per update", "rebuilds", "hot (%)",
    )  # fmt: skip
    title = f"hotspot tracker over {2 * updates:,} updates"
    yield Table(title, columns, rows)


def _turn(kept: MaintainedPartition, slots: Rows, lows: Ints) -> None:
    kept.delete(slots)
    kept.insert(slots, lows, lows + 2**36)


def growth(size: Size) -> Table:
    """Time updates of partitions as they grow, in bulk, at about the same number of groups."""
    rows = []
    for count in GROWTH[size]:
        rng = generator(3)
        low = rng.integers(0, 2**40, count)
        change = rng.choice(count, count // 10, replace=False).astype(np.int32)
        kinds: dict[str, MaintainedPartition] = {
            "lazy": LazyPartition(EPSILON),
            "refined": RefinedPartition(EPSILON),
            "refined, by witnesses": RefinedPartition(EPSILON, trigger="witness"),
        }
        for name, kept in kinds.items():
            kept.insert(np.arange(count, dtype=np.int32), low, low + 2**36)
            took = alternate({"turn": partial(_turn, kept, change, low[change])}, 3)["turn"]
            rows.append((name, count, 5e5 * took / len(change), len(kept.live())))
    columns = ("maintainer", "queries", "time per update (µs)", "groups")
    return Table("time per update as queries grow", columns, rows)


def run(size: Size) -> Findings:
    """Time the strategies, count the tracker's moves, and its credits as a hot centre drifts."""
    yield from strategies(size)
    yield from tracking(size)
    yield from drift(size)
    yield growth(size)
