"""The space that the search walks: a model and a cost library as arrays over sets of inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from penstock.algebra.trees import Join, JoinPlan, Leaf, Pulled, Tree
from penstock.kernels import join_trees as kernels
from penstock.planning.costs import CostLibrary
from penstock.planning.model import JoinModel, SelectionModel
from penstock.planning.plan_costs import COMPOSITE_BYTES, REFERENCE_BYTES
from penstock.planning.selections import chain, merged, ranked
from penstock.vocabulary.batches import Floats, Ints

Flags = npt.NDArray[np.uint8]
Arrays = tuple[Floats, Floats, Floats, Floats, Ints, Ints, Floats, Ints, Floats, Floats, Flags]

SMALLEST = 1e-30
"""Stands in for a selectivity of 0, of which there is no logarithm."""


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Arrays for the kernels of `kernels.planning`, where they are described.

    `floating` are the selections whose place is searched; all others are asked at their inputs.
    """

    model: JoinModel
    library: CostLibrary
    floating: tuple[SelectionModel, ...]
    lines: Floats
    windows: Floats
    logs: Floats
    equal: Ints
    linked: Ints
    rows_weights: Floats
    bytes_weights: Floats
    waits: Ints
    shares: Floats
    ask_s: Floats
    between: Flags
    own: Floats
    """What a row of an input takes before it waits: for every input and set of selections."""
    leanings: Floats | None
    """How many times the mean the rows of every input (line) match in every set, if ways differ."""

    @property
    def inputs(self) -> int:
        """How many inputs there are."""
        return len(self.model.inputs)

    @property
    def states(self) -> int:
        """How many places arrays over states have."""
        return 1 << (self.inputs + len(self.floating))

    def turnovers(self, rates: Sequence[float] | Floats | None) -> Floats:
        """Give how often per second the rows of each set are renewed, for rates as given."""
        found = np.zeros(1 if self.leanings is None else self.leanings.shape[1])
        for number, given in enumerate(self.model.inputs):
            rate = given.rate if rates is None else rates[number]
            own = 0.0 if given.is_table else rate / given.window
            if self.leanings is None:
                found = np.concatenate((found, found + own))
            else:
                found += own * self.leanings[number]
        return found

    def weights(self, unit: str) -> Floats:
        """Give the memory of one kept row of each set, in rows or in bytes."""
        return self.bytes_weights if unit == "bytes" else self.rows_weights

    def leaves(self, rates: Sequence[float] | Floats | None) -> Iterator[tuple[int, float]]:
        """Give the states of the inputs alone, and what they take."""
        for number, given in enumerate(self.model.inputs):
            rate = given.rate if rates is None else float(rates[number])
            all_waiting = int(self.waits[1 << number])
            for pending in subsets(all_waiting):
                own = self.own[number, pending] * (0.0 if given.is_table else rate)
                yield 1 << number | pending << self.inputs, own

    def arrays(self, turnovers: Floats, weights: Floats) -> Arrays:
        """Give the arrays in the order in which kernels take them."""
        return (
            self.lines,
            self.windows,
            turnovers,
            self.logs,
            self.equal,
            self.linked,
            weights,
            self.waits,
            self.shares,
            self.ask_s,
            self.between,
        )

    def least(self, weights: Floats) -> Floats:
        """Give the memory that the rest of a plan takes at least, once a set has been joined."""
        kept = self.windows * self.shares[self.waits] * weights
        alone = 1 << np.arange(self.inputs)
        sets = np.arange(len(kept))[:, None]
        outside = np.where(sets & alone, 0.0, kept[alone]).sum(axis=1)
        found: Floats = outside + kept
        found[-1] = 0.0
        return found

    def pulled(self, selection: int, mask: int) -> Pulled:
        """Say that a floating selection is asked of the rows of a set."""
        given = self.floating[selection]
        return Pulled(input=given.input, part=given.part, mask=mask)


