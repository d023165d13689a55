"""Score tables of streams that depend on their last key: curves of walks, surfaces of others.

A joining score is G = sum of L(n) p_n. For exponential weights the caching score of any stream
that starts anew from its last key is G(v, x) / (1 + G(v, v)), the generating function of the
first passage.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from penstock.kernels.score_tables import passages_fill, surface_fill
from penstock.kernels.scores import LINEAR, SPLINE, SURFACE, ScoreTable
from penstock.operators.bounded.laws import History
from penstock.operators.bounded.laws_markov import Ar1, RandomWalk
from penstock.operators.bounded.laws_noise import REACH
from penstock.operators.bounded.scores_blank import (
    CELLS_MAX,
    Recipe,
    lifetimes_of,
    table_of,
)
from penstock.operators.bounded.weightings import Exponential, Fixed, Weighting
from penstock.vocabulary.batches import Floats, Ints

Waves = npt.NDArray[np.complex128]

DROP = 24.0
"""A walk's curve is computed until it must be e^-24 of its peak."""
FLOOR = 1e-10
"""Below this share of the peak a transform's digits are noise; from there on the curve's rate of
fall is known."""
SURFACE_REACH = 5.0
"""A dense surface reaches so many deviations around the mean."""
CONTROL_REACH = 4.0
"""One through control points is kept shorter, for the points are few."""
CONTROL_POINTS = 33
"""Points a side where a dense surface would be too large."""
DENSE_MAX = 1024


def walk_table(law: RandomWalk, recipe: Recipe) -> ScoreTable:
    """Make the curve of a random walk over the distance from the partner's last key."""
    weighting = recipe.weighting
    left, right, below, above = _walk_reach(law, weighting)
    size = 1 << math.ceil(math.log2(2 * (below + above) + 16))
    if size > CELLS_MAX:
        raise ValueError(f"a walk of drift {law.drift} needs {size:,} cells; take a lower alpha")
    places = np.arange(-below, above + 1)
    lifetimes = lifetimes_of(recipe.window)
    layers = []
    for ticks in lifetimes if len(lifetimes) else [None]:
        waves = _walk_waves(law, weighting, size, None if ticks is None else int(ticks))
        curve = np.maximum(np.fft.ifft(waves).real, 0.0)
        layers.append(_mirrored(law, curve[places % size], below))
    cells = np.array(layers)[:, None, :] * recipe.rate
    if recipe.caching:
        cells = _walk_passages(law, weighting, cells, places)
    kept = slice(None)
    if isinstance(weighting, Exponential):
        curve = cells[-1, 0]
        sound = np.flatnonzero(curve >= FLOOR * curve.max())
        kept = slice(int(sound[0]), int(sound[-1]) + 1)
    return table_of(
        LINEAR,
        cells[:, :, kept],
        lifetimes=lifetimes,
        first=places[kept][0],
        left=-left,
        right=-right,
        follows=1.0,
        decay=recipe.decay,
    )


def _walk_reach(law: RandomWalk, weighting: Weighting) -> tuple[float, float, int, int]:
    """Give the rates at which the curve falls to the left and right, and how far to store it."""
    if isinstance(weighting, Fixed):
        ticks = weighting.ticks
        if law.is_real:
            reach = math.ceil(REACH * law.step.deviation * math.sqrt(ticks)) + 1
            end = law.drift * ticks
            below, above = reach - math.floor(min(end, 0.0)), reach + math.ceil(max(end, 0.0))
        else:
            below = max(-(int(law.drift) + law.step.low) * ticks, 0) + 1
            above = max((int(law.drift) + law.step.high) * ticks, 0) + 1
        return math.inf, math.inf, below, above
    left, right = _fall(law, weighting.alpha, -1), _fall(law, weighting.alpha, 1)
    margin = math.ceil(abs(law.drift) + law.step.high - law.step.low)
    return left, right, math.ceil(DROP / left) + margin, math.ceil(DROP / right) + margin


