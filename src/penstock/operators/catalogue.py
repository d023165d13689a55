"""Every kind of operator that the engine knows, by the kind of its step."""

from __future__ import annotations

from penstock.operators.bounded_join import BOUNDED_JOIN
from penstock.operators.clock import CLOCK
from penstock.operators.filter import FILTER
from penstock.operators.join import JOIN
from penstock.operators.keep import KEEP
from penstock.operators.lookup import LOOKUP_JOIN
from penstock.operators.multi_join import MULTI_JOIN
from penstock.operators.protocol import OperatorKind

OPERATORS: dict[str, OperatorKind] = {
    "filter": FILTER,
    "keep": KEEP,
    "clock": CLOCK,
    "select_join": JOIN,
    "band_join": JOIN,
    "window_join": JOIN,
    "multi_join": MULTI_JOIN,
    "bounded_join": BOUNDED_JOIN,
    "lookup_join": LOOKUP_JOIN,
}
