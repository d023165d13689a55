"""Shared envelopes: the least or the greatest of what several queries have, each of its own.

Each query has an envelope of its own segments. The envelope of what all of them have is never
better than one of theirs, so a segment that is worse than it everywhere changes none of them, when
it is said as when it is taken back: that is asked once, for all. (Published is the envelope of what
any of them has; it is better than some of theirs, and would hide changes.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from penstock.algebra.models import ModelComparison, ModelEnvelope, Monomial, Polynomial
from penstock.kernels.segment_stores import Came, pairs_build, store_meet
from penstock.models.conditions import ConditionSolver
from penstock.models.instants import InstantStage
from penstock.models.joins import PAIRS_MAX
from penstock.models.segments import WIDTH, Segments
from penstock.models.shapes import SegmentShape
from penstock.models.sharing.unions import United, united
from penstock.models.stages import Stage
from penstock.models.stores import SegmentStore, came
from penstock.vocabulary.batches import Flags, Ints

NO_COLUMNS: Ints = np.empty(0, np.int64)
NEAR = 1e-9
"""Seconds that may be missing where pieces meet."""


class SharedEnvelope:
    """The envelopes of several consumers, by place."""

    def __init__(self, node: ModelEnvelope, consumers: int, given: SegmentShape) -> None:
        def stage() -> InstantStage:
            return InstantStage(node.function, node.attribute, node.group, given)

        self._powers = max(given.degrees, default=0) + 1
        self._none = Segments.none(given.key, len(given.degrees))
        self._attribute = node.attribute
        self._group = np.array(node.group, np.int64)
        self._common = stage()
        self._own = [stage() for _ in range(consumers)]
        self.shape = self._common.shape
        difference = Polynomial(
            terms=(Monomial(factor=-1.0, powers=(0, 1)), Monomial(factor=1.0, powers=(1, 0)))
        )
        is_min = node.function == "min"
        self._matters = ConditionSolver(
            ModelComparison(polynomial=difference, comparator="<=" if is_min else ">="), 2
        )
        self.asked = self.quiet = 0
        """How many segments were looked at, and how many of them change no envelope."""

    def push(self, given: dict[int, Segments]) -> dict[int, Segments]:
        """Take what consumers have, by place; give the changes of their envelopes."""
        parts = [given.get(place, self._none) for place in range(len(self._own))]
        found = united(parts, self._powers)
        hulls = found.hulls
        quiet = self._worse(hulls)
        self._common.push(_common(found, parts))
        quiet &= self._worse(hulls)
        self.asked += len(hulls)
        self.quiet += int(quiet.sum())
        made = {}
        for place, part in given.items():
            made[place] = self._own[place].push(part, quiet[found.members[place]])
        return made

    def stages(self) -> dict[str, Stage]:
        """Give the stages that keep state, by name."""
        own: dict[str, Stage] = {f"{place}": each for place, each in enumerate(self._own)}
        return {"common": self._common, **own}

    def _worse(self, segments: Segments) -> Flags:
        """Say which segments are worse than the common envelope wherever they hold."""
        store: SegmentStore = self._common.said
        model = segments.coefficients[:, self._attribute : self._attribute + 1]
        arrived = came(replace(segments, coefficients=np.ascontiguousarray(model)))
        state = np.array([0, -1], np.int64)
        rows, slots = np.empty(PAIRS_MAX, np.int64), np.empty(PAIRS_MAX, np.int64)
        left = segments.high - segments.low
        better = segments.points.copy()
        while state[0] < len(segments):
            count = store_meet(
                store.stored, store.columns, arrived, self._group, NO_COLUMNS, NO_COLUMNS, state,
                rows, slots,
            )  # fmt: skip
            if not count:
                continue
            pairs = _room(count, segments.key.shape[1] + store.stored.key.shape[1])
            pairs_build(store.stored, arrived, True, rows, slots, count, pairs)
            index, _, _ = self._matters.solve(pairs.models, pairs.low, pairs.high)
            better[rows[index]] = True
            np.subtract.at(left, rows[:count], pairs.high - pairs.low)
        found: Flags = ~better & (left <= NEAR)
        return found


def _common(found: United, parts: Sequence[Segments]) -> Segments:
    """Give what all consumers are told alike, and whatever one of them takes back."""
    hulls = found.hulls
    same = np.zeros(len(hulls), np.int64)
    for part, hull in zip(parts, found.members, strict=True):
        whole = (part.low == hulls.low[hull]) & (part.high == hulls.high[hull])
        np.add.at(same, hull[whole], 1)
    return hulls.take((hulls.sign < 0) | (same == len(parts)))


def _room(count: int, key: int) -> Came:
    return Came(
        np.empty((count, key), np.int64), np.empty(count, np.int64), np.empty(count),
        np.empty(count), np.empty((count, 2, WIDTH)), np.empty(count, np.int8),
        np.empty(count, np.int64),
    )  # fmt: skip