def _fall(law: RandomWalk, alpha: float, sign: int) -> float:
    """Solve q E[e^(r Y)] = 1 for r > 0: far out, the curve falls by e^-r per key.

    A side that no step leads to has nothing: it falls at once.
    """
    if law.is_real:
        drift, variance = sign * law.drift, law.step.deviation**2
        root = math.sqrt(drift * drift + 2.0 * variance / alpha)
        # The form without a difference of near equals.
        return (2.0 / alpha) / (drift + root) if drift > 0.0 else (root - drift) / variance
    steps = sign * (np.arange(law.step.low, law.step.high + 1) + law.drift)
    kept = law.step.lattice > 0.0
    steps, logs = steps[kept], np.log(law.step.lattice[kept])
    top = int(np.argmax(steps))
    if steps[top] <= 0.0:
        return math.inf
    low, high = 0.0, float((1.0 / alpha - logs[top]) / steps[top])
    for _ in range(200):
        middle = 0.5 * (low + high)
        exponents = logs + middle * steps
        peak = exponents.max()
        if peak + math.log(np.exp(exponents - peak).sum()) > 1.0 / alpha:
            high = middle
        else:
            low = middle
    return high


def _walk_waves(law: RandomWalk, weighting: Weighting, size: int, ticks: int | None) -> Waves:
    """Give the transform of the curve: sums of convolutions are sums of powers there."""
    if not law.is_real:
        step = np.zeros(size)
        places = np.arange(law.step.low, law.step.high + 1) + int(law.drift)
        np.add.at(step, places % size, law.step.lattice)
        return _ladder(np.fft.fft(step), weighting, ticks)
    angles = 2.0 * np.pi * np.fft.fftfreq(size)
    sigma = law.step.deviation
    # Rounding folds the line's waves onto the circle; beyond these nothing is left of them.
    folds = math.ceil((math.sqrt(80.0) / (sigma * math.pi) + 1.0) / 2.0)
    found = np.zeros(size, dtype=np.complex128)
    for fold in range(-folds, folds + 1):
        angle = angles + 2.0 * np.pi * fold
        wave = np.exp(-1j * law.drift * angle - 0.5 * (sigma * angle) ** 2)
        found += np.sinc(angle / (2.0 * np.pi)) * _ladder(wave, weighting, ticks)
    return found


def _ladder(wave: Waves, weighting: Weighting, ticks: int | None) -> Waves:
    """Give the sum of L(n) z^n, over all n or the first ticks."""
    if isinstance(weighting, Exponential):
        shrunk = weighting.shrink * wave
        whole = shrunk / (1.0 - shrunk)
        return whole if ticks is None else whole * (1.0 - shrunk**ticks)
    count = weighting.ticks if ticks is None else min(ticks, weighting.ticks)
    found = np.zeros_like(wave)
    for _ in range(count):
        found = wave * (1.0 + found)
    return found


def _mirrored(law: RandomWalk, curve: Floats, below: int) -> Floats:
    """Make a curve symmetric to the last digit where the walk is: equal distances tie."""
    lattice = law.step.lattice
    is_even = law.step.low == -law.step.high and np.allclose(lattice, lattice[::-1], atol=0.0)
    if law.drift == 0.0 and is_even and len(curve) == 2 * below + 1:
        found: Floats = 0.5 * (curve + curve[::-1])
        return found
    return curve


def _walk_passages(law: RandomWalk, weighting: Weighting, cells: Floats, places: Ints) -> Floats:
    if isinstance(weighting, Exponential):
        found: Floats = cells / (1.0 + cells[0, 0, int(np.flatnonzero(places == 0)[0])])
        return found
    here = History(now=0, last=0)
    distributions = np.array([law.masses(places, n + 1, here) for n in range(weighting.ticks)])
    returning = distributions[:, int(np.flatnonzero(places == 0)[0])].copy()
    firsts = np.empty(weighting.ticks)
    for number in range(len(places)):
        passages_fill(distributions[:, number].copy(), returning, firsts)
        cells[0, 0, number] = firsts.sum()
    return cells


