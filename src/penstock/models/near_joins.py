"""Near joins: pairs whose average distance over a window is asked to be small.

An average below a limit has an instant below it in its window. So of a pair that is not near, and
will not be within two windows, nothing has to be made: no roots, no pieces, no averages. Pairs that
come near have a *reach*, two windows before and behind that time (two, since a gap as long as a
window may be filled by what was before it); what lies in it is given, the past of it included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from penstock.algebra.models import (
    ModelComparison,
    ModelConjunction,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelStage,
    ModelWindow,
)
from penstock.kernels.near_pairs import (
    Meeting,
    Nearby,
    PairSpans,
    pairs_approach,
    pairs_follow,
    pairs_recall,
    reaches_grow,
    reaches_restrict,
)
from penstock.kernels.segment_stores import Came, pairs_build
from penstock.models.distances import axes_of
from penstock.models.joins import LEFT, PAIRS_MAX, SIDES, JoinStage, Side
from penstock.models.segments import Segments
from penstock.models.shapes import SegmentShape
from penstock.models.stores import Arrays, SegmentStore, came
from penstock.vocabulary.batches import Ints

WINDOWS = 2
"""How many windows a reach is wide, before and behind the time that a pair is near."""
MARGIN = 1 + 1e-9
"""What rounding may do to a distance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearness:
    """What makes a pair of a join count: attributes whose distance must fall below a limit."""

    axes: tuple[tuple[int, int], ...]
    """Attributes of pairs, the left one's and the right one's."""
    limit: float
    reach_us: int
    group: frozenset[int]
    """The key columns of pairs that averages are grouped by."""

    def fits(self, left: SegmentShape, right: SegmentShape) -> bool:
        """Say whether pairs are groups of their own, and move on straight lines."""
        degrees = (*left.degrees, *right.degrees)
        first = len(left.degrees)
        return (
            left.is_function
            and right.is_function
            and self.group == set(range(left.key + right.key))
            and all(one < first <= other for one, other in self.axes)
            and all(degrees[place] <= 1 for pair in self.axes for place in pair)
        )


def is_mean_distance(stage: ModelStage) -> bool:
    """Say whether a stage gives averages of distances: a limit on them may make pairs count."""
    if not isinstance(stage, ModelWindow) or stage.function != "avg" or stage.gap == "zero":
        return False
    mapped = stage.input
    if not isinstance(mapped, ModelMap) or not isinstance(mapped.input, ModelJoin):
        return False
    attribute = mapped.attributes[stage.attribute]
    return attribute.function == "sqrt" and bool(axes_of(attribute.polynomial))


def nearness(node: ModelFilter) -> Nearness | None:
    """Give what `HAVING avg(distance) < limit` says of pairs, if a filter says that."""
    window = node.input
    limits = list(_limits(node))
    if not limits or not is_mean_distance(window):
        return None
    assert isinstance(window, ModelWindow) and isinstance(window.input, ModelMap)
    mapped = window.input
    attribute = mapped.attributes[window.attribute]
    axes = axes_of(attribute.polynomial)
    return Nearness(
        axes=axes, limit=max(min(limits) + attribute.tolerance, 0.0) * MARGIN,
        reach_us=WINDOWS * window.size_us,
        group=frozenset(mapped.key[column] for column in window.group),
    )  # fmt: skip


def _limits(node: ModelFilter) -> Iterator[float]:
    """Give the numbers that a condition wants the attribute to be below."""
    condition = node.condition
    terms = condition.terms if isinstance(condition, ModelConjunction) else (condition,)
    for term in terms:
        if not isinstance(term, ModelComparison) or term.parameter is not None:
            continue
        powers = {each.powers: each.factor for each in term.polynomial.terms}
        constant = powers.pop((0,), 0.0)
        slope = powers.pop((1,), 0.0)
        if powers or not slope:
            continue
        if (slope > 0) == term.comparator.startswith("<") and term.comparator not in ("=", "<>"):
            yield -constant / slope


def _first(ranges: PairSpans, count: int) -> PairSpans:
    key, reference, low, high = ranges
    return PairSpans(key[:count], reference[:count], low[:count], high[:count])


