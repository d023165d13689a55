"""Amounts as people write them: bytes, rates, lengths of time."""

from __future__ import annotations

import math
import re

BYTES = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
SECONDS = {
    "us": 1e-6,
    "microsecond": 1e-6,
    "ms": 1e-3,
    "millisecond": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "min": 60.0,
    "minute": 60.0,
    "h": 3_600.0,
    "hour": 3_600.0,
    "d": 86_400.0,
    "day": 86_400.0,
}
_WRITTEN = re.compile(r"\s*([+-]?\d+(?:_\d+)*(?:\.\d*)?(?:e[+-]?\d+)?)\s*(/?)\s*([a-zµ]*)\s*", re.I)


def number_of(value: object) -> float | None:
    """Give a finite number that is one, or a text of one; None for everything else.

    >>> number_of(4), number_of("0.5"), number_of(True), number_of("4 s")
    (4, 0.5, None, None)
    """
    found = _parts(value)
    return found[0] if found is not None and not found[1] and not found[2] else None


def bytes_of(value: object) -> int | None:
    """Give the bytes of a text such as `1 GB`; None if it is none.

    >>> bytes_of("1.5 MB"), bytes_of("2 GiB"), bytes_of("1"), bytes_of("1 parsec")
    (1500000, 2147483648, None, None)
    """
    found = _parts(value)
    if found is None or found[1] or found[2] not in BYTES:
        return None
    return round(found[0] * BYTES[found[2]])


def rate_of(value: object) -> float | None:
    """Give rows per second, of a number or a text such as `30/min`; None if it is none.

    >>> rate_of("30/min"), rate_of(500), rate_of("2/ms"), rate_of("5 s")
    (0.5, 500, 2000.0, None)
    """
    found = _parts(value)
    if found is None or bool(found[1]) != bool(found[2]):
        return None
    if not found[1]:
        return found[0]
    seconds = _seconds(found[2])
    return None if seconds is None else found[0] / seconds


def seconds_of(value: object) -> float | None:
    """Give the seconds of a text such as `0.5 ms` or `5 SECONDS`; None if it is none.

    >>> seconds_of("0.5 ms"), seconds_of("2 MINUTES"), seconds_of("5")
    (0.0005, 120.0, None)
    """
    found = _parts(value)
    if found is None or found[1]:
        return None
    seconds = _seconds(found[2])
    return None if seconds is None else found[0] * seconds


def _seconds(unit: str) -> float | None:
    return SECONDS.get(unit, SECONDS.get(unit.removesuffix("s")))


def _parts(value: object) -> tuple[int | float, str, str] | None:
    """Take a value apart: its number, a slash, its unit in lower case."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return (value, "", "") if math.isfinite(value) else None
    written = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
    if written is None:
        return None
    digits, slash, unit = written.groups()
    number = float(digits)
    if not math.isfinite(number):
        return None
    whole = digits.lstrip("+-").replace("_", "").isdigit()
    return (int(digits) if whole else number), slash, unit.lower().replace("µ", "u")
