"""Hotspots, drawn: standing ranges as lines, coloured by the hot group that holds them."""

from __future__ import annotations

import numpy as np

from penstock.lab.draws import generator
from penstock.lab.report import Chart, Findings, Size, Spans, Table, at_most, sized
from penstock.operators.join.partition import HotspotTracker
from penstock.vocabulary.batches import Flags, Ints, Rows

DOMAIN = 10_000
CENTRES = (1_200, 2_600, 4_500, 6_800, 8_700)
SHARES = (0.13, 0.24, 0.11, 0.19, 0.09)
ALPHA = 0.05
COUNTS = sized(200, 400, 400)


def ranges(count: int) -> tuple[Ints, Ints]:
    """Draw ranges: most about five popular values, the others anywhere."""
    rng = generator(4)
    kind = rng.choice(len(CENTRES) + 1, count, p=[*SHARES, 1 - sum(SHARES)])
    popular = kind < len(CENTRES)
    centres = np.append(np.array(CENTRES), 0)[kind]
    middles = np.where(popular, rng.normal(centres, 60), rng.uniform(0, DOMAIN, count))
    lengths = np.where(popular, rng.normal(700, 150, count), rng.normal(600, 100, count))
    half = np.maximum(lengths, 10) / 2
    return (middles - half).astype(np.int64), (middles + half).astype(np.int64)


def run(size: Size) -> Findings:
    """Find the hotspots of some ranges and draw them."""
    low, high = ranges(COUNTS[size])
    tracker = HotspotTracker(ALPHA)
    tracker.insert(np.arange(len(low), dtype=np.int32), low, high)
    height = np.empty(len(low), dtype=np.int64)
    by_group = np.lexsort((low, _first_low(tracker, low)))
    height[by_group] = np.arange(len(low))

    def spans(name: str, chosen: Rows | Flags, point: float | None) -> Spans:
        return Spans(
            name=name, low=low[chosen].tolist(), high=high[chosen].tolist(),
            y=height[chosen].tolist(), point=point,
        )  # fmt: skip

    hot = tracker.live().tolist()
    drawn = [
        spans(f"hotspot of {tracker.sizes[g]}", tracker.group_of == g, float(tracker.points[g]))
        for g in hot
    ]
    drawn.append(spans("scattered", tracker.scattered_slots(), None))
    rows = [(int(tracker.points[g]), int(tracker.sizes[g])) for g in hot]
    share = 100 * tracker.hot_members / len(tracker)
    yield at_most("hotspots", len(hot), 2 / ALPHA)
    yield Table("hotspots", ("stabbing point", "ranges"), rows)
    yield Table("share in hotspots", ("hot (%)",), [(share,)])
    yield Chart(
        title=f"{len(low)} ranges: {len(hot)} hotspots hold {share:.0f} %",
        x_label="key",
        y_label="ranges, group by group",
        spans=tuple(drawn),
    )


def _first_low(tracker: HotspotTracker, low: Ints) -> Ints:
    """Give each slot its group's point, scattered ones a key above all: groups lie together."""
    group_of = tracker.group_of[: len(low)]
    points = tracker.points[np.maximum(group_of, 0)]
    return np.where(group_of >= 0, points, 2 * DOMAIN)
