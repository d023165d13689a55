"""The examples of the literature: queries whose plans, costs and throughputs are known exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.algebra.trees import Join, Leaf, Tree
from penstock.planning.model import InputModel, JoinModel, PredicateModel, SelectionModel


def chain(
    rates: Sequence[float],
    windows: Sequence[float],
    selectivities: Sequence[float],
    *,
    ranges: bool = False,
) -> JoinModel:
    """Give a query whose neighbours meet: a with b, b with c, …; windows count rows or seconds.

    >>> chain([10, 20], [10, 10], [0.5]).names
    ('a', 'b')
    """
    names = "abcdefghijklmnopqrstuvwxyz"
    return JoinModel(
        inputs=tuple(
            InputModel(name=name, rate=rate, range_s=window)
            if ranges
            else InputModel(name=name, rate=rate, rows=window)
            for name, rate, window in zip(names, rates, windows, strict=False)
        ),
        predicates=tuple(
            PredicateModel(mask=0b11 << number, selectivity=selectivity)
            for number, selectivity in enumerate(selectivities)
        ),
    )


def tree(text: str) -> Tree:
    """Read a tree of inputs that have one letter each.

    >>> tree("((ab)c)") == Join(Join(Leaf(0), Leaf(1)), Leaf(2))
    True
    """
    stack: list[list[Tree]] = [[]]
    for letter in text:
        if letter == "(":
            stack.append([])
        elif letter == ")":
            left, right = stack.pop()
            stack[-1].append(Join(left, right))
        else:
            stack[-1].append(Leaf(ord(letter) - ord("a")))
    ((found,),) = stack
    return found


EXAMPLE_1 = chain((10, 20, 70), (10, 10, 10), (0.5, 0.2))
"""Example 1: three streams in windows of ten rows."""
EXAMPLE_1_PLANS = {"a": tree("((ab)c)"), "b": tree("((bc)a)"), "c": tree("((ac)b)")}

FIGURE_4 = JoinModel(
    inputs=(InputModel(name="a", rate=1000, rows=1),),
    selections=(
        SelectionModel(input=0, part="terms", selectivity=0.25, cost_s=0.0005),
        SelectionModel(input=0, part="residual", selectivity=0.5, cost_s=0.001),
    ),
)
"""Figure 4: two selections of one stream, whose order decides whether they keep up."""

B4 = chain((10, 20, 30, 40), (10, 20, 30, 40), (0.1, 0.05, 0.02))
"""Four streams whose cheapest plan is bushy, and is not the one to shed."""
INV3 = chain((100, 10, 20), (10, 100, 100), (0.1, 0.5))
"""Three streams whose cheapest plan keeps half of what another keeps."""
CART = chain((5, 80, 5), (100, 5, 100), (0.1, 0.2))
"""Three streams where a Cartesian product keeps most."""


def drawn_chain(rng: np.random.Generator, streams: int) -> JoinModel:
    """Draw a query of the random study: rates and windows 5 to 200, selectivities .005 to .3."""
    rates, windows = np.exp(rng.uniform(np.log(5), np.log(200), (2, streams)))
    return chain(
        rates.tolist(),
        windows.tolist(),
        np.exp(rng.uniform(np.log(0.005), np.log(0.3), streams - 1)).tolist(),
    )
