"""Window joins: equal keys, a range on each side, event times that are near.

Takes: queries by slot, arriving tuples, the timed rows of the other side.
Gives: pairs of a tuple and a query that it affects, each once; rows in a range and a window.
Never: an assumption that time ascends; it is fast when it does, and right when it does not.
"""

from penstock.operators.join.window.core import STRATEGIES, WindowCore
from penstock.operators.join.window.rows import TimedRows

__all__ = ["STRATEGIES", "TimedRows", "WindowCore"]
