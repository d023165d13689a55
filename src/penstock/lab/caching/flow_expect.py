"""FlowExpect: the best decisions for some ticks ahead, fixed now; a flow of least cost.

Slices 0 … l-1 stand for the ticks ahead. Slice 0 has a node per candidate; every later slice has a
copy of every node before it, a hub, and one undetermined node per stream. A path is what one slot
holds: it stays on a row (copy to copy, earning the row's chance to join), or gives it up at a hub
for a row to come. What the optimal flow leaves out of slice 0 is discarded now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import combinations
from typing import ClassVar

import numpy as np

from penstock.lab.kernels.flows import Graph, flow_push
from penstock.operators.bounded.laws import History, Law
from penstock.operators.bounded.laws_independent import LinearTrend, Stationary
from penstock.operators.bounded.laws_markov import RandomWalk
from penstock.operators.bounded.policies import Candidates, SteppedPolicy
from penstock.vocabulary.batches import Floats, Ints

STREAMS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """The graph of FlowExpect for a budget and a number of slices, without its costs.

    Attributes
    ----------
    arc_rows, arc_slices
        Arc a is earned by row `arc_rows[a]` (candidates, then the rows to come) on leaving this
        slice; -1: it earns nothing.
    """

    graph: Graph
    candidates: int
    arc_rows: Ints
    arc_slices: Ints

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.graph.starts) - 1

    @property
    def arcs(self) -> int:
        """How many arcs there are, without their twins."""
        return len(self.arc_rows)


@lru_cache(maxsize=64)
def slices(budget: int, ahead: int) -> Slices:
    """Build the graph: nodes slice by slice, copies before the hub, the hub before new rows.

    >>> slices(1, 3).nodes, slices(1, 3).arcs
    (19, 30)
    """
    candidates = budget + STREAMS
    node_of: list[dict[int, int]] = []
    hubs = [0]
    count = 1
    for number in range(ahead):
        here = {}
        for row in range(candidates + STREAMS * number):
            if number and row == candidates + STREAMS * (number - 1):
                hubs.append(count)
                count += 1
            here[row] = count
            count += 1
        node_of.append(here)
    sink = count
    arcs: list[tuple[int, int, int, int]] = [(0, node_of[0][row], -1, -1) for row in node_of[0]]
    for number, here in enumerate(node_of):
        new = candidates + STREAMS * (number - 1) if number else len(here)
        for row, node in here.items():
            if number + 1 < ahead:
                arcs.append((node, node_of[number + 1][row], row, number))
            else:
                arcs.append((node, sink, row, number))
            if number and row < new:
                arcs.append((node, hubs[number], -1, -1))
        arcs.extend((hubs[number], here[row], -1, -1) for row in range(new, len(here)))
    tails, heads, rows, numbers = np.array(arcs, dtype=np.int64).T
    ends = np.stack([tails, heads], axis=1).reshape(-1)
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(sink + 2))
    graph = Graph(
        starts.astype(np.int64),
        order.astype(np.int32),
        np.stack([heads, tails], axis=1).reshape(-1).astype(np.int32),
    )
    return Slices(graph=graph, candidates=candidates, arc_rows=rows, arc_slices=numbers)


def flow_expect(benefits: Floats, budget: int) -> tuple[Ints, float]:
    """Give the places of the candidates to keep, and the benefit that is expected.

    `benefits[x, j]` is what row x is expected to bring in the (j+1)-th tick from now: first the
    budget + 2 candidates, then two rows for each of the ticks to come but the last, one per stream.

    >>> keeps, value = flow_expect(np.array([[0.3], [0.5], [0.2]]), 1)
    >>> keeps.tolist(), value
    ([1], 0.5)
    """
    ahead = benefits.shape[1]
    plan = slices(budget, ahead)
    assert len(benefits) == plan.candidates + STREAMS * (ahead - 1)
    costs = np.zeros(2 * plan.arcs)
    earning = plan.arc_rows >= 0
    earned = benefits[plan.arc_rows[earning], plan.arc_slices[earning]]
    costs[::2][earning] = -earned
    costs[1::2][earning] = earned
    room = np.zeros(2 * plan.arcs, dtype=np.int64)
    room[::2] = 1
    total = flow_push(plan.graph, room, costs, budget)
    return np.flatnonzero(room[: 2 * plan.candidates : 2] == 0), -float(total)


@dataclass(slots=True, kw_only=True)
class FlowExpect(SteppedPolicy):
    """FlowExpect over two independent streams, looking `ahead` ticks."""

    name: ClassVar[str] = "FlowExpect"
    laws: tuple[Law, Law]
    ahead: int
    _lasts: Ints = field(default_factory=lambda: np.zeros(STREAMS, dtype=np.int64))
    _meetings: dict[object, Floats] = field(default_factory=dict)

    def see(self, streams: Ints, keys: Ints, now: int) -> None:
        """Note the streams' last keys."""
        self._lasts[streams] = keys

    def choose_victims(self, candidates: Candidates, count: int, now: int) -> Ints:
        """Name what the optimal flow leaves out."""
        total = len(candidates)
        budget = total - count
        assert count <= STREAMS
        benefits = np.zeros((budget + STREAMS + STREAMS * (self.ahead - 1), self.ahead))
        pasts = [History(now, int(last)) for last in self._lasts]
        for stream in range(STREAMS):
            partner, past = self.laws[1 - stream], pasts[1 - stream]
            places = np.flatnonzero(candidates.streams == stream)
            for j in range(self.ahead):
                benefits[places, j] = partner.masses(candidates.keys[places], j + 1, past)
        benefits[budget + STREAMS :] = self._to_come(now)
        keeps, _ = flow_expect(benefits, budget)
        # While the cache fills, rows that join nothing make up the number of candidates.
        return np.setdiff1d(np.arange(total), keeps)[:count]

    def _to_come(self, now: int) -> Floats:
        """Give the benefits of the rows to come, one line per tick and stream."""
        situation = self._situation(now)
        found = self._meetings.get(situation)
        if found is None:
            found = np.zeros((STREAMS * (self.ahead - 1), self.ahead))
            pasts = [History(now, int(last)) for last in self._lasts]
            for tick in range(1, self.ahead):
                for stream in range(STREAMS):
                    keys, masses = self.laws[stream].distribution(tick, pasts[stream])
                    partner, past = self.laws[1 - stream], pasts[1 - stream]
                    for j in range(tick, self.ahead):
                        met = partner.masses(keys, j + 1, past)
                        found[STREAMS * (tick - 1) + stream, j] = masses @ met
            self._meetings[situation] = found
        return found

    def _situation(self, now: int) -> object:
        """Give all that the benefits of rows to come depend on."""
        first, second = self.laws
        if isinstance(first, Stationary) and isinstance(second, Stationary):
            return None
        if isinstance(first, LinearTrend) and isinstance(second, LinearTrend):
            whole = float(first.slope).is_integer() and float(first.intercept).is_integer()
            if first.slope == second.slope and whole and float(second.intercept).is_integer():
                return None
        if isinstance(first, RandomWalk) and isinstance(second, RandomWalk):
            return int(self._lasts[0] - self._lasts[1])
        return (now, *self._lasts.tolist())


