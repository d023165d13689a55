"""Draws rectangles.svg: what one change of an offer tells all ranges there may be.

From the repository's root: python docs/images/rectangles.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from penstock.kernels.range_messages import RangeTuples
from penstock.operators.range_aggregate.extremes import Extremes

OFFERS = ((20, 3), (30, 8), (40, 12), (50, 5), (70, 6), (100, 2))
RANGES = ((25, 60), (35, 80), (10, 45), (60, 90))
LEFT, BOTTOM, SCALE = 60, 420, 3.6
COLOURS = {9: "#f2b46d", 8: "#8fb8de", 6: "#9bcf9a"}


def tuples(*points: tuple[int, int]) -> RangeTuples:
    """Give tuples of one partition."""
    return RangeTuples(
        np.zeros(len(points), np.int64),
        np.array([x for x, _ in points], np.int64),
        np.array([y for _, y in points], np.int64),
    )


def across(value: float) -> float:
    """Place a lower end."""
    return LEFT + SCALE * value


def up(value: float) -> float:
    """Place an upper end."""
    return BOTTOM - SCALE * value


def drawing() -> str:
    """Draw the ranges that notice that the price at 50 rises from 5 to 9."""
    told = Extremes(tuples(*OFFERS)).net(tuples((50, 5)), tuples((50, 9)))
    parts = []
    for k, value in enumerate(told.values.tolist()):
        left, right = told.outer_l[k] - 1, told.inner_l[k]
        low, high = told.inner_r[k], told.outer_r[k] + 1
        x, y = across(left), up(high)
        wide, tall = SCALE * (right - left), SCALE * (high - low)
        parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{tall:g}" '
            f'fill="{COLOURS[value]}" stroke="#444"/>'
            f'<text x="{x + wide / 2:g}" y="{y + tall / 2 + 5:g}" text-anchor="middle">'
            f"now {value}</text>"
        )
    for low, high in RANGES:
        x, y = across(low), up(high)
        parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="4"/>'
            f'<text x="{x + 7:g}" y="{y - 6:g}">[{low}, {high}]</text>'
        )
    parts += [
        f'<text x="{across(value):g}" y="{BOTTOM + 18}" text-anchor="middle" class="tick">{value}'
        f'</text><text x="{LEFT - 8}" y="{up(value) + 4:g}" text-anchor="end" class="tick">{value}'
        "</text>"
        for value in range(0, 111, 10)
    ]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 500 470" font-family="sans-serif" '
        'font-size="13"><style>.tick{font-size:11px;fill:#666}</style>'
        '<rect width="500" height="470" fill="white"/>'
        f'<path d="M{LEFT} {up(110):g}V{BOTTOM}H{across(110):g}" fill="none" stroke="#444"/>'
        f'<path d="M{LEFT} {BOTTOM}L{across(110):g} {up(110):g}" stroke="#bbb" '
        'stroke-dasharray="4 4"/>'
        f"{''.join(parts)}"
        f'<text x="{across(55):g}" y="{BOTTOM + 38}" text-anchor="middle">lower end of a range'
        "</text>"
        f'<text x="16" y="{up(55):g}" text-anchor="middle" '
        f'transform="rotate(-90 16 {up(55):g})">upper end of a range</text></svg>\n'
    )


if __name__ == "__main__":
    Path(__file__).with_name("rectangles.svg").write_text(drawing())
