"""Merging: neighbouring segments with one model become one segment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.kernels.polynomials import polynomials_shift
from penstock.models.segments import WIDTH, Segments
from penstock.vocabulary.batches import Floats

NEAR = 1e-9
"""The share of a model by which those of neighbours may differ, and the seconds between them."""


def merged(segments: Segments) -> Segments:
    """Merge neighbours of one key and sign whose models are equal; give all by key and time.

    Serials are not looked at: a merged segment has that of its first part.
    """
    if not len(segments):
        return segments
    starts = segments.reference + np.rint(segments.low * 1e6).astype(np.int64)
    order = np.lexsort((segments.low, starts, segments.sign, *segments.key.T[::-1]))
    segments = segments.take(order)
    one, two = segments.take(np.arange(len(order) - 1)), segments.take(np.arange(1, len(order)))
    later: Floats = np.multiply(two.reference - one.reference, 1e-6, dtype=np.float64)
    shifted = np.empty_like(one.coefficients)
    polynomials_shift(one.coefficients, later, shifted)
    span = np.maximum(two.high - two.low, one.high - one.low)
    powers = span[:, np.newaxis, np.newaxis] ** np.arange(WIDTH)
    apart = (np.abs(shifted - two.coefficients) * powers).max(axis=2)
    size = (np.maximum(np.abs(shifted), np.abs(two.coefficients)) * powers).max(axis=2)
    joins = (
        (apart <= NEAR * size).all(axis=1)
        & (np.abs(one.high - later - two.low) <= NEAR)
        & (one.key == two.key).all(axis=1)
        & (one.sign == two.sign)
        & ~one.points
        & ~two.points
    )
    first = np.concatenate(([True], ~joins))
    places = np.flatnonzero(first)
    last = np.append(places[1:], len(order)) - 1
    kept = segments.take(places)
    offset = (segments.reference[last] - kept.reference) * 1e-6
    return replace(kept, high=np.where(last == places, kept.high, segments.high[last] + offset))
