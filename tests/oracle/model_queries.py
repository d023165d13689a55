"""The slow twin of thresholds on lines: one row after the other, plain arithmetic.

A key has one model, a line. A row near it changes nothing; another one ends it, and begins its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

SECOND = 1_000_000
Piece = tuple[int, str, int, int, Fraction, Fraction]
"""Sign, key, begin and end in microseconds, the value at the begin, and its change per second."""


@dataclass
class LineTwin:
    """Lines of keys, within an amount of what rows say, for so long."""

    allowed: Fraction
    horizon_us: int
    models: dict[str, tuple[int, int, Fraction, Fraction]] = field(default_factory=dict)

    def take(self, key: str, at: int, value: float, slope: float) -> list[Piece]:
        """Take a row; give what it changes."""
        seen, rise = Fraction(value), Fraction(slope)
        found: list[Piece] = []
        if key in self.models:
            begin, end, first, own = self.models[key]
            expected = first + own * Fraction(at - begin, SECOND)
            if at < end and abs(seen - expected) <= self.allowed:
                return []
            if at < end:
                found.append((-1, key, at, end, expected, own))
        self.models[key] = (at, at + self.horizon_us, seen, rise)
        found.append((1, key, at, at + self.horizon_us, seen, rise))
        return found


def above(piece: Piece, number: float) -> Piece | None:
    """Give the part of a piece in which it is above a number, ends rounded to microseconds."""
    sign, key, begin, end, value, slope = piece
    over = value - Fraction(number)
    if slope == 0:
        return piece if over > 0 else None
    crossing = begin - over / slope * SECOND
    low, high = (max(Fraction(begin), crossing), Fraction(end)) if slope > 0 else (
        Fraction(begin), min(Fraction(end), crossing))  # fmt: skip
    starts, ends = round(low), round(high)
    if starts >= ends:
        return None
    return sign, key, starts, ends, value + slope * Fraction(starts - begin, SECOND), slope
