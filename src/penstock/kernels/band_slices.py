"""Slices of bands: of sorted lower ends, those between two numbers, in one part of them each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.compilation import tight

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@tight
def bands_slice(
    lows: Floats, begins: Ints, part: Ints, least: Floats, most: Floats, first: Ints, last: Ints
) -> None:
    """Write where, in a part of sorted numbers, those begin and end that lie in a closed range.

    A part below zero has none.
    """
    for i in range(len(part)):
        if part[i] < 0:
            first[i] = last[i] = 0
            continue
        begin, end = begins[part[i]], begins[part[i] + 1]
        low, high = begin, end
        while low < high:
            middle = (low + high) // 2
            if lows[middle] < least[i]:
                low = middle + 1
            else:
                high = middle
        first[i] = low
        high = end
        while low < high:
            middle = (low + high) // 2
            if lows[middle] <= most[i]:
                low = middle + 1
            else:
                high = middle
        last[i] = low
