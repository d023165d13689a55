"""What the estimator of selectivities means, told the long way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import floor, log2

import numpy as np

FINEST = -60


def lattice_power(values: Sequence[float], bits: int) -> int:
    """Give the least power of two of a width at which all values lie in 2^bits cells."""
    power = FINEST
    while True:
        cells = [floor(Fraction(each) / Fraction(2) ** power) for each in values]
        if max(map(abs, cells)) < 2**52 and max(cells) - min(cells) < 1 << bits:
            return power
        power += 1


def counted(
    models: Sequence[Sequence[float]], lengths_us: Sequence[int], keys: Sequence[int], bits: int
) -> Counter[tuple[object, ...]]:
    """Count models by the box that they lie in, the power of two of their length, and their key.

    A box is the low corner and the high one, cut at the least and the greatest coefficients.
    """
    columns = list(zip(*models, strict=True))
    powers = [lattice_power(column, bits) for column in columns]
    found: Counter[tuple[object, ...]] = Counter()
    for model, length, key in zip(models, lengths_us, keys, strict=True):
        low, high = [], []
        for value, power, column in zip(model, powers, columns, strict=True):
            width = Fraction(2) ** power
            cell = floor(Fraction(value) / width)
            low.append(float(max(cell * width, Fraction(min(column)))))
            high.append(float(min((cell + 1) * width, Fraction(max(column)))))
        found[(tuple(low), tuple(high), int(log2(max(length, 1))), min(key, 63))] += 1
    return found


def spread(low: np.ndarray, high: np.ndarray, points: int) -> np.ndarray:
    """Give the middles of equal parts of a box, `points` along each side."""
    steps = (np.arange(points) + 0.5) / points
    axes = np.meshgrid(*[steps] * len(low), indexing="ij")
    unit = np.stack([each.ravel() for each in axes], axis=1)
    return low + unit * (high - low)


def values(models: np.ndarray, at: float) -> np.ndarray:
    """Give the values of models at an instant, power by power."""
    total = np.zeros(len(models))
    for power in range(models.shape[1]):
        total = total + models[:, power] * at**power
    return total


def shares(
    low: np.ndarray, high: np.ndarray, begin: float, end: float, number: float, points: int
) -> tuple[float, float]:
    """Give the shares of a box that are below, and above, a number at both instants."""
    models = spread(low, high, points)
    first, second = values(models, begin), values(models, end)
    below = (first < number) & (second < number)
    above = (first > number) & (second > number)
    return float(below.mean()), float(above.mean())


def pieces_between(models: np.ndarray, begin: float, end: float, low: float, high: float) -> int:
    """Count, on a fine raster of time, in how many stretches models lie between two numbers."""
    times = np.linspace(begin, end, 2001)
    curves = np.stack([values(models, at) for at in times], axis=1)
    inside = (curves > low) & (curves < high)
    return int(inside[:, 0].sum()) + int((inside[:, 1:] & ~inside[:, :-1]).sum())


def greatest_weights(
    middles: np.ndarray, at: float, boxes: Sequence[tuple[np.ndarray, np.ndarray]],
    frequency: np.ndarray, keys: int,
) -> np.ndarray:  # fmt: skip
    """Give the chance that no other of so many keys is higher than the middle of each box."""
    found = []
    for middle in middles:
        mine = float(values(middle[np.newaxis], at)[0])
        above = [float((values(spread(low, high, 60), at) > mine).mean()) for low, high in boxes]
        lower = 1 - float((np.array(above) * frequency).sum() / frequency.sum())
        found.append(lower ** (keys - 1))
    return np.array(found)


def widest(terms: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """Give the greedy high bound, segment by segment: the first term meets the best of others."""
    totals = [int(passing.sum()) for _, passing in terms]
    first = int(np.argmax(totals))
    total = totals[first]
    share = total / float(terms[first][0].sum())
    for place, (held, passing) in enumerate(terms):
        if place == first or total == 0:
            continue
        chances = sorted(
            (p / h for h, p in zip(held, passing, strict=True) for _ in range(int(h))), reverse=True
        )
        share *= sum(chances[:total]) / total
    return share
