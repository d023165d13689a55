"""The flow of segments through the plan of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.algebra.models import ModelQueryStep
from penstock.expressions.allowances import EvaluationError
from penstock.models.plans import SegmentPlan
from penstock.models.segments import Segments
from penstock.models.streams import first_condition
from penstock.operators.model_query.state import SegmentRun
from penstock.operators.shared.codec import Arrays
from penstock.vocabulary.errors import PenstockError


class SegmentFlow:
    """The plan of a step, and what it holds."""

    def __init__(self, step: ModelQueryStep) -> None:
        self._plan = SegmentPlan(step.plan)
        self._asks_first = first_condition(step) is not None
        self.passed_first = 0
        """Parts of segments in which the first condition held, in the last push; 0: none asks."""

    def push(self, runs: Sequence[SegmentRun], frontier: int) -> Segments:
        """Let segments through the plan, then let time pass; give what the plan says.

        `frontier` is the event time before which no source changes anything any more.

        Raises
        ------
        EvaluationError
            If a part of the plan would hold too much, or a model has too many pieces: the group,
            and no other, is to be suspended.
        """
        try:
            found = [self._plan.push(run.source, run.segments) for run in runs]
            self.passed_first = self._plan.passed_first if self._asks_first and runs else 0
            nothing = self._plan.advance(frontier)
            return found[0] if len(found) == 1 else Segments.joined([nothing, *found])
        except EvaluationError:
            raise
        except PenstockError as error:
            raise EvaluationError(error.code, error.fact, error.remedy) from error

    def sizes(self) -> Mapping[str, int]:
        """Give how many segments the parts of the plan hold."""
        return self._plan.sizes()

    def arrays(self) -> Arrays:
        """Give what the plan holds."""
        return dict(self._plan.arrays())

    def restore(self, arrays: Arrays) -> None:
        """Take what `arrays` gave."""
        self._plan.restore(arrays)
