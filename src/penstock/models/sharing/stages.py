"""Shared stages: those that cover several queries, and those that give each its own again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.algebra.models import ModelCondition
from penstock.kernels.segment_stores import INSTANT
from penstock.models.conditions import ConditionSolver
from penstock.models.segments import Segments
from penstock.models.shapes import SegmentShape
from penstock.models.sharing.covering import ALWAYS
from penstock.models.stages import Stateless


class GateStage(Stateless):
    """Segments in which a condition holds for an instant, as they are.

    Who reads them asks what it would have asked without the gate, of the same segments, and is told
    the same to the last bit.
    """

    def __init__(self, condition: ModelCondition, shape: SegmentShape) -> None:
        super().__init__(shape)
        self._solver = ConditionSolver(condition, len(shape.degrees))
        self._always = condition == ALWAYS

    def push(self, segments: Segments) -> Segments:
        """Give the segments that pass."""
        return segments if self._always else self._solver.gate(segments)


@dataclass(frozen=True, slots=True)
class Pending:
    """A condition of one query that a covering stage has not asked, and whether a join followed."""

    condition: ModelCondition
    joined: bool = False


class CompensationStage(Stateless):
    """What one query has of the segments that covering stages gave: its own conditions in turn.

    What a join would have been given is forgotten where it is shorter than an instant, as the join
    would have.
    """

    def __init__(self, pending: Sequence[Pending], shape: SegmentShape) -> None:
        super().__init__(shape)
        self._asked = [
            (ConditionSolver(each.condition, len(shape.degrees)), each.joined)
            for each in pending
            if each.condition != ALWAYS
        ]

    def push(self, segments: Segments) -> Segments:
        """Give the parts of segments in which all conditions hold."""
        for solver, joined in self._asked:
            if not len(segments):
                break
            segments = solver.restrict(segments)
            if joined:
                long = segments.points | (segments.high - segments.low > INSTANT)
                segments = segments if long.all() else segments.take(long)
        return segments
