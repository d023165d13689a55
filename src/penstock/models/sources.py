"""Sources of segments: rows become models, key by key, while they stay near them nothing happens.

An answer depends on the rows and on the query's text: how rows are cut into calls changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt

from penstock.algebra.models import ModelSource
from penstock.kernels.segment_slots import (
    BEGINNINGS,
    CHANGES,
    EVICTED,
    EXPIRIES,
    HELD,
    HOMELESS,
    LATE,
    NEXT_SERIAL,
    SEEN,
    SLACKS,
    UNUSABLE,
    VALIDATED,
    VIOLATIONS,
)
from penstock.kernels.segment_validation import ChangeArrays, RowArrays
from penstock.models.model_makers import ModelMaker, maker_of
from penstock.models.segments import WIDTH, Segments
from penstock.models.source_state import Arrays
from penstock.models.tolerances import SourceTolerances
from penstock.vocabulary.batches import Flags, Floats, Ints

__all__ = ["Arrays", "SegmentSource", "SourceRows", "SourceTolerances"]

KEYS_MAX = 1 << 20
"""How many keys a source knows at a time."""
CHANGES_MIN, CHANGES_MAX = 256, 1 << 15
COUNTERS = {
    "rows": SEEN, "validated": VALIDATED, "violations": VIOLATIONS, "expiries": EXPIRIES,
    "beginnings": BEGINNINGS, "carried_changes": CHANGES, "segments": NEXT_SERIAL,
    "slack_segments": SLACKS, "rows_unusable": UNUSABLE, "rows_late": LATE,
    "rows_without_room": HOMELESS, "keys_evicted": EVICTED, "keys": HELD,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceRows:
    """Rows of one source, in event-time order.

    A value that is NULL is NaN.
    """

    key: Ints
    """(n, key columns): a code for every value."""
    at: Ints
    """Event times in microseconds."""
    observed: Floats
    """(n, attributes)."""
    coefficients: Floats
    """(n, attributes, WIDTH) of symbolic models, (n, 0, WIDTH) of fitted ones."""
    carried: Ints
    """(n, carried columns): codes."""

    def __len__(self) -> int:
        return len(self.at)

    def take(self, places: npt.NDArray[np.integer] | Flags | slice) -> Self:
        """Give some of them."""
        return type(self)(*(getattr(self, each.name)[places] for each in fields(self)))


class SegmentSource:
    """Makes segments of the rows of one source.

    Rows are skipped, and counted, that have a value or a coefficient which is no finite number when
    a model is to be made of them, that are older than their key's newest, or whose key has no room:
    `keys_max` keys are known at a time. When that many are and another comes, all keys go whose
    models have ended before its row; from then on unknown keys with older rows are late, too.

    Fitted models are pieces, told when they end; `predicts`: they are fitted to the newest rows and
    hold for the horizon, as those do whose coefficients rows bring. A piece ends with the first row
    that is too far from it, or that comes `horizon_us` or more behind its first row.

    >>> from penstock.algebra.models import ModelledAttribute
    >>> x = ModelledAttribute(name="x", observed="x", coefficients=("c0", "c1"))
    >>> source = ModelSource(relation="A", event_time="t", attributes=(x,), horizon_us=10_000_000)
    >>> made = SegmentSource(source, SourceTolerances.absolute(0.5))
    >>> models = np.zeros((3, 1, WIDTH))
    >>> models[:, 0, :2] = [[3.0, 2.0], [5.4, 2.0], [9.0, 1.0]]
    >>> none = np.empty((3, 0), np.int64)
    >>> rows = SourceRows(none, np.array([0, 1_000_000, 2_000_000]), models[:, :, 0], models, none)
    >>> found = made.process(rows)
    >>> found.sign.tolist(), found.low.tolist(), found.high.tolist(), made.counts["validated"]
    ([1, -1, 1], [0.0, 2.0, 0.0], [10.0, 10.0, 10.0], 1)
    """

    def __init__(
        self,
        source: ModelSource,
        tolerances: SourceTolerances,
        *,
        predicts: bool = False,
        keys_max: int = KEYS_MAX,
    ) -> None:
        self.source = source
        self.tolerances = tolerances
        self._keys_max = keys_max
        self._columns = len(source.made_key), len(source.attributes)
        self._maker: ModelMaker = maker_of(source, tolerances, predicts=predicts)
        self._state = self._maker.state()

    @property
    def counts(self) -> dict[str, int]:
        """What has been counted since the beginning."""
        return {name: int(self._state.slots.meta[place]) for name, place in COUNTERS.items()}

    def process(self, rows: SourceRows) -> Segments:
        """Give what rows change: what is taken back, what holds from now on, row by row."""
        # What is Arrow's memory cannot be written: a kernel of its own for it takes half a minute.
        arrays = RowArrays(
            *(np.require(getattr(rows, each.name), None, ["C", "W"]) for each in fields(rows))
        )
        parts = [Segments.none(*self._columns)]
        made = np.zeros(1, np.int64)
        done, room = 0, max(CHANGES_MIN, self._maker.changes_min)
        while done < len(rows):
            changes = change_arrays(room, *self._columns)
            done = self._maker.make(self._state, arrays, done, self._keys_max, changes, made)
            parts.append(_made(changes, int(made[0])))
            if done < len(rows) and made[0] + self._maker.changes_min <= room:
                self._state.double(self._keys_max)
            room = max(min(4 * room, CHANGES_MAX), self._maker.changes_min)
        return Segments.joined(parts)

    def advance(self, now_us: int) -> Segments:
        """Give the pieces that no row from an event time on can belong to.

        Models that predict end by themselves: of them, nothing.
        """
        due = self._maker.due(self._state, now_us)
        parts = [Segments.none(*self._columns)]
        made = np.zeros(1, np.int64)
        done = 0
        while done < len(due):
            changes = change_arrays(max(CHANGES_MAX, self._maker.changes_min), *self._columns)
            done = self._maker.close(self._state, due, done, changes, made)
            parts.append(_made(changes, int(made[0])))
        return Segments.joined(parts)

    def frontier(self, now_us: int) -> int:
        """Give the event time before which nothing changes any more, if rows are not older."""
        return self._maker.frontier(self._state, now_us)

    def arrays(self) -> Arrays:
        """Give the whole state."""
        return self._state.arrays()

    def restore(self, arrays: Arrays) -> None:
        """Put a whole state in the place of what there is."""
        self._state.restore(arrays)

    def fresh(self) -> Arrays:
        """Give what has changed since this was last asked, or since the state was restored."""
        return self._state.fresh()

    def merge(self, arrays: Arrays) -> None:
        """Put changes that `fresh` gave into the state that they were made of."""
        self._state.merge(arrays)


def change_arrays(room: int, key: int, attributes: int) -> ChangeArrays:
    """Make room for changes."""
    return ChangeArrays(
        np.empty((room, key), np.int64), np.empty(room, np.int64), np.empty(room), np.empty(room),
        np.empty((room, attributes, WIDTH)), np.empty(room, np.int8), np.empty(room, np.int64),
    )  # fmt: skip


def _made(changes: ChangeArrays, count: int) -> Segments:
    """Give the changes that were written."""
    return Segments(**{name: array[:count] for name, array in changes._asdict().items()})
