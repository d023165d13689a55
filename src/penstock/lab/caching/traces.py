"""References like those of the web: few keys are asked for often, and what is asked for changes.

Numbers of keys say nothing: they are shuffled, so that no law of numbers fits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.lab.draws import generator
from penstock.vocabulary.batches import Ints

WONDERS = 0.2
"""The share of references to keys that never come again."""
LIVES = 1
"""How many times over all keys are renewed in a drifting trace."""
SCANS = 0.3
"""The share of references that go round in loops."""
SCAN_RUN = 500
"""References of one go at a loop."""


def zipf(keys: int, exponent: float, length: int, rng: np.random.Generator) -> Ints:
    """Draw ranks from 0 on whose chance falls as a power of their number."""
    sums = np.cumsum(np.arange(1, keys + 1) ** -exponent)
    places = np.searchsorted(sums, rng.random(length) * sums[-1], side="right")
    found: Ints = np.minimum(places, keys - 1).astype(np.int64)
    return found


def wonders(keys: int, length: int, seed: int) -> Ints:
    """Draw from a Zipf law, with keys in between that come once."""
    rng = generator(seed, 21)
    found = rng.permutation(keys)[zipf(keys, 0.9, length, rng)]
    once = np.flatnonzero(rng.random(length) < WONDERS)
    found[once] = keys + rng.permutation(len(once))
    return found


def drifting(keys: int, length: int, seed: int) -> Ints:
    """Draw from a Zipf law whose keys appear at its top and fall rank by rank."""
    rng = generator(seed, 22)
    ranks = zipf(keys, 1.0, length, rng)
    renewed = np.arange(length) * LIVES * keys // length
    found: Ints = rng.permutation((LIVES + 1) * keys)[ranks - renewed + LIVES * keys]
    return found


def looping(keys: int, length: int, seed: int) -> Ints:
    """Draw from a Zipf law over half the keys, with goes at a loop over the other half between."""
    rng = generator(seed, 23)
    half = keys // 2
    found = zipf(half, 0.8, length, rng)
    run = min(SCAN_RUN, length)
    in_scan = np.repeat(rng.random(length // run + 1) < SCANS, run)[:length]
    found[in_scan] = half + np.arange(int(in_scan.sum())) % (keys - half)
    return np.asarray(rng.permutation(keys)[found], dtype=np.int64)


WEB_LIKE: dict[str, Callable[[int, int, int], Ints]] = {
    "wonders": wonders,
    "drifting": drifting,
    "looping": looping,
}
"""Keys, length and seed give a trace."""
