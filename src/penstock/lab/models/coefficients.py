"""Coefficients of models to estimate by: what is published of them, made anew, and real flights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.algebra.models import ModelComparison
from penstock.lab.models.queries import polynomial
from penstock.models.coefficient_bins import CoefficientBins
from penstock.models.coefficient_histograms import CoefficientHistogram
from penstock.models.segments import WIDTH, Segments
from penstock.planning.selectivity.filters import passed
from penstock.planning.selectivity.terms import ValueBand
from penstock.vocabulary.batches import Floats

LENGTH_S = 10.0
"""How long a segment holds."""
SHARES = tuple(share / 10 for share in range(1, 11))
"""The true selectivities that thresholds are chosen for."""

STOCKS = {
    "12": (77.657, -0.00832, 16.636, 0.0207),
    "3762": (22.914, -0.00111, 3.498, 0.000257),
    "4878": (27.002, -0.00294, 0.293, 0.00478),
    "6849": (38.404, -0.000608, 0.986, 0.000601),
    "6879": (70.537, 16.350, 16.958, 136314.256),
    "6973": (127.607, 0.0267, 3.463, 2.472),
    "8329": (37.466, 0.00341, 10.976, 0.0314),
}
"""The published means and variances of both coefficients, by stock."""
WILD = 0.002
"""The share of huge slopes in stock 6879."""


@dataclass(frozen=True, slots=True)
class LineSet:
    """Lines whose segments all hold for the same time."""

    name: str
    coefficients: Floats
    """Height and slope of each line."""

    @property
    def least(self) -> Floats:
        """The least value of each line in its time."""
        heights, slopes = self.coefficients.T
        return np.asarray(heights + np.minimum(slopes * LENGTH_S, 0.0))

    def thresholds(self) -> list[float]:
        """Give numbers below which a tenth, two tenths, … of the lines come."""
        return [float(np.quantile(self.least, share)) for share in SHARES]

    def true(self, threshold: float) -> float:
        """Give the share of lines that come below a number."""
        return float((self.least < threshold).mean())

    def segments(self) -> Segments:
        """Give the lines as segments, one after the other."""
        return line_segments(self.coefficients)

    def bins(self, bits: int) -> CoefficientBins:
        """Give bins over the range that the lines have."""
        own = self.coefficients
        histogram = CoefficientHistogram(2, bits, low=own.min(0), high=own.max(0))
        histogram.count(self.segments(), 0)
        return histogram.bins()


def line_segments(coefficients: Floats, length_s: float = LENGTH_S) -> Segments:
    """Give models as segments of one key that all hold for the same time."""
    total, width = coefficients.shape
    models = np.zeros((total, 1, WIDTH))
    models[:, 0, :width] = coefficients
    zeros = np.zeros(total, np.int64)
    return Segments(
        zeros[:, np.newaxis], np.arange(total) * int(length_s * 1e6), np.zeros(total),
        np.full(total, length_s), models, np.ones(total, np.int8), np.arange(total),
    )  # fmt: skip


def uniform_lines(chance: np.random.Generator, total: int) -> LineSet:
    """Heights in [100, 200], slopes in [-1, 1]."""
    drawn = np.stack([chance.uniform(100, 200, total), chance.uniform(-1, 1, total)], 1)
    return LineSet("uniform", drawn)


def normal_lines(chance: np.random.Generator, total: int) -> LineSet:
    """Heights around 150 by 50, slopes around 0 by 1."""
    drawn = np.stack([chance.normal(150, 50, total), chance.normal(0, 1, total)], 1)
    return LineSet("normal", drawn)


def stock_lines(chance: np.random.Generator, stock: str, total: int) -> LineSet:
    """Lines with the published moments of a stock, in the shapes that are told of three of them."""
    height, slope, height_variance, slope_variance = STOCKS[stock]
    spread = np.sqrt([height_variance, slope_variance])
    if stock == "4878":
        # Three clusters of heights, two of slopes in each; a tenth of the variance is inside them.
        centres = np.stack([
            height + spread[0] * np.sqrt(1.35) * (chance.integers(0, 3, total) - 1.0),
            slope + spread[1] * np.sqrt(0.9) * (2.0 * chance.integers(0, 2, total) - 1.0),
        ], 1)  # fmt: skip
        return LineSet(stock, centres + chance.normal(0, 1, (total, 2)) * spread * np.sqrt(0.1))
    if stock == "6973":
        heights = height + spread[0] * np.array([-2.0, -1.0, -0.5, 0.0, 0.3, 0.7, 1.5, 2.2])
        slopes = slope + spread[1] * np.array([-1.5, 0.0, 1.5])
        picked = [chance.choice(each, total) for each in (heights, slopes)]
        return LineSet(stock, np.stack(picked, 1))
    drawn = np.stack([chance.normal(height, spread[0], total), np.zeros(total)], 1)
    if stock == "6879":
        wild = chance.random(total) < WILD
        core = chance.normal(0, 0.1, total)
        drawn[:, 1] = np.where(wild, chance.normal(slope / WILD, 800.0, total), core)
    else:
        drawn[:, 1] = chance.normal(slope, spread[1], total)
    return LineSet(stock, drawn)


def histogram_estimate(bins: CoefficientBins, threshold: float, literal: bool = False) -> float:
    """Estimate by bins the share of lines that come below a number."""
    found = passed(bins, ValueBand(0, high=threshold), "literal" if literal else "repaired")
    return float((bins.frequency * found.pieces).sum() / bins.total)


def below(threshold: float, attributes: int = 1, attribute: int = 0) -> ModelComparison:
    """Give the condition that an attribute is below a number."""
    own = tuple(int(place == attribute) for place in range(attributes))
    row = polynomial((1.0, own), (-threshold, (0,) * attributes))
    return ModelComparison(polynomial=row, comparator="<")


def two_sided(values: Floats) -> Floats:
    """Give values on a two-sided logarithmic scale: sign(x)·(log|x| - k), k the least log|x|."""
    size = np.abs(values)
    logs = np.log10(np.where(size > 0, size, np.inf))
    least = float(np.quantile(logs[np.isfinite(logs)], 0.01)) if (size > 0).any() else 0.0
    scaled: Floats = np.where(size > 0, np.sign(values) * np.maximum(logs - least, 0.0), 0.0)
    return scaled
