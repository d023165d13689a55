"""Plans: stages put together, from the sources up to the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.algebra.models import (
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelSource,
    ModelStage,
    ModelWindow,
)
from penstock.models.instants import InstantStage
from penstock.models.joins import LEFT, RIGHT, JoinStage, Side
from penstock.models.maps import MapStage
from penstock.models.near_joins import NearJoinStage, Nearness, nearness
from penstock.models.segments import Segments
from penstock.models.shapes import SegmentShape, source_shape
from penstock.models.stages import FilterStage, Stage
from penstock.models.stores import Arrays
from penstock.models.windows import WindowStage


@dataclass(frozen=True, slots=True)
class Hop:
    """A stage on the way from a source to the answer, and the side on which a join is entered."""

    stage: Stage | JoinStage
    side: Side


class SegmentPlan:
    """A plan that takes changes of its sources' segments and gives those of its answer.

    A plan is a tree: what comes from a source passes one way of stages. The answer does not depend
    on how the changes are divided into pushes.
    """

    def __init__(self, plan: ModelStage) -> None:
        self._stages: dict[str, Stage | JoinStage] = {}
        self._ways: list[list[Hop]] = []
        found: list[ModelSource] = []
        self.shape = self._build(plan, found)
        self.sources: tuple[ModelSource, ...] = tuple(found)
        self.passed_first = 0
        """What passed the filters that come before everything else, in the last push."""

    @property
    def meets_near(self) -> bool:
        """Whether a join of the plan looks only at pairs that come near each other."""
        return any(isinstance(stage, NearJoinStage) for stage in self._stages.values())

    def push(self, source: int, segments: Segments) -> Segments:
        """Take changes of one source's segments; give the changes of the answer, in order."""
        self.passed_first = 0
        filters = True
        for hop in self._ways[source]:
            if not len(segments):
                break
            if isinstance(hop.stage, JoinStage):
                segments = hop.stage.push(hop.side, segments)
            else:
                segments = hop.stage.push(segments)
            filters &= isinstance(hop.stage, FilterStage)
            self.passed_first = len(segments) if filters else self.passed_first
        return segments if len(segments) else self._nothing()

    def advance(self, now_us: int) -> Segments:
        """Forget what no segment can touch that begins at or after an event time.

        Answers come with segments alone, so there are none; what ended is neither confirmed nor
        taken back.
        """
        for stage in self._stages.values():
            stage.advance(now_us)
        return self._nothing()

    def arrays(self) -> Arrays:
        """Give the state of all stages."""
        return {
            f"{name}.{part}": array
            for name, stage in self._stages.items()
            for part, array in stage.arrays().items()
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Take up a state."""
        for name, stage in self._stages.items():
            own = f"{name}."
            stage.restore({k.removeprefix(own): a for k, a in arrays.items() if k.startswith(own)})

    def sizes(self) -> dict[str, int]:
        """Say how many segments every stage holds."""
        return {name: len(stage) for name, stage in self._stages.items()}

    def _nothing(self) -> Segments:
        return Segments.none(self.shape.key, len(self.shape.degrees))

    def _build(
        self, node: ModelStage, found: list[ModelSource], near: Nearness | None = None
    ) -> SegmentShape:
        """Make the stages of a tree, inputs first; give the shape of its output.

        `near` is what a filter further up asks of pairs, if it asks for those that are near.
        """
        first = len(found)
        if isinstance(node, ModelSource):
            found.append(node)
            self._ways.append([])
            return source_shape(node)
        if isinstance(node, ModelJoin):
            left = self._build(node.left, found)
            middle = len(found)
            right = self._build(node.right, found)
            join = JoinStage(node, left, right)
            if near is not None and near.fits(left, right):
                join = NearJoinStage(node, left, right, near)
            self._keep(node.kind, join)
            for number in range(first, len(found)):
                side: Side = LEFT if number < middle else RIGHT
                self._ways[number].append(Hop(join, side))
            return join.shape
        if isinstance(node, ModelFilter):
            near = nearness(node)
        shape = self._build(node.input, found, near)
        for stage in single_stages(node, shape):
            self._keep(node.kind, stage)
            for number in range(first, len(found)):
                self._ways[number].append(Hop(stage, LEFT))
            shape = stage.shape
        return shape

    def _keep(self, kind: str, stage: Stage | JoinStage) -> None:
        self._stages[f"{kind}{len(self._stages)}"] = stage


def single_stages(
    node: ModelFilter | ModelMap | ModelEnvelope | ModelWindow, shape: SegmentShape
) -> list[Stage]:
    """Make what a node with one input stands for."""
    if isinstance(node, ModelFilter):
        return [FilterStage(node, shape)]
    if isinstance(node, ModelMap):
        return [MapStage(node, shape)]
    if isinstance(node, ModelEnvelope):
        return [InstantStage(node.function, node.attribute, node.group, shape)]
    covered = {shape.same.get(column, column) for column in node.group}
    own = {shape.same.get(column, column) for column in range(shape.key)}
    if shape.is_function and covered == own:
        return [WindowStage(node, node.attribute, node.group, shape)]
    # Of several keys, first what they are together at every instant.
    instant = InstantStage(node.function, node.attribute, node.group, shape)
    group = tuple(range(len(node.group)))
    return [instant, WindowStage(node, 0, group, instant.shape)]