@lru_cache(maxsize=16)
def space_of(model: JoinModel, library: CostLibrary, floating: tuple[SelectionModel, ...]) -> Space:
    """Prepare the space of a model; the last few are kept, for searches that differ in rates."""
    count = len(model.inputs)
    sets = np.arange(1 << count, dtype=np.int64)
    windows, own = _inputs(model, floating, sets)
    logs, equal, linked = np.zeros(len(sets)), np.zeros_like(sets), np.zeros_like(sets)
    for each, mean in zip(model.predicates, model.means, strict=True):
        inside = sets & each.mask == each.mask
        windows[inside] *= mean
        linked += inside
        if each.is_equality:
            equal += inside
            logs[inside] += np.log(max(mean, SMALLEST))
    for key in model.classes:
        times = np.maximum(bit_counts(sets & key.mask) - 1, 0)
        windows *= np.power(key.selectivity, times)
        linked += times
        equal += times
        logs += times * np.log(max(key.selectivity, SMALLEST))
    waits = np.zeros_like(sets)
    shares = np.ones(1)
    for number, selection in enumerate(floating):
        waits |= np.where(sets >> selection.input & 1, 1 << number, 0)
        shares = np.concatenate((shares, shares * selection.selectivity))
    return Space(
        model=model,
        library=library,
        floating=floating,
        lines=_lines(library),
        windows=windows,
        logs=logs,
        equal=equal,
        linked=linked,
        rows_weights=np.ones(len(sets)),
        bytes_weights=_bytes(model, sets),
        waits=waits,
        shares=shares,
        ask_s=np.array([each.cost_s for each in floating], dtype=np.float64),
        between=np.array([each.part == "terms" for each in floating], dtype=np.uint8),
        own=own,
        leanings=_leanings(model, sets),
    )


def _bytes(model: JoinModel, sets: Ints) -> Floats:
    """Give the bytes of one kept row of each set."""
    found = COMPOSITE_BYTES + REFERENCE_BYTES * bit_counts(sets).astype(np.float64)
    for number, given in enumerate(model.inputs):
        found[1 << number] = given.row_bytes
    return found


def _leanings(model: JoinModel, sets: Ints) -> Floats | None:
    """Give the leanings of every input in each set that it is in; None if ways are the same."""
    if not model.leanings:
        return None
    found = np.array([sets >> number & 1 for number in range(len(model.inputs))], dtype=np.float64)
    for mask, number, times in model.leanings:
        found[number, sets & mask == mask] *= times
    return found


def _inputs(
    model: JoinModel, floating: tuple[SelectionModel, ...], sets: Ints
) -> tuple[Floats, Floats]:
    """Give the product of the inputs' windows in each set, and the inputs' own costs per row."""
    windows = np.ones(len(sets))
    own = np.zeros((len(model.inputs), 1 << len(floating)))
    pinned = [each for each in merged(model.selections) if each not in floating]
    for number, given in enumerate(model.inputs):
        fixed = [each for each in pinned if each.input == number]
        rows = given.window
        for each in fixed:
            rows *= each.selectivity
        windows[sets >> number & 1 == 1] *= rows
        mine = [place for place, each in enumerate(floating) if each.input == number]
        for pending in subsets(sum(1 << place for place in mine)):
            asked = [floating[place] for place in mine if not pending >> place & 1]
            own[number, pending] = sum(chain(1.0, ranked(fixed + asked)))
    return windows, own


def _lines(library: CostLibrary) -> Floats:
    offered = [each for each in library.table if each.is_offered]
    lines = np.zeros((len(offered), kernels.LINE))
    for line, each in zip(lines, offered, strict=True):
        line[kernels.PROBE] = each.probe_s
        line[kernels.PROBE_LOG] = each.probe_log_s
        line[kernels.PROBE_ROW] = each.probe_row_s
        line[kernels.PROBE_MATCH] = each.probe_match_s
        line[kernels.KEEP] = each.insert_s + each.invalidate_s
        line[kernels.KEEP_LOG] = each.insert_log_s + each.invalidate_log_s
        line[kernels.NEEDS_EQUALITY] = float(each.needs_equality)
        line[kernels.COMPOSITE_ROW] = each.probe_composite_s
        line[kernels.COMPOSITE] = library.composite_s
        line[kernels.COMPOSITE_MATCH] = library.composite_match_s
        line[kernels.SEVERAL] = library.several_s
        line[kernels.SEVERAL_MATCH] = library.several_match_s
    return lines


