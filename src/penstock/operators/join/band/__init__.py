"""Band joins: standing ranges of the difference between two values.

Takes: ranges by slot, arriving values, the sorted values of the other side.
Gives: pairs of an arriving value and a query that it affects, each once.
Never: a difference that wraps, or that is rounded otherwise than SQL rounds it.
"""

from penstock.operators.join.band.core import STRATEGIES, BandCore
from penstock.operators.join.band.costs import DEFAULTS, BandConstants

__all__ = ["DEFAULTS", "STRATEGIES", "BandConstants", "BandCore"]
