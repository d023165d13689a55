"""Digests: rows of several columns as one 64-bit number, the same on every machine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.arrays import Flags, Ints, Words
from penstock.kernels.compilation import kernel
from penstock.kernels.hash_tables import MULTIPLIER, word_hash

MISSING = 0x5BD1E9955BD1E995


@kernel
def numbers_digest(keys: Ints, valid: Flags, digests: Words) -> None:
    """Mix a column of numbers into the digests; NULL is a value of its own."""
    for row in range(len(digests)):
        own = word_hash(np.uint64(keys[row])) if valid[row] else np.uint64(MISSING)
        digests[row] = word_hash(digests[row] * np.uint64(MULTIPLIER) + own)


@kernel
def digests_divide(digests: Words, count: int, shards: npt.NDArray[np.int32]) -> None:
    """Give every digest its shard."""
    for row in range(len(digests)):
        shards[row] = np.int32(digests[row] % np.uint64(count))


@kernel
def roundest(lows: Ints, highs: Ints, points: Ints) -> None:
    """Give the number in each range [low, high] that has the most trailing zero bits."""
    for i in range(len(points)):
        # In unsigned order, so that zero lies where the signed order has its smallest number.
        low = np.uint64(lows[i]) ^ np.uint64(1 << 63)
        high = np.uint64(highs[i]) ^ np.uint64(1 << 63)
        point = high
        if low == np.uint64(0):
            point = low
        else:
            while point & (point - np.uint64(1)) >= low:
                point &= point - np.uint64(1)
        points[i] = np.int64(point ^ np.uint64(1 << 63))
