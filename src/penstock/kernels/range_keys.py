"""Keys of tuples in sorted columns: where pairs (partition, x) lie among them."""

from __future__ import annotations

from penstock.kernels.arrays import Ints
from penstock.kernels.compilation import tight


@tight
def keys_seek(
    partitions: Ints, xs: Ints, asked: Ints, asked_xs: Ints, after: int, places: Ints
) -> None:
    """Write how many sorted keys are below each that is asked, or, if `after` is 1, up to it."""
    for k in range(len(asked)):
        p, x = asked[k], asked_xs[k]
        low, high = 0, len(xs)
        while low < high:
            middle = (low + high) >> 1
            at_p, at_x = partitions[middle], xs[middle]
            if at_p < p or (at_p == p and (at_x < x or (after == 1 and at_x == x))):
                low = middle + 1
            else:
                high = middle
        places[k] = low
