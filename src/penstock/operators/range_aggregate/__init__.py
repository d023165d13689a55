"""Range aggregates: what an update of a table tells all subscriptions to aggregates over ranges.

A subscription is (partition, x1, x2): it asks for the least, the greatest, the number, the sum or
the distinct values of `y` over the tuples of its partition with x1 <= x <= x2. Everything is a
code: an int64 in the order of the value that it stands for; every int64 is a code like any other.
What is absent has a flag.

Takes: a RangeAggregateStep, rows of parameters, batches of rows that come and go.
Gives: old and new values of queries; or messages, which are rectangles of subscriptions with a new
value; facts for EXPLAIN.
Never: subscriptions where extremes are kept: what is told depends on tuples alone.

A batch tells each subscription at most once, and only if its answer differs between the states
before and after it. `Extremes.net` makes all insertions of the batch, smallest value first, then
all deletions, largest value first. A subscription whose minimum an insertion lowers is told by the
first that does, which is the lowest; the tuple stays, and lies below everything that is deleted. A
subscription whose minimum a deletion raises is told by the last deletion of that minimum; all later
ones take away what is not greater, of which its range has nothing left. So the rectangles of a
batch are disjoint, and to expand them is to ask an index of points for each.
"""

from __future__ import annotations

from penstock.algebra.range_aggregates import RangeAggregateStep
from penstock.operators.protocol import OperatorKind
from penstock.operators.range_aggregate.entries import register
from penstock.operators.range_aggregate.explanation import explain
from penstock.operators.range_aggregate.figures import FIGURES
from penstock.operators.range_aggregate.operator import RangeAggregateOperator
from penstock.operators.range_aggregate.warm_up import warm_up

__all__ = ["RANGE_AGGREGATE", "RangeAggregateOperator"]

RANGE_AGGREGATE = OperatorKind(
    figures=FIGURES,
    step_from_json=RangeAggregateStep.from_json,
    register=register,
    build=RangeAggregateOperator,
    explain=explain,
    warm_up=warm_up,
    begins_full=lambda _step: True,
    tells_apart=True,
)
