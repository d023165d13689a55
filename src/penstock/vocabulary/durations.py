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


Duration = str | timedelta | int | float
"""How a duration is given, everywhere: a text with a unit, a timedelta, or a number of seconds."""


def microseconds(duration: Duration) -> int:
    """Give a duration in microseconds.

    >>> microseconds("10 seconds"), microseconds("1.5 hours"), microseconds(2), microseconds(0.25)
    (10000000, 5400000000, 2000000, 250000)
    """
    found: float | None = None
    if isinstance(duration, timedelta):
        found = duration // timedelta(microseconds=1)
    elif isinstance(duration, int | float) and not isinstance(duration, bool):
        found = duration * UNITS_US["second"]
    elif isinstance(duration, str) and (written := _WRITTEN.fullmatch(duration)):
        number, unit = written.groups()
        if unit.lower() in UNITS_US:
            found = float(number) * UNITS_US[unit.lower()]
    if found is None or not 0 <= found < _LONGEST_US:  # nor NaN
        raise PenstockError(
            "CAT-006",
            f"{duration!r} is not a duration.",
            "Write a number and a unit, as in '10 seconds', or give a timedelta or a number of "
            f"seconds; units are {', '.join(UNITS_US)}.",
        )
    return round(found)


def seconds(duration: Duration) -> float:
    """Give a duration in seconds.

    >>> seconds("1.5 minutes"), seconds(timedelta(milliseconds=5)), seconds(3)
    (90.0, 0.005, 3.0)
    """
    return microseconds(duration) / UNITS_US["second"]
