"""Shared plans: all queries of a workload run as one plan, each told what is its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from penstock.algebra.models import ModelSource, ModelStage
from penstock.algebra.sharing import SharingPlan
from penstock.models.joins import RIGHT, JoinStage
from penstock.models.plans import SegmentPlan
from penstock.models.segments import Segments
from penstock.models.sharing.building import SOURCE, PlanBuilder
from penstock.models.sharing.nodes import Given, UnionWork
from penstock.models.sharing.workloads import SharedWorkload
from penstock.models.stages import Stage
from penstock.models.stores import Arrays


class SharedPlan:
    """The queries of a workload, run as a plan of sharing says.

    The inputs are the source of the trunk, then the sources of what joins have on their right, each
    right side once. Every query is told what it would be told alone.
    """

    def __init__(self, workload: SharedWorkload, plan: SharingPlan) -> None:
        built = PlanBuilder(workload, plan).build()
        self._nodes = built.nodes
        self._first = built.first
        self._told = built.told
        self._sides: list[tuple[ModelStage, SegmentPlan]] = [
            (side, SegmentPlan(side)) for side in built.sides
        ]
        self._readers = built.readers
        self.inputs: tuple[ModelSource, ...] = (
            workload.source,
            *(source for _, side in self._sides for source in side.sources),
        )

    def inputs_of(self, side: ModelStage) -> tuple[int, ...]:
        """Give the inputs of what joins have on their right."""
        first = 1
        for own, plan in self._sides:
            if own == side:
                return tuple(range(first, first + len(plan.sources)))
            first += len(plan.sources)
        raise KeyError(side)

    def push(self, number: int, segments: Segments) -> dict[int, Segments]:
        """Take changes of one input; give the changes of answers by query, where there are any."""
        if not len(segments):
            return {}
        box: dict[int, Given] = {}
        if number == 0:
            for reader, port in self._first:
                box.setdefault(reader, {})[port] = segments
            told = {query: segments for query, own in self._told.items() if own == (SOURCE, 0)}
        else:
            told = {}
            number -= 1
            for side, plan in self._sides:
                if number < len(plan.sources):
                    made = plan.push(number, segments)
                    for reader in self._readers[side] if len(made) else ():
                        box[reader] = {RIGHT: made}
                    break
                number -= len(plan.sources)
        made_by: dict[tuple[int, int], Segments] = {}
        for place, node in enumerate(self._nodes):
            given = box.pop(place, None)
            if given is None:
                continue
            for out, made in node.run(given).items():
                made_by[place, out] = made
                for port, target, into in node.targets:
                    if port == out:
                        box.setdefault(target, {})[into] = made
        told |= {query: made_by[own] for query, own in self._told.items() if own in made_by}
        return told

    def advance(self, now_us: int) -> None:
        """Forget what no segment can touch that begins at or after an event time."""
        for _, plan in self._sides:
            plan.advance(now_us)
        for _, stage in self._stages():
            stage.advance(now_us)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Give how many segments every node took and gave."""
        return {node.name: (node.taken, node.given) for node in self._nodes}

    def distinct(self) -> dict[str, tuple[int, int]]:
        """Give how many segments every union took, and how many different ones they were."""
        return {
            node.name: (node.taken, node.work.distinct)
            for node in self._nodes
            if isinstance(node.work, UnionWork)
        }

    def arrays(self) -> Arrays:
        """Give the state of all stages and sides."""
        found = {
            f"side{number}.{part}": array
            for number, (_, plan) in enumerate(self._sides)
            for part, array in plan.arrays().items()
        }
        for name, stage in self._stages():
            found |= {f"{name}.{part}": array for part, array in stage.arrays().items()}
        return found

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Take up a state of the same plan."""
        for number, (_, plan) in enumerate(self._sides):
            plan.restore(_under(f"side{number}.", arrays))
        for name, stage in self._stages():
            stage.restore(_under(f"{name}.", arrays))

    def _stages(self) -> Iterator[tuple[str, Stage | JoinStage]]:
        """Give all stages that keep state, by name."""
        for node in self._nodes:
            for name, stage in node.work.stages().items():
                yield f"{node.name}/{name}", stage


def _under(
    name: str, arrays: Mapping[str, npt.NDArray[np.generic]]
) -> dict[str, npt.NDArray[np.generic]]:
    return {key.removeprefix(name): each for key, each in arrays.items() if key.startswith(name)}
