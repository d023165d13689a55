"""Standing filters: equalities, ranges and residuals, a million at a time.

Takes: a FilterStep, rows of parameters, batches of events.
Gives: entries, (event, query) pairs, facts for EXPLAIN.
Never: data state, order among pairs, a cost that grows with the queries an event does not meet.
"""

from __future__ import annotations

from operator import attrgetter

from penstock.algebra.physical import FilterStep
from penstock.operators.filter.entries import register
from penstock.operators.filter.explanation import explain
from penstock.operators.filter.figures import FIGURES
from penstock.operators.filter.operator import FilterOperator
from penstock.operators.filter.snapshots import TellingFilter
from penstock.operators.filter.warm_up import warm_up
from penstock.operators.protocol import WHOLE, OperatorKind, Share

__all__ = ["FILTER", "FilterOperator", "build", "register", "warm_up"]


def build(step: FilterStep, snapshot: bytes | None, _share: Share = WHOLE) -> FilterOperator:
    """Make an operator; filters have no data state to restore, and hold all queries everywhere."""
    assert snapshot is None
    return TellingFilter(step) if step.kept else FilterOperator(step)


FILTER = OperatorKind(
    figures=FIGURES,
    step_from_json=FilterStep.from_json,
    register=register,
    build=build,
    explain=explain,
    warm_up=warm_up,
    sees_broken=attrgetter("sees_broken"),
    begins_full=attrgetter("snapshot"),
)
