"""Stages: what segments pass through, one node of a plan each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from penstock.algebra.models import ModelConjunction, ModelFilter
from penstock.models.conditions import ConditionSolver
from penstock.models.segments import Segments
from penstock.models.shapes import SegmentShape
from penstock.models.stores import Arrays


class Stage(Protocol):
    """A stage with one input."""

    shape: SegmentShape
    """The shape of what it gives."""

    def push(self, segments: Segments) -> Segments:
        """Take changes of the input; give those of the output."""

    def advance(self, now_us: int) -> None:
        """Forget what no change of the input can touch that begins at or after an event time."""

    def arrays(self) -> Arrays:
        """Give the state."""

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Take up a state."""

    def __len__(self) -> int:
        """Count the segments that it holds."""


class Stateless:
    """A stage that keeps nothing."""

    def __init__(self, shape: SegmentShape) -> None:
        self.shape = shape

    def advance(self, now_us: int) -> None:
        """Do nothing: there is nothing to forget."""

    def arrays(self) -> Arrays:
        """Give the state: none."""
        return {}

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Take up a state: none."""

    def __len__(self) -> int:
        return 0


class FilterStage(Stateless):
    """Segments, restricted to when a condition holds."""

    def __init__(self, node: ModelFilter, shape: SegmentShape) -> None:
        super().__init__(shape)
        self._solver = ConditionSolver(node.condition, len(shape.degrees))
        self._always = node.condition == ModelConjunction(terms=())

    def push(self, segments: Segments) -> Segments:
        """Give the parts of segments in which the condition holds."""
        return segments if self._always else self._solver.restrict(segments)
