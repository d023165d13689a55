"""Times: event times in microseconds that no row has."""

from __future__ import annotations

LOWEST_TIME = -(1 << 62)
"""The clock of a side that has seen no row."""
BEGUN = LOWEST_TIME // 2
"""A clock that has seen a row stands above."""
