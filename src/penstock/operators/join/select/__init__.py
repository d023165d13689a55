"""Select-joins: equality of join keys and a range on either side, by the hundred thousand.

Takes: rectangles by slot, batches of arriving tuples, the runs of the probed side.
Gives: pairs (tuple, query) of affected queries, the same for every strategy; operation counts.
Never: rows, deltas or results: those are the operator's.
"""

from penstock.operators.join.select.core import SelectCore
from penstock.operators.join.select.strategy import Rectangles, Strategy

__all__ = ["Rectangles", "SelectCore", "Strategy"]