def ar1_table(law: Ar1, recipe: Recipe) -> ScoreTable:
    """Make the surface of an autoregression over the key and the partner's last key.

    Dense where that is small, and then exact for every key; else a cubic spline through control
    points, whose number a side the recipe may name.
    """
    weighting = recipe.weighting
    points = recipe.control_points
    middle, spread = law.mean / law.grid, law.deviation / law.grid
    low, high = (math.floor(middle + side * SURFACE_REACH * spread) for side in (-1.0, 1.0))
    if points is None and (high - low + 1 > DENSE_MAX or recipe.window is not None):
        points = CONTROL_POINTS
    if points is None:
        keys = np.arange(low, high + 1, dtype=np.float64)
    else:
        if points < 4:
            raise ValueError(f"control_points is {points}, not a number from 4 on")
        reach = CONTROL_REACH * spread
        keys = np.linspace(middle - reach, middle + reach, num=points)
    values = keys * law.grid
    cells = _ar1_cells(law, weighting, values, values, recipe.window)
    cells *= recipe.rate
    if recipe.caching:
        if isinstance(weighting, Fixed):
            raise ValueError("a caching surface is weighted with Exponential")
        cells /= 1.0 + np.diagonal(cells[0])[None, :, None]
    left, right = _edge_falls(cells[-1], float(keys[1] - keys[0]))
    if points is not None:
        cells = np.array([spline_of(spline_of(layer).T).T for layer in cells])
    step = float(keys[1] - keys[0])
    return table_of(
        SURFACE if points is None else SPLINE,
        cells,
        lifetimes=lifetimes_of(recipe.window),
        first=keys[0],
        width=step,
        state_first=keys[0],
        state_width=step,
        left=left,
        right=right,
        decay=recipe.decay,
    )


def _ar1_cells(
    law: Ar1, weighting: Weighting, values: Floats, states: Floats, window: int | None
) -> Floats:
    rest = 0.0
    if isinstance(weighting, Exponential):
        # The law has settled long before; what remains is a geometric series.
        count = max(2, math.ceil(math.log(1e-7) / math.log(abs(law.phi1))), window or 0)
        rest = weighting.total * weighting.shrink**count
    else:
        count = weighting.ticks
    layers = lifetimes_of(window)
    if window is None:
        layers = np.array([count], dtype=np.int64)
    else:
        rest = 0.0
    cells = np.empty((len(layers), len(values), len(states)))
    surface_fill(
        values,
        states,
        law.phi0,
        law.phi1,
        law.sigma,
        law.grid,
        weighting.weights(count),
        rest,
        layers,
        cells,
    )
    return cells


def _edge_falls(surface: Floats, step: float) -> tuple[float, float]:
    """Estimate how fast scores fall beyond the first and the last line, averaged over states."""
    means = surface.mean(axis=1)
    left = math.log(max(means[0], 1e-300) / max(means[1], 1e-300)) / step
    right = math.log(max(means[-1], 1e-300) / max(means[-2], 1e-300)) / step
    return min(left, 0.0), min(right, 0.0)


def spline_of(samples: Floats) -> Floats:
    """Give the coefficients of the cubic splines through the columns, two more than samples.

    The first and the last two pieces are one cubic each (not-a-knot).
    """
    count = len(samples)
    system = np.zeros((count + 2, count + 2))
    for line in range(count):
        system[line, line : line + 3] = (1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0)
    system[count, :5] = (1.0, -4.0, 6.0, -4.0, 1.0)
    system[count + 1, -5:] = (1.0, -4.0, 6.0, -4.0, 1.0)
    wanted = np.concatenate((samples, np.zeros((2, samples.shape[1]))))
    return np.linalg.solve(system, wanted).astype(np.float64)
