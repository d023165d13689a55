"""Scattering: numbers spread over 64 bits, so that drop boxes choose rows without a pattern."""

from __future__ import annotations

import numpy as np

from penstock.vocabulary.batches import Words

GOLDEN = 0x9E3779B97F4A7C15
"""By how much splitmix64 moves on from number to number."""


def splitmix(words: Words) -> Words:
    """Give the numbers of splitmix64 that belong to these seeds.

    >>> [hex(word) for word in splitmix(np.array([0], dtype=np.uint64)).tolist()]
    ['0xe220a8397b1dcdaf']
    """
    mixed = words + np.uint64(GOLDEN)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
