"""What rows bring as time goes on: noise, curves of benefit by category, and the surface of AR(1).

A row's curve is the results that it may be expected to bring within 1, 2, 3... ticks. Two trends of
slope 1 with even noise, the second's wider, have rows of five categories, whose curves are known in
closed form. The surface says what a row is worth beside an autoregression, by its key and by where
the stream is: exact, and through 25 points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from penstock.kernels.scores import table_score
from penstock.lab.caching.workload import CONFIGURATIONS, GRID, TEMPERATURES
from penstock.lab.report import Findings, Size, Table, at_most, chart
from penstock.operators.bounded.laws import History
from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.laws_noise import BoundedNormal, Noise, Normal, Uniform
from penstock.operators.bounded.scores import score_table
from penstock.operators.bounded.weightings import Exponential
from penstock.vocabulary.batches import Floats

NARROW, WIDE = 3, 6
"""Half-widths of the noise of R and of S, as in the published case."""
HORIZON = 24
DOMINATED, INCOMPARABLE = 43, 20
"""Of rows of S2 over rows of R2: pairs that are known to be ordered, and that are not."""
ALPHA = 50.0
SURFACE = {
    (20, 20): (0.32960, 0.24789),
    (20, 30): (0.31713, 0.23851),
    (30, 20): (0.08125, 0.07397),
    (30, 30): (0.09836, 0.08955),
}
"""Known scores by key and present place, in degrees: in a join, and in a lookup cache."""
POINTS = 5
POINTS_OFF = 0.48
"""Five points each way are known to be off by 18 to 48 percent of the highest score somewhere."""
DEGREES = range(5, 36)


def run(_size: Size) -> Findings:
    """Draw noise, curves and surface; the size changes nothing."""
    yield from _noise()
    yield from _categories()
    yield from _three_rows()
    yield from _surface()


def _noise() -> Findings:
    noises: dict[str, Noise] = {
        f"{case.name} {stream}": law.noise
        for case in CONFIGURATIONS
        for stream, law in zip("RS", case.laws, strict=True)
        if isinstance(law, LinearTrend)
    }
    offsets = np.arange(-16, 17, dtype=np.float64)
    masses = {name: noise.masses(offsets) for name, noise in noises.items()}
    table = Table(
        "noise: chance of an offset",
        ("offset", *masses),
        [(int(at), *(float(line[i]) for line in masses.values())) for i, at in enumerate(offsets)],
    )
    yield table
    known = {name: _known(each, offsets) for name, each in noises.items()}
    off = max(float(np.abs(masses[name] - line).max()) for name, line in known.items())
    yield at_most("noise: largest error of a chance", off, 1e-12)
    yield table.chart("noise of both streams", "chance", x_label="offset")


def _known(noise: Noise, offsets: Floats) -> Floats:
    """Give the chances of offsets by their definition."""
    inside = np.abs(offsets) <= noise.high
    if isinstance(noise, Uniform):
        return np.where(inside, 1.0 / (2 * noise.high + 1), 0.0)
    assert isinstance(noise, BoundedNormal)

    def below(at: float) -> float:
        return 0.5 * (1.0 + math.erf(at / noise.sigma / math.sqrt(2.0)))

    raw = np.array([below(at + 0.5) - below(at - 0.5) for at in offsets.tolist()])
    found: Floats = np.where(inside, raw, 0.0) / raw[inside].sum()
    return found


def curve(partner: LinearTrend, key: int) -> Floats:
    """Give a row's curve by adding up the chances of its key, tick by tick."""
    present = History(now=0)
    return np.cumsum([partner.pmf(key, ahead, present) for ahead in range(1, HORIZON + 1)])


def category(stream: str, key: int) -> tuple[str, Floats]:
    """Give a row's category and its curve in closed form, at tick 0."""
    ahead = np.arange(1, HORIZON + 1, dtype=np.float64)
    own, other = (NARROW, WIDE) if stream == "R" else (WIDE, NARROW)
    share = 1.0 / (2 * other + 1)
    if key <= -other:
        return f"{stream}1", np.zeros(HORIZON)
    if stream == "S" and key > own - (WIDE - NARROW) + 1:
        return "S3", share * np.clip(ahead - (key - other) + 1, 0, 2 * other + 1)
    return f"{stream}2", share * np.minimum(ahead, key + other)


