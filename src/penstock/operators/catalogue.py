"""Every kind of operator that the engine knows, by the kind of its step."""

from __future__ import annotations

from penstock.operators.filter import FILTER
from penstock.operators.join import BAND_JOIN, SELECT_JOIN, WINDOW_JOIN
from penstock.operators.keep import KEEP
from penstock.operators.protocol import OperatorKind

OPERATORS: dict[str, OperatorKind] = {
    "filter": FILTER,
    "keep": KEEP,
    "select_join": SELECT_JOIN,
    "band_join": BAND_JOIN,
    "window_join": WINDOW_JOIN,
}
