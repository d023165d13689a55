"""Trees of many inputs: built greedily, then improved step by step until no step helps.

Not exact. The greedy tree joins, again and again, the two parts whose result has the smallest rate;
a step cuts out a part of the tree and puts it in elsewhere. [X]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from penstock.algebra.trees import Join, Leaf, Tree
from penstock.kernels import planning as kernels
from penstock.planning.space import Space, joined, tree_masks

Figures = tuple[float, float, float]
"""What trees are ordered by: beyond the bound by how much, then the objective, then the other."""
STEPS_MAX = 200
"""How often one tree is improved."""


class Prices:
    """What joins of two sets take and keep, each reckoned once; selections are at the inputs."""

    def __init__(
        self,
        space: Space,
        *,
        rates: Sequence[float] | npt.NDArray[np.float64] | None,
        by_memory: bool,
        worst: bool,
        products: bool,
        unit: str,
        bound: float,
    ) -> None:
        self.space = space
        self.turnovers = space.turnovers(rates)
        self.weights = space.weights(unit)
        self.by_memory = by_memory
        self.sign = -1.0 if worst else 1.0
        self.products = products
        self.bound = bound
        self.known: dict[tuple[int, int], tuple[float, float]] = {}

    def linked(self, left: int, right: int) -> bool:
        """Say whether a predicate joins two sets."""
        linked = self.space.linked
        return bool(linked[left | right] > linked[left] + linked[right])

    def rate(self, mask: int) -> float:
        """Give the rate of a set's join."""
        return float(self.space.windows[mask] * self.turnovers[mask])

    def join(self, left: int, right: int) -> tuple[float, float]:
        """Give the processing and the memory of one join."""
        key = (min(left, right), max(left, right))
        found = self.known.get(key)
        if found is None:
            space = self.space
            mask = left | right
            meets = bool(space.equal[mask] > space.equal[left] + space.equal[right])
            f = float(np.exp(space.logs[mask] - space.logs[left] - space.logs[right]))
            rows = space.windows[left], space.windows[right]
            spent = kernels.join_cost(
                0.0, left, right, *rows, f, meets, self.turnovers, space.linked, space.lines
            )
            kept = rows[0] * self.weights[left] + rows[1] * self.weights[right]
            found = self.known[key] = (float(spent), float(kept))
        return found

    def tree(self, tree: Tree) -> Figures | None:
        """Give what a tree is ordered by; None if it has a product, and products are forbidden."""
        spent = kept = 0.0
        waiting: list[Tree] = [tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Leaf):
                continue
            left, right = node.left.mask, node.right.mask
            if not self.products and not self.linked(left, right):
                return None
            own = self.join(left, right)
            spent += own[0]
            kept += own[1]
            waiting += (node.left, node.right)
        first, second = (kept, spent) if self.by_memory else (spent, kept)
        return max(second - self.bound, 0.0), self.sign * first, self.sign * second


def improved_trees(
    space: Space,
    starts: Sequence[Tree],
    *,
    rates: Sequence[float] | npt.NDArray[np.float64] | None,
    by_memory: bool,
    worst: bool,
    products: bool,
    unit: str,
    bound: float,
    count: int,
) -> list[Tree]:
    """Improve the given trees and greedy ones; give the best `count` of all that were met."""
    prices = Prices(
        space,
        rates=rates,
        by_memory=by_memory,
        worst=worst,
        products=products,
        unit=unit,
        bound=bound,
    )
    met: dict[frozenset[int], tuple[Figures, Tree]] = {}

    def look(tree: Tree) -> Figures | None:
        key = frozenset(tree_masks(tree))
        if key in met:
            return met[key][0]
        figures = prices.tree(tree)
        if figures is not None:
            met[key] = figures, tree
        return figures

    for start in (*starts, *greedy_trees(prices)):
        best, figures = start, look(start)
        for _ in range(STEPS_MAX):
            steps = ((look(tree), tree) for tree in neighbours(best))
            step = next((each for each in steps if _is_better(each[0], figures)), None)
            if step is None:
                break
            figures, best = step
    order = sorted(met.values(), key=lambda each: each[0])
    return [tree for _, tree in order[:count]]


def _is_better(found: Figures | None, best: Figures | None) -> bool:
    return found is not None and (best is None or found < best)


def greedy_trees(prices: Prices) -> Iterator[Tree]:
    """Build trees by the smallest (for the worst: the largest) next rate, and next window."""
    space = prices.space
    for measure in (prices.rate, lambda mask: float(space.windows[mask])):
        parts: list[Tree] = [Leaf(number) for number in range(space.inputs)]
        while len(parts) > 1:
            pairs = [
                (prices.sign * measure(one.mask | other.mask), first, second)
                for (first, one), (second, other) in combinations(enumerate(parts), 2)
                if prices.products or prices.linked(one.mask, other.mask)
            ]
            if not pairs:
                return
            _, first, second = min(pairs)
            both = joined(parts[first], parts[second])
            parts = [part for place, part in enumerate(parts) if place not in (first, second)]
            parts.append(both)
        yield parts[0]


def neighbours(tree: Tree) -> Iterator[Tree]:
    """Give the trees one step away: a part is cut out and put in at another place.

    >>> from penstock.algebra.trees import shown
    >>> tree = Join(Join(Leaf(0), Leaf(1)), Leaf(2))
    >>> sorted({shown(each, "abc") for each in neighbours(tree)})
    ['(a ⋈ c) ⋈ b', '(b ⋈ c) ⋈ a']
    """
    whole = tree.mask
    for part in _parts(tree):
        if part.mask == whole:
            continue
        rest = _without(tree, part.mask)
        for place in _parts(rest):
            found = _with(rest, place.mask, part)
            if set(tree_masks(found)) != set(tree_masks(tree)):
                yield found


def _parts(tree: Tree) -> Iterator[Tree]:
    yield tree
    if isinstance(tree, Join):
        yield from _parts(tree.left)
        yield from _parts(tree.right)


def _without(tree: Tree, mask: int) -> Tree:
    assert isinstance(tree, Join)
    for side, other in ((tree.left, tree.right), (tree.right, tree.left)):
        if side.mask == mask:
            return other
        if side.mask & mask:
            return joined(_without(side, mask), other)
    raise AssertionError("the part is in the tree")


def _with(tree: Tree, mask: int, part: Tree) -> Tree:
    if tree.mask == mask:
        return joined(tree, part)
    assert isinstance(tree, Join)
    if tree.left.mask & mask:
        return joined(_with(tree.left, mask, part), tree.right)
    return joined(tree.left, _with(tree.right, mask, part))