Outcome = tuple[float, int | None, int | None]
"""A tick as it may be: its probability, and the keys of both streams; None joins nothing."""
Row = tuple[int, int | None]
"""A row: its stream and its key."""


def expectimax(
    rows: Sequence[Row], ticks: Sequence[Sequence[Outcome]], budget: int
) -> dict[tuple[Row, ...], float]:
    """Give, for every choice of rows to keep now, the results expected under the best decisions.

    Decisions may depend on what comes; ticks are independent of each other. For small examples:
    the search tries everything.

    >>> keeps = expectimax([(0, 1), (1, 2)], [[(0.25, 2, None), (0.75, None, 1)]], 1)
    >>> keeps[(0, 1),], keeps[(1, 2),]
    (0.75, 0.25)
    """

    @cache
    def value(held: tuple[Row, ...], tick: int) -> float:
        if tick == len(ticks):
            return 0.0
        total = 0.0
        for chance, first, second in ticks[tick]:
            arrivals = ((0, first), (1, second))
            made = sum(
                stream != other and key is not None and key == met
                for stream, key in arrivals
                for other, met in held
            )
            best = max(value(keep, tick + 1) for keep in choices((*held, *arrivals)))
            total += chance * (made + best)
        return total

    def choices(from_rows: tuple[Row, ...]) -> set[tuple[Row, ...]]:
        useful = tuple(row for row in from_rows if row[1] is not None)
        return set(combinations(useful, min(budget, len(useful))))

    return {keep: value(keep, 0) for keep in choices(tuple(rows))}
