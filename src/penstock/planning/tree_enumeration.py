"""All trees of joins over a few inputs: what a search is measured against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from penstock.algebra.trees import Join, Leaf, Tree

Shape = Literal["bushy", "left-deep"]


def trees(inputs: int | Sequence[int], shape: Shape = "bushy") -> Iterator[Tree]:
    """Give every tree once; left and right are not told apart.

    There are (2n - 3)!! of them, and n! / 2 left-deep ones.

    >>> len(list(trees(4))), len(list(trees(4, "left-deep")))
    (15, 12)
    """
    leaves = tuple(range(inputs)) if isinstance(inputs, int) else tuple(inputs)
    if len(leaves) == 1:
        yield Leaf(leaves[0])
        return
    first, rest = leaves[0], leaves[1:]
    for chosen in range((1 << len(rest)) - 1):
        left = (first, *(each for place, each in enumerate(rest) if chosen >> place & 1))
        right = tuple(each for place, each in enumerate(rest) if not chosen >> place & 1)
        if shape == "left-deep" and len(left) > 1 and len(right) > 1:
            continue
        for one in trees(left, shape):
            for other in trees(right, shape):
                yield Join(one, other)
