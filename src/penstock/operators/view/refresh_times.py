"""Refresh times: how long readers waited, and why one waited longer than the bound."""

from __future__ import annotations

from collections import deque
from typing import Literal

MissCause = Literal["burst", "curve", "store"]
"""More came in one batch than the bound allows; the curves are wrong; the store was slow for once.
"""
KEPT = 1_000
"""Refreshes whose times are kept."""
SLOWER = 1.3
"""By this factor flushes take longer than their curves where these are called wrong."""
WEIGHT = 0.1
"""How much the newest flush counts in how much longer flushes take."""


class RefreshTimes:
    """What refreshes took lately, in nanoseconds, and how flushes compare with their curves.

    >>> times = RefreshTimes()
    >>> for taken in range(1, 201):
    ...     times.add(taken)
    >>> times.quantile(0.5), times.quantile(0.99), times.worst
    (100, 198, 200)
    >>> times.cause(expected_s=0.6, bound_s=0.5), times.cause(expected_s=0.1, bound_s=0.5)
    ('burst', 'store')
    >>> for _ in range(20):
    ...     times.compare(seconds=0.4, expected_s=0.2)
    >>> times.cause(expected_s=0.1, bound_s=0.5)
    'curve'
    """

    def __init__(self) -> None:
        self._taken: deque[int] = deque(maxlen=KEPT)
        self._slower = 1.0
        self.worst = 0

    def add(self, taken_ns: int) -> None:
        """Note a refresh."""
        self._taken.append(taken_ns)
        self.worst = max(self.worst, taken_ns)

    def compare(self, seconds: float, expected_s: float) -> None:
        """Note a flush, and what its curve said of it."""
        if expected_s > 0.0:
            self._slower += WEIGHT * (seconds / expected_s - self._slower)

    def quantile(self, share: float) -> int:
        """Give the time that this share of the last refreshes kept; 0 before the first."""
        if not self._taken:
            return 0
        ordered = sorted(self._taken)
        return ordered[max(-(-round(1_000 * share) * len(ordered) // 1_000) - 1, 0)]

    def cause(self, *, expected_s: float, bound_s: float) -> MissCause:
        """Say why a refresh took longer than the bound, of which the curves expected so much."""
        if expected_s > bound_s:
            return "burst"
        return "curve" if self._slower > SLOWER else "store"
