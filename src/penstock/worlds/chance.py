"""Chance without state: bits that are a pure function of a number, a seed and a salt.

Only additions, multiplications and rounding are used, which every machine does alike, so the same
seed gives the same bits everywhere.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.vocabulary.batches import Floats, Ints

Hashes = npt.NDArray[np.uint64]


def mix(numbers: Ints, seed: int, salt: int) -> Hashes:
    """Mix each number into 64 even bits (splitmix64's finaliser)."""
    key = ((seed << 32) ^ salt) * 0x9E37_79B9_7F4A_7C15 & 0xFFFF_FFFF_FFFF_FFFF
    x = numbers.astype(np.uint64) + np.uint64(key)
    x *= np.uint64(0x9E37_79B9_7F4A_7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58_476D_1CE4_E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D0_49BB_1331_11EB)
    x ^= x >> np.uint64(31)
    return x


def bits(hashes: Hashes, low: int, count: int) -> Ints:
    """Cut `count` bits out of each hash, from bit `low` on."""
    return ((hashes >> np.uint64(low)) & np.uint64((1 << count) - 1)).astype(np.int64)


def wave(turns: Floats) -> Floats:
    """Swing between -1 and 1 once per turn: a sine made of two parabolas, exact everywhere."""
    z = 2.0 * (turns - np.floor(turns)) - 1.0
    return np.asarray(4.0 * z * (1.0 - np.abs(z)))