class NearJoinStage(JoinStage):
    """A join that gives only what lies in the reaches of pairs that are near at some time.

    Reaches do not shrink while something can still change in them, so what is taken back was given.
    """

    def __init__(
        self, node: ModelJoin, left: SegmentShape, right: SegmentShape, near: Nearness
    ) -> None:
        super().__init__(node, left, right)
        first = len(left.degrees)
        self._near = Nearby(
            np.array([one for one, _ in near.axes], np.int64),
            np.array([other - first for _, other in near.axes], np.int64), near.limit,
        )  # fmt: skip
        self._reach_us = near.reach_us
        shapes = (left, right)
        self._pasts = tuple(
            SegmentStore(shape.key, len(shape.degrees), range(shape.key)) for shape in shapes
        )
        self._reaches = SegmentStore(self.shape.key, 0, range(self.shape.key))

    def push(self, side: Side, segments: Segments) -> Segments:
        """Take changes of one side; give the changes of pairs in their reaches."""
        arrived = came(segments)
        parts = [self._recalled(grown) for grown in self._grown(side, arrived)]
        parts += list(self._followed(side, arrived))
        self._stores[side].apply(segments)
        self._pasts[side].apply(segments)
        parts = [part for part in parts if len(part)]
        if not parts:
            return Segments.none(self.shape.key, len(self.shape.degrees))
        return self._restricted(Segments.joined(parts))

    def _meeting(self, side: Side) -> Meeting:
        own, other = self._stores[side], self._stores[1 - side]
        return Meeting(other.columns, own.columns, self._unequal[1 - side], self._unequal[side])

    def _grown(self, side: Side, arrived: Came) -> list[PairSpans]:
        """Widen the reaches of pairs that are near now; give by what."""
        other = self._stores[1 - side].stored
        state = np.array([0, -1], np.int64)
        found = []
        while state[0] < len(arrived.sign):
            asked = self._ranges(PAIRS_MAX)
            count = pairs_approach(
                other, arrived, side == LEFT, self._meeting(side), self._near,
                self._reach_us * 1e-6, state, asked,
            )  # fmt: skip
            self._reaches.reserve(count)
            done = np.zeros(1, np.int64)
            while done[0] < count:
                room = self._ranges(PAIRS_MAX)
                grown = reaches_grow(
                    self._reaches.stored, self._reaches.columns, asked, count, done, room
                )
                if grown:
                    found.append(_first(room, grown))
        return found

    def _recalled(self, grown: PairSpans) -> Segments:
        """Give the pairs that stand in the ranges by which reaches grew."""
        left, right = (past.stored for past in self._pasts)
        lefts, rights = (past.columns for past in self._pasts)
        of_left = Came(
            left.key, left.reference, left.low, left.high, left.models,
            np.ones(len(left.alive), np.int8), left.serial,
        )  # fmt: skip
        state = np.zeros(1, np.int64)
        parts = [Segments.none(self.shape.key, len(self.shape.degrees))]
        room = PAIRS_MAX
        while state[0] < len(grown.reference):
            before = int(state[0])
            rows, slots, places = (np.empty(room, np.int64) for _ in range(3))
            count = pairs_recall(
                left, lefts, right, rights, grown, len(grown.reference), state, rows, slots, places
            )
            made = self._room(count)
            pairs_build(right, of_left, True, rows, slots, count, made)
            pairs, places = Segments(*made), places[:count]
            later = (grown.reference[places] - pairs.reference) * 1e-6
            low = np.maximum(pairs.low, grown.low[places] + later)
            high = np.minimum(pairs.high, grown.high[places] + later)
            parts.append(replace(pairs, low=low, high=high).take((low < high) | pairs.points))
            if state[0] == before:
                room *= 4
        return Segments.joined(parts)

    def _followed(self, side: Side, arrived: Came) -> Iterator[Segments]:
        """Give the changes of pairs, as far as their reaches go."""
        other = self._stores[1 - side].stored
        state = np.array([0, -1], np.int64)
        rows, slots = np.empty(PAIRS_MAX, np.int64), np.empty(PAIRS_MAX, np.int64)
        while state[0] < len(arrived.sign):
            count = pairs_follow(
                other, arrived, side == LEFT, self._meeting(side), self._reaches.stored, state,
                rows, slots,
            )  # fmt: skip
            made = self._room(count)
            pairs_build(other, arrived, side == LEFT, rows, slots, count, made)
            yield from self._inside(Segments(*made))

    def _inside(self, pairs: Segments) -> Iterator[Segments]:
        state = np.zeros(1, np.int64)
        room = 2 * PAIRS_MAX
        while state[0] < len(pairs):
            first = int(state[0])
            index, low, high = np.empty(room, np.int64), np.empty(room), np.empty(room)
            count = reaches_restrict(
                self._reaches.stored, self._reaches.columns, came(pairs), first, index, low, high,
                state,
            )  # fmt: skip
            yield replace(pairs.take(index[:count]), low=low[:count], high=high[:count])
            if state[0] == first:
                room *= 4

    def _ranges(self, room: int) -> PairSpans:
        key: Ints = np.empty((room, self.shape.key), np.int64)
        return PairSpans(key, np.empty(room, np.int64), np.empty(room), np.empty(room))

    def advance(self, now_us: int) -> None:
        """Forget what no reach can touch that is made now or later."""
        super().advance(now_us)
        for store in (*self._pasts, self._reaches):
            store.evict(now_us - self.shape.late_us - self._window_us - self._reach_us)

    def arrays(self) -> Arrays:
        """Give the state of both sides, of their past and of reaches."""
        own = {
            f"{name}.{part}": array
            for name, store in self._more().items()
            for part, array in store.arrays().items()
        }
        return super().arrays() | own

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Take up a state."""
        super().restore(arrays)
        for name, store in self._more().items():
            own = f"{name}."
            store.restore({k.removeprefix(own): a for k, a in arrays.items() if k.startswith(own)})

    def _more(self) -> dict[str, SegmentStore]:
        pasts = {f"past {name}": past for name, past in zip(SIDES, self._pasts, strict=True)}
        return pasts | {"reaches": self._reaches}

    def __len__(self) -> int:
        return super().__len__() + sum(len(store) for store in self._more().values())
