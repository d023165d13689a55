"""Sampling: segments as values at regular instants."""

from __future__ import annotations

import numpy as np

from penstock.kernels.polynomials import polynomials_evaluate
from penstock.models.segments import Segments
from penstock.vocabulary.batches import Floats, Ints


def limits(segments: Segments) -> tuple[Ints, Ints]:
    """Give the event times, rounded to microseconds, at which segments begin and end."""
    begin = segments.reference + np.rint(segments.low * 1e6).astype(np.int64)
    end = segments.reference + np.rint(segments.high * 1e6).astype(np.int64)
    return begin, end


def sample(segments: Segments, every_us: int) -> tuple[Ints, Ints, Floats]:
    """Give segments at all multiples of a period that they hold at, and points where they are.

    Returns
    -------
    tuple
        The number of the segment, the event time, and the values (n, attributes) of each sample,
        segment by segment, in the order of time.
    """
    begin, end = limits(segments)
    first = -(-begin // every_us)
    count = np.maximum(-(-end // every_us) - first, 0)
    points = segments.points
    count[points] = 1
    index = np.repeat(np.arange(len(segments)), count)
    place = np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count)
    at = np.where(points[index], begin[index], (first[index] + place) * every_us)
    values = np.empty((len(index), segments.coefficients.shape[1]))
    later: Floats = np.multiply(at - segments.reference[index], 1e-6, dtype=np.float64)
    later[points[index]] = segments.low[index][points[index]]
    polynomials_evaluate(segments.coefficients[index], later, values)
    return index, at, values
