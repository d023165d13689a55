"""Trees of many inputs: built greedily, then improved step by step until no step helps.

Not exact. The greedy tree joins, again and again, the two parts whose result has the smallest rate;
a step cuts out a part of the tree and puts it in elsewhere. [X]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from penstock.algebra.trees import Leaf, Tree, joins_of
from penstock.kernels import large_join_trees as kernels
from penstock.planning.searched import Wanted
from penstock.planning.space import Space, joined
from penstock.vocabulary.batches import Ints

STEPS_MAX = 200
"""How often one tree is improved."""


def improved_trees(
    space: Space, starts: Sequence[Tree], wanted: Wanted, bound: float = inf, count: int = 1
) -> list[tuple[float, Tree]]:
    """Improve the given trees and greedy ones; give the best `count` of all that were met.

    Each comes with what its joins take of the objective (for the worst: less than nothing). Trees
    within the bound, on processing or memory, whichever is not the objective, go first.
    """
    inputs = space.inputs
    sets = (
        space.lines,
        space.windows,
        space.turnovers(wanted.rates),
        space.logs,
        space.equal,
        space.linked,
        space.weights(wanted.memory_unit),
    )
    kept = (
        np.full((count, 3), np.inf),
        np.zeros(count, dtype=np.int64),
        np.zeros((count, inputs - 1, 2), dtype=np.int64),
    )
    for nodes in (*map(_nodes, starts), *_greedy(inputs, wanted.options, sets)):
        kernels.tree_improve(inputs, wanted.options, bound, STEPS_MAX, sets, nodes, kept)
    met = int(np.isfinite(kept[0][:, kernels.FIRST]).sum())
    figures = kept[0][:met, kernels.FIRST]
    return [(float(own), _tree(joins)) for own, joins in zip(figures, kept[2][:met], strict=True)]


def _greedy(inputs: int, options: int, sets: kernels.Sets) -> Iterator[kernels.Nodes]:
    """Build trees by the smallest (for the worst: the largest) next rate, and next window."""
    for by_window in (False, True):
        nodes = _empty(inputs)
        if kernels.tree_greedy(inputs, by_window, options, sets, nodes):
            yield nodes


def _empty(inputs: int) -> kernels.Nodes:
    return (*np.full((4, 2 * inputs - 1), -1, dtype=np.int64),)


def _nodes(tree: Tree) -> kernels.Nodes:
    """Write a tree as the kernels take it."""
    inputs = tree.mask.bit_count()
    left, right, parent, masks = nodes = _empty(inputs)
    places = {1 << number: number for number in range(inputs)}
    masks[:inputs] = 1 << np.arange(inputs)
    for place, join in enumerate(joins_of(tree), start=inputs):
        places[join.mask] = place
        masks[place] = join.mask
    for join in joins_of(tree):
        place = places[join.mask]
        left[place], right[place] = places[join.left.mask], places[join.right.mask]
        parent[left[place]] = parent[right[place]] = place
    return nodes


def _tree(joins: Ints) -> Tree:
    """Read a tree of the kernels."""
    parts = {int(one | other): (int(one), int(other)) for one, other in joins}

    def read(mask: int) -> Tree:
        if mask & (mask - 1) == 0:
            return Leaf(mask.bit_length() - 1)
        one, other = parts[mask]
        return joined(read(one), read(other))

    return read(max(parts))
