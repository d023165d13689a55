"""Makers of models: of what rows bring, or of what they show.

A *validator* makes a model of a row and holds the next ones against it. A *slider* lets a piece
grow row by row. A *gatherer* keeps rows and divides them into pieces.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from penstock.algebra.models import FitMethod, ModelSource
from penstock.kernels.segment_fits import CONE, pieces_close, pieces_slide
from penstock.kernels.segment_merges import kept_close, pieces_gather
from penstock.kernels.segment_regressions import Fitting
from penstock.kernels.segment_slots import END, OPEN, REFERENCE, USED
from penstock.kernels.segment_validation import ChangeArrays, Horizons, RowArrays, rows_validate
from penstock.models.fit_limits import DEGREE_FITTED_MAX, buffer_of, degrees_of, fit_limits
from penstock.models.kernel_rooms import allowances, fit_room, slack_search, turn_room
from penstock.models.source_state import SourceState
from penstock.models.tolerances import SourceTolerances
from penstock.vocabulary.batches import Floats, Ints

NONE_DUE: Ints = np.empty(0, np.int64)


class ModelMaker(ABC):
    """What makes models of rows, in the slots of a state."""

    changes_min = 1
    """How many changes there must be room for."""

    def __init__(
        self, source: ModelSource, width: int, kept: int, limits: Floats, extra: int = 0
    ) -> None:
        self._source = source
        self._width = width
        self._attributes = len(source.attributes)
        self._horizons = Horizons(source.horizon_us, source.horizon_us)
        self._degrees = degrees_of(source)
        self._limits = limits
        self._kept, self._extra = kept, extra
        self._fit_room = fit_room(kept, self._attributes, width)

    def state(self) -> SourceState:
        """Give a state without keys."""
        return SourceState(
            len(self._source.key), len(self._source.carried), self._attributes, self._width,
            self._kept, self._extra,
        )  # fmt: skip

    def _fitting(self, state: SourceState) -> Fitting:
        return Fitting(
            self._degrees, self._limits, state.kept_at, state.kept_values, state.extra,
            self._fit_room,
        )  # fmt: skip

    @abstractmethod
    def make(
        self, state: SourceState, rows: RowArrays, first: int, keys_max: int,
        changes: ChangeArrays, made: Ints,
    ) -> int:  # fmt: skip
        """Take rows from `first` on, write changes; give the row to go on with."""

    def due(self, state: SourceState, now_us: int) -> Ints:
        """Give the slots whose open pieces have ended at an event time, by their ends."""
        used = int(state.slots.meta[USED])
        words = state.slots.words[:used]
        found = np.flatnonzero((words[:, OPEN] > 0) & (words[:, END] <= now_us))
        return found[np.argsort(words[found, END], kind="stable")]

    @abstractmethod
    def close(
        self, state: SourceState, due: Ints, first: int, changes: ChangeArrays, made: Ints
    ) -> int:
        """Close the open pieces of slots from `first` on; give the place to go on with."""

    def frontier(self, state: SourceState, now_us: int) -> int:
        """Give the event time before which nothing changes any more."""
        words = state.slots.words[: int(state.slots.meta[USED])]
        begun = words[words[:, OPEN] > 0, REFERENCE]
        return min(now_us, int(begun.min(initial=now_us)))


class Validator(ModelMaker):
    """Makes a model of each row that is too far from the one before."""

    changes_min = 2

    def __init__(self, source: ModelSource, tolerances: SourceTolerances, fits: bool) -> None:
        coefficients = max((len(each.coefficients) for each in source.attributes), default=1)
        if fits:
            limits, kept = fit_limits(source, tolerances), buffer_of(source, "predict")
            super().__init__(source, DEGREE_FITTED_MAX + 1, kept, limits)
        else:
            super().__init__(source, coefficients, 0, np.zeros((len(source.attributes), 3)))
        least = source.horizon_min_us or source.horizon_us
        self._horizons = Horizons(least, source.horizon_us)
        self._allowances = allowances(tolerances, self._attributes)
        self._room = turn_room(self._width, self._attributes)
        self._search = slack_search(tolerances, self._attributes, self._width)

    def make(
        self, state: SourceState, rows: RowArrays, first: int, keys_max: int,
        changes: ChangeArrays, made: Ints,
    ) -> int:  # fmt: skip
        """Hold rows against the models of their keys."""
        return rows_validate(
            state.slots, rows, first, self._horizons, keys_max, self._allowances, self._room,
            self._search, self._fitting(state), changes, made,
        )  # fmt: skip

    def due(self, state: SourceState, now_us: int) -> Ints:
        """Give nothing: models end by themselves."""
        del state, now_us
        return NONE_DUE

    def close(
        self, state: SourceState, due: Ints, first: int, changes: ChangeArrays, made: Ints
    ) -> int:
        """Close nothing."""
        del state, first, changes
        made[0] = 0
        return len(due)


class Slider(ModelMaker):
    """Lets pieces grow row by row; without rows where they are of degree 1 at most."""

    def __init__(self, source: ModelSource, tolerances: SourceTolerances) -> None:
        self._cones = bool(degrees_of(source).max(initial=0) <= 1)
        kept = 0 if self._cones else buffer_of(source, "sliding")
        extra = CONE * len(source.attributes) if self._cones else 0
        limits = fit_limits(source, tolerances)
        super().__init__(source, DEGREE_FITTED_MAX + 1, kept, limits, extra)

    def make(
        self, state: SourceState, rows: RowArrays, first: int, keys_max: int,
        changes: ChangeArrays, made: Ints,
    ) -> int:  # fmt: skip
        """Let pieces grow by rows."""
        return pieces_slide(
            state.slots, rows, first, self._horizons, keys_max, self._fitting(state), self._cones,
            changes, made,
        )  # fmt: skip

    def close(
        self, state: SourceState, due: Ints, first: int, changes: ChangeArrays, made: Ints
    ) -> int:
        """Close open pieces."""
        taken = due[first : first + len(changes.sign)]
        fitting = self._fitting(state)
        pieces_close(state.slots, fitting, self._cones, taken, changes)
        made[0] = len(taken)
        return first + len(taken)


class Gatherer(ModelMaker):
    """Keeps rows, and divides them into pieces by merging neighbours."""

    def __init__(
        self, source: ModelSource, tolerances: SourceTolerances, method: FitMethod
    ) -> None:
        self._buffer = buffer_of(source, method)
        self._swab = method == "swab"
        kept = 2 * self._buffer if self._swab else self._buffer
        extra = CONE * len(source.attributes) + 2 if self._swab else 0
        limits = fit_limits(source, tolerances)
        super().__init__(source, DEGREE_FITTED_MAX + 1, kept, limits, extra)
        self.changes_min = kept + 1

    def make(
        self, state: SourceState, rows: RowArrays, first: int, keys_max: int,
        changes: ChangeArrays, made: Ints,
    ) -> int:  # fmt: skip
        """Keep rows."""
        return pieces_gather(
            state.slots, rows, first, self._horizons, keys_max, self._fitting(state), self._buffer,
            self._swab, changes, made,
        )  # fmt: skip

    def close(
        self, state: SourceState, due: Ints, first: int, changes: ChangeArrays, made: Ints
    ) -> int:
        """Divide what is kept into pieces."""
        return kept_close(state.slots, self._fitting(state), due, first, changes, made)


def maker_of(source: ModelSource, tolerances: SourceTolerances, *, predicts: bool) -> ModelMaker:
    """Give what makes the models of a source."""
    fit = source.attributes[0].fit if source.attributes else None
    if fit is None:
        return Validator(source, tolerances, fits=False)
    if predicts:
        return Validator(source, tolerances, fits=True)
    if fit.method == "sliding":
        return Slider(source, tolerances)
    return Gatherer(source, tolerances, fit.method)
