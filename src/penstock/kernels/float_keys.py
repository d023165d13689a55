"""Keying: floats as integers of the same order."""

from __future__ import annotations

import numpy as np

from penstock.kernels.arrays import Flags, Floats, Ints
from penstock.kernels.compilation import kernel

MAGNITUDE = (1 << 63) - 1


@kernel
def floats_key(values: Floats, bits: Ints, keys: Ints, valid: Flags) -> None:
    """Write keys that compare as the floats do; 0.0 and -0.0 are one, NaN is not valid.

    `bits` is the same memory as `values`, read as integers.
    """
    for i in range(len(values)):
        pattern = bits[i]
        key = pattern ^ ((pattern >> 63) & MAGNITUDE)
        keys[i] = key + np.int64(pattern == LOWEST)
        valid[i] = values[i] == values[i]


LOWEST = -(1 << 63)
"""The bits of -0.0, whose key -1 moves to 0."""
