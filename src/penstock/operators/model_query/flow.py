"""The flow of segments: rows of sources in one order, their segments through the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from penstock.algebra.models import ModelQueryStep
from penstock.expressions.allowances import EvaluationError
from penstock.models.inversion import step_inversion
from penstock.models.netting import netted
from penstock.models.plans import SegmentPlan
from penstock.models.segments import Segments
from penstock.models.sources import SegmentSource, SourceRows
from penstock.operators.model_query.source_readers import (
    SourceReader,
    codes_of,
    floats_of,
    models_of,
)
from penstock.operators.shared.codec import Arrays
from penstock.operators.shared.intake import Arrived
from penstock.vocabulary.errors import PenstockError


class SegmentRun(NamedTuple):
    """Segments of one source that go into the plan together."""

    source: int
    segments: Segments


class SegmentFlow:
    """All sources of a step, and its plan."""

    def __init__(self, step: ModelQueryStep) -> None:
        self.inversion = step_inversion(step)
        self.sources = [
            SegmentSource(source, own, predicts=step.predicts)
            for source, own in zip(step.sources, self.inversion.sources, strict=True)
        ]
        self.plan = SegmentPlan(step.plan)

    def changes(
        self, readers: Sequence[SourceReader], released: Sequence[Arrived], now: int
    ) -> list[SegmentRun]:
        """Give what released rows, and the passing of time, change in the sources' models.

        What several sources change goes through the plan one source after the other, whatever the
        order of their rows: so models that are made and replaced in between are short segments
        there, and meet only what they last as long as.
        """
        runs: list[SegmentRun] = []
        for reader, source, rows in zip(readers, self.sources, released, strict=True):
            parts = [source.process(_rows(reader, rows))] if rows.table.num_rows else []
            parts.append(source.advance(now))
            changed = Segments.joined(parts)
            if len(self.sources) > 1:
                changed = netted(changed)
            if len(changed):
                runs.append(SegmentRun(reader.number, changed))
        return runs

    def push(self, runs: Sequence[SegmentRun], now: int) -> Segments:
        """Let segments through the plan, then let time pass; give what the plan says.

        Raises
        ------
        EvaluationError
            If a part of the plan would hold too much, or a model has too many pieces: the group,
            and no other, is to be suspended.
        """
        try:
            found = [self.plan.push(run.source, run.segments) for run in runs]
            return Segments.joined([*found, self.plan.advance(self.frontier(now))])
        except EvaluationError:
            raise
        except PenstockError as error:
            raise EvaluationError(error.code, error.fact, error.remedy) from error

    def frontier(self, now: int) -> int:
        """Give the event time before which no source changes anything any more."""
        return min((source.frontier(now) for source in self.sources), default=now)

    def sizes(self) -> Mapping[str, int]:
        """Give how many segments the parts of the plan hold."""
        return self.plan.sizes()

    def arrays(self) -> list[Arrays]:
        """Give the whole state: that of every source, then that of the plan."""
        return [*(dict(own.arrays()) for own in self.sources), dict(self.plan.arrays())]

    def restore(self, states: Sequence[Arrays]) -> None:
        """Take what `arrays` gave."""
        *sources, plan = states
        for own, arrays in zip(self.sources, sources, strict=True):
            own.restore(arrays)
        self.plan.restore(plan)


def _rows(reader: SourceReader, rows: Arrived) -> SourceRows:
    shape, table = reader.shape, rows.table
    return SourceRows(
        codes_of(table, shape.key),
        np.ascontiguousarray(rows.times[rows.kept]),
        floats_of(table, shape.observed),
        models_of(table, shape.coefficients),
        codes_of(table, shape.carried),
    )
