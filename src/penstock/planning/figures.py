"""Figures as people read them: 1,234, 12.5 %, 1.1 MB."""

from __future__ import annotations

from math import isfinite

KILO = 1_000.0
LEAST_PERCENT = 0.001


def figure(value: float) -> str:
    """Write a number with about four digits that matter.

    >>> [figure(value) for value in (0, 0.01234, 1.6667, 12.5, 916.667, 1234.5, 1e6)]
    ['0', '0.0123', '1.67', '12.5', '916.7', '1,234', '1,000,000']
    """
    if not isfinite(value):
        return "unlimited" if value > 0 else "none"
    size = abs(value)
    if 0.0 < size < 1.0:
        return f"{value:.3g}"
    digits = 0 if size >= KILO else 1 if size >= KILO / 100 else 2
    return _stripped(f"{value:,.{digits}f}")


def percent(share: float) -> str:
    """Write a share in percent.

    >>> [percent(share) for share in (0.125, 1.1, 0.7222, 0, 0.00031, 0.00000001)]
    ['12.5 %', '110 %', '72.2 %', '0 %', '0.031 %', '< 0.001 %']
    """
    if not isfinite(share):
        return "unlimited"
    value = 100.0 * share
    if 0.0 < value < LEAST_PERCENT:
        return f"< {LEAST_PERCENT} %"
    return _stripped(f"{value:.2g}" if 0.0 < value < 1.0 else f"{value:,.1f}") + " %"


def size(count: float) -> str:
    """Write a number of bytes.

    >>> [size(count) for count in (80, 6_200, 1_100_000)]
    ['80 B', '6.2 kB', '1.1 MB']
    """
    units = ["B", "kB", "MB", "GB", "TB", "PB"]
    while count >= KILO and len(units) > 1:
        count /= KILO
        units.pop(0)
    return f"{_stripped(f'{count:,.1f}')} {units[0]}"


def seconds(value: float) -> str:
    """Write a span of time.

    >>> [seconds(value) for value in (0.000_000_25, 0.005, 2.5, 7200)]
    ['0.25 µs', '5 ms', '2.5 s', '7,200 s']
    """
    for factor, unit in ((1.0, "s"), (1e-3, "ms")):
        if value >= factor or value == 0.0:
            return f"{figure(value / factor)} {unit}"
    return f"{figure(value / 1e-6)} µs"


def _stripped(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
