"""Durations as people write them, in microseconds."""

from __future__ import annotations

import re
from datetime import timedelta

from penstock.vocabulary.errors import PenstockError

UNITS_US = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*", re.IGNORECASE)
_LONGEST_US = 1 << 62


def microseconds(duration: str | timedelta | int) -> int:
    """Give a duration in microseconds: a text, a timedelta, or microseconds already.

    >>> microseconds("10 seconds"), microseconds("1.5 hours"), microseconds(250)
    (10000000, 5400000000, 250)
    """
    found: int | None = None
    if isinstance(duration, timedelta):
        found = duration // timedelta(microseconds=1)
    elif isinstance(duration, int) and not isinstance(duration, bool):
        found = duration
    elif isinstance(duration, str) and (written := _WRITTEN.fullmatch(duration)):
        number, unit = written.groups()
        if unit.lower() in UNITS_US:
            found = round(float(number) * UNITS_US[unit.lower()])
    if found is None or not 0 <= found < _LONGEST_US:
        raise PenstockError(
            "CAT-006",
            f"{duration!r} is not a duration.",
            f"Write a number and a unit, as in '10 seconds'; units are {', '.join(UNITS_US)}.",
        )
    return found