def floating_selections(model: JoinModel, library: CostLibrary) -> tuple[SelectionModel, ...]:
    """List the selections that may be cheaper above their input, the likeliest first.

    One that costs no more than what the rows it removes would cost at their first join, at the very
    least, belongs to its input in every best plan; so does one of a table.
    """
    offered = [each for each in library.table if each.is_offered]
    least = min(each.probe_s for each in offered) + min(
        each.insert_s + each.invalidate_s for each in offered
    )
    if len(model.inputs) == 1:
        return ()
    found = [
        each
        for each in merged(model.selections)
        if not model.inputs[each.input].is_table and each.cost_s > (1.0 - each.selectivity) * least
    ]
    return tuple(reversed(ranked(found)))


def subsets(mask: int) -> Iterator[int]:
    """Give all subsets of a set, the set first.

    >>> list(subsets(0b101))
    [5, 4, 1, 0]
    """
    part = mask
    while part:
        yield part
        part = (part - 1) & mask
    yield 0


def bit_counts(values: Ints) -> Ints:
    """Count the members of every set.

    >>> bit_counts(np.array([0, 5, 7])).tolist()
    [0, 2, 3]
    """
    found = np.zeros_like(values)
    while values.any():
        found += values & 1
        values = values >> 1
    return found


def tree_masks(tree: Tree) -> list[int]:
    """List the sets of all nodes of a tree."""
    if isinstance(tree, Leaf):
        return [tree.mask]
    return [*tree_masks(tree.left), *tree_masks(tree.right), tree.mask]


def joined(left: Tree, right: Tree) -> Join:
    """Join two parts, an input alone on the right: as left-deep trees are written."""
    turns = isinstance(left, Leaf) and (isinstance(right, Join) or right.input < left.input)
    return Join(right, left) if turns else Join(left, right)


def traced(space: Space, splits: Ints, asked: Ints) -> JoinPlan:
    """Read the best plan out of the arrays that `plans_best` filled."""
    pulled: list[Pulled] = []

    def read(mask: int, pending: int) -> Tree:
        if mask & (mask - 1) == 0:
            return Leaf(mask.bit_length() - 1)
        state = mask | pending << space.inputs
        while (selection := int(asked[state])) >= 0:
            pulled.append(space.pulled(selection, mask))
            state |= 1 << selection + space.inputs
        left = int(splits[state])
        waiting = state >> space.inputs
        sides = (left, mask ^ left)
        return joined(*(read(side, waiting & int(space.waits[side])) for side in sides))

    tree = read(space.model.everything, 0)
    return JoinPlan(tree=tree, pulled=tuple(pulled))


def traced_entry(space: Space, sources: Ints, entry: int) -> JoinPlan:
    """Read one plan out of the lists that `plans_list` filled."""
    pulled: list[Pulled] = []

    def read(mask: int, pending: int, entry: int) -> Tree:
        if mask & (mask - 1) == 0:
            return Leaf(mask.bit_length() - 1)
        left, one, other, selection = map(int, sources[mask | pending << space.inputs, entry])
        if selection >= 0:
            pulled.append(space.pulled(selection, mask))
            return read(mask, pending | 1 << selection, one)
        right = mask ^ left
        return joined(
            read(left, pending & int(space.waits[left]), one),
            read(right, pending & int(space.waits[right]), other),
        )

    tree = read(space.model.everything, 0, entry)
    return JoinPlan(tree=tree, pulled=tuple(pulled))
