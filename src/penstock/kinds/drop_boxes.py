"""Drop boxes, as verification sees them: which rows pass, by the documented rule."""

from __future__ import annotations

from math import ceil

import numpy as np

from penstock.vocabulary.batches import Flags, Ints, Words


def passing(number: int | None, arrivals: Ints, share: float) -> Flags:
    """Say which rows of an input a drop box lets pass: a hash of their arrival number decides.

    Rows of filters have no input, so no salt, and event times instead of numbers.
    """
    if share >= 1.0:
        return np.ones(len(arrivals), dtype=np.bool_)
    salt = np.uint64(0) if number is None else _mixed(np.array([number], dtype=np.uint64))
    passed: Flags = _mixed(arrivals.astype(np.uint64) + salt) < np.uint64(ceil(share * 2.0**64))
    return passed


def _mixed(words: Words) -> Words:
    """Scatter numbers over all of 64 bits: splitmix64."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(31))