def _categories() -> Findings:
    laws = {
        stream: LinearTrend(slope=1, intercept=0, noise=Uniform(half_width=width))
        for stream, width in (("R", WIDE), ("S", NARROW))
    }
    rows = [("R", key) for key in range(-WIDE - 2, NARROW + 1)]
    rows += [("S", key) for key in range(-NARROW - 2, WIDE + 1)]
    found = {row: category(*row) for row in rows}
    summed = {row: curve(laws[row[0]], row[1]) for row in rows}
    off = max(float(np.abs(summed[row] - found[row][1]).max()) for row in rows)
    shown = (1, 2, 4, 8, 12, 16)
    yield Table(
        f"expected results within ticks, noise of {NARROW} (R) and {WIDE} (S), at tick 0",
        ("row", "key", "category", *(f"within {ahead}" for ahead in shown)),
        [(*row, found[row][0], *(float(summed[row][a - 1]) for a in shown)) for row in rows],
    )
    yield at_most("curves: largest error of the closed forms", off, 1e-12)
    first, second = (
        [summed[row] for row in rows if found[row][0] == name] for name in ("R2", "S2")
    )
    over = sum(_dominates(s, r) for s in second for r in first)
    under = sum(_dominates(r, s) for s in second for r in first)
    neither = len(first) * len(second) - over - under
    yield at_most("curves: pairs of S2 above R2, away from the known", abs(over - DOMINATED), 0)
    yield at_most("curves: pairs of R2 above S2", under, 0)
    yield at_most("curves: pairs in no order, away from the known", abs(neither - INCOMPARABLE), 0)
    ticks = list(range(1, HORIZON + 1))
    drawn = [("R", -3), ("R", 2), ("S", 0), ("S", 4), ("S", 6)]
    yield chart(
        "curves of benefit by category",
        "ticks from now",
        "expected results",
        {f"{found[row][0]}, key {row[1]}": (ticks, summed[row].tolist()) for row in drawn},
    )


def _dominates(upper: Floats, lower: Floats) -> bool:
    return bool((upper >= lower - 1e-12).all())


def _three_rows() -> Findings:
    """Draw the example that began it: one row behind a moving stream, one before it, one far."""
    partner = LinearTrend(slope=1, intercept=0, noise=Normal(sigma=2.0))
    lines = {name: curve(partner, key) for name, key in (("y", -1), ("x", 2), ("z", 6))}
    ordered = _dominates(lines["x"], lines["y"])
    apart = not (_dominates(lines["x"], lines["z"]) or _dominates(lines["z"], lines["x"]))
    yield at_most("three rows: the one behind is not below the one ahead", int(not ordered), 0)
    yield at_most("three rows: the two ahead are in an order", int(not apart), 0)
    ticks = list(range(1, HORIZON + 1))
    yield chart(
        "a row behind a moving stream (y), one ahead (x), one far ahead (z)",
        "ticks from now",
        "expected results",
        {name: (ticks, line.tolist()) for name, line in lines.items()},
    )


def _scores(caching: bool, points: int | None = None) -> Iterator[tuple[int, int, float]]:
    """Give keys and present places in degrees, with their scores."""
    table = score_table(TEMPERATURES, Exponential(ALPHA), caching=caching, control_points=points)
    for key in DEGREES:
        for place in DEGREES:
            yield key, place, table_score(table, round(key / GRID), 0, round(place / GRID))


def _surface() -> Findings:
    joined, cached = (
        {(key, place): score for key, place, score in _scores(caching)} for caching in (False, True)
    )
    rough = {(key, place): score for key, place, score in _scores(True, POINTS)}
    shown = (5, 10, 15, 20, 25, 30, 35)
    for name, own in (("exact", cached), ("through 25 points", rough)):
        yield Table(
            f"worth of a row in a lookup cache beside AR(1), alpha = {ALPHA:g}: {name}",
            ("key", *(f"at {place}" for place in shown)),
            [(key, *(own[key, place] for place in shown)) for key in shown],
        )
    both = (joined, cached)
    off = max(abs(both[i][at] - known[i]) for at, known in SURFACE.items() for i in (0, 1))
    peak = max(cached.values())
    apart = max(abs(rough[at] - score) for at, score in cached.items()) / peak
    yield at_most("surface: largest error of a known score", off, 6e-6)
    yield at_most("surface: largest error of 25 points, by the highest score", apart, POINTS_OFF)
    keys = list(DEGREES)
    yield chart(
        "worth of a row beside AR(1), exact and through 25 points",
        "key (degrees)",
        "score",
        {
            f"at {place}, {name}": (keys, [own[key, place] for key in keys])
            for place in (10, 20, 30)
            for name, own in (("exact", cached), ("25 points", rough))
        },
    )
