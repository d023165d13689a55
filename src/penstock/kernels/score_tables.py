"""Scoring tables: the sums over future ticks from which score tables are made."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from penstock.kernels.arrays import Floats
from penstock.kernels.compilation import kernel

HALF_ROOT = math.sqrt(0.5)
SETTLED = 1e-6
"""An autoregression has forgotten where it was once |phi1|^n is below this."""


@kernel
def normal_mass(low: float, high: float) -> float:
    """Give the standard normal law's mass between two places.

    Either end is counted from the tail it is nearer to, so that small masses keep their digits.
    """
    if low > 0.0:
        return 0.5 * (math.erfc(low * HALF_ROOT) - math.erfc(high * HALF_ROOT))
    if high < 0.0:
        return 0.5 * (math.erfc(-high * HALF_ROOT) - math.erfc(-low * HALF_ROOT))
    return 0.5 * (math.erf(high * HALF_ROOT) - math.erf(low * HALF_ROOT))


@kernel
def normal_masses(lows: Floats, highs: Floats, masses: Floats) -> None:
    """Fill the standard normal law's masses between pairs of places."""
    for i in range(len(lows)):
        masses[i] = normal_mass(lows[i], highs[i])


@kernel
def offsets_fill(
    masses: Floats, back: int, shrink: float, is_caching: bool, scores: Floats
) -> None:
    """Fill the scores of a trend in one stable pass from the side that it has passed.

    One tick moves the centre by `back` cells: h(d) = q (p(d - a) + h(d - a)). Before the first
    cell there is nothing.
    """
    for i in range(len(scores)):
        if i < back:
            scores[i] = 0.0
            continue
        mass = masses[i - back]
        after = scores[i - back]
        if is_caching:
            after *= 1.0 - mass
        scores[i] = shrink * (mass + after)


@kernel
def offsets_blocks(
    masses: Floats, ticks: float, shrink: float, is_caching: bool, scores: Floats
) -> None:
    """Fill the scores of a trend that takes many ticks from cell to cell.

    Between two cells the mass is taken for constant, so that their ticks are a geometric series;
    it is the mass where the weight of these ticks has its centre.
    """
    scores[0] = 0.0
    centre = 0.5
    if shrink < 1.0:
        power = shrink**ticks
        centre = 1.0 / (ticks * (1.0 - shrink)) - power / (1.0 - power)
    for i in range(1, len(scores)):
        mass = masses[i] + centre * (masses[i - 1] - masses[i])
        factor = shrink * (1.0 - mass) if is_caching else shrink
        left = factor**ticks
        earned = shrink * mass * (1.0 - left) / (1.0 - factor) if factor < 1.0 else 0.0
        scores[i] = earned + left * scores[i - 1]


@kernel
def offsets_sum(
    masses: Floats, back: int, weights: Floats, is_caching: bool, scores: Floats
) -> None:
    """Fill the scores of a trend for any weights of the ticks ahead, by the sum itself."""
    for i in range(len(scores)):
        score = 0.0
        survival = 1.0
        place = i
        for n in range(len(weights)):
            place -= back
            if place < 0:
                break
            mass = masses[place]
            score += survival * mass * weights[n]
            if is_caching:
                survival *= 1.0 - mass
        scores[i] = score


@kernel
def passages_fill(passing: Floats, returning: Floats, firsts: Floats) -> None:
    """Fill the law of the first passage from the laws of being there: the renewal equation.

    `passing[n]` is the probability of the key n + 1 ticks ahead, `returning[n]` the same from the
    key itself.
    """
    for n in range(len(passing)):
        mass = passing[n]
        for m in range(n):
            mass -= firsts[m] * returning[n - m - 1]
        firsts[n] = max(mass, 0.0)


@kernel
def times_fill(
    times: npt.NDArray[np.int64], masses: Floats, decay: float, is_caching: bool, scores: Floats
) -> None:
    """Fill, for one key's possible times, what the key is worth just before each of them."""
    after = 0.0
    for i in range(len(times) - 1, -1, -1):
        if i + 1 < len(times):
            after = math.exp(-decay * (times[i + 1] - times[i])) * scores[i + 1]
        if is_caching:
            after *= 1.0 - masses[i]
        scores[i] = masses[i] + after


@kernel
def surface_fill(
    values: Floats,
    states: Floats,
    phi0: float,
    phi1: float,
    sigma: float,
    grid: float,
    weights: Floats,
    rest: float,
    layers: npt.NDArray[np.int64],
    cells: Floats,
) -> None:
    """Fill the joining scores of an autoregression for values (lines) and states (columns).

    A layer holds the sum of the first `layers[k]` ticks. Once the law has settled, what is left
    of the weights goes to the stationary law at once; `rest` is the weight beyond `weights`.
    """
    spread = sigma / math.sqrt(1.0 - phi1 * phi1)
    middle = phi0 / (1.0 - phi1)
    settled = 1
    power = abs(phi1)
    while power >= SETTLED:
        power *= abs(phi1)
        settled += 1
    totals = np.zeros(len(weights) + 1)
    for n in range(len(weights)):
        totals[n + 1] = totals[n] + weights[n]
    laws = np.empty(settled)
    for i in range(len(values)):
        low = values[i] - 0.5 * grid
        high = values[i] + 0.5 * grid
        stationary = normal_mass((low - middle) / spread, (high - middle) / spread)
        for j in range(len(states)):
            power = 1.0
            for n in range(settled):
                power *= phi1
                centre = power * states[j] + middle * (1.0 - power)
                deviation = spread * math.sqrt(1.0 - power * power)
                laws[n] = normal_mass((low - centre) / deviation, (high - centre) / deviation)
            score = 0.0
            n = 0
            for k in range(len(layers)):
                ticks = layers[k]
                while n < min(ticks, settled):
                    score += weights[n] * laws[n] if n < len(weights) else 0.0
                    n += 1
                late = 0.0
                if ticks > settled:
                    late = totals[min(ticks, len(weights))] - totals[min(settled, len(weights))]
                if ticks >= len(weights):
                    late += rest
                cells[k, i, j] = score + late * stationary
