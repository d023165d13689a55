"""Solving: runs of the dynamic programme over a space, and their plans read out."""

from __future__ import annotations

from math import inf

import numpy as np
import numpy.typing as npt

from penstock.algebra.trees import JoinPlan
from penstock.kernels import join_trees as kernels
from penstock.planning.costs import CostLibrary
from penstock.planning.model import JoinModel, SelectionModel
from penstock.planning.searched import Wanted
from penstock.planning.space import Space, floating_selections, traced, traced_entry

FLOATING_MAX = 4
STATES_BITS_MAX = 16
"""How many selections' places are searched: so many, or as many as so many states allow."""


def floating_max(model: JoinModel) -> int:
    """Say for how many selections places are searched."""
    return max(STATES_BITS_MAX - len(model.inputs), FLOATING_MAX)


def floating_places(
    model: JoinModel, library: CostLibrary, wanted: Wanted, splits_max: int
) -> tuple[tuple[SelectionModel, ...], bool]:
    """Choose the selections whose place is searched; say whether these are all that matter."""
    # Memory is always less when rows that are not wanted go first.
    pushing = wanted.objective == "memory" and wanted.cpu_max is None
    if not wanted.pulling or wanted.worst or pushing:
        return (), True
    every = floating_selections(model, library)
    found: list[SelectionModel] = []
    bits = [0] * len(model.inputs)
    for each in every:
        bits[each.input] += 1
        if wanted.shape == "left-deep":
            splits = len(bits) * np.prod([1.0 + 2.0**own for own in bits])
        else:
            splits = np.prod([1.0 + 2.0 * 2.0**own for own in bits]) / 2
        if splits > splits_max or len(found) == floating_max(model):
            return tuple(found), False
        found.append(each)
    return tuple(found), True


def solved(
    space: Space,
    wanted: Wanted,
    allowed: npt.NDArray[np.uint8] | None = None,
    limit: float = inf,
) -> JoinPlan | None:
    """Run the search for one plan; None if products are needed and forbidden.

    `limit` is what some plan is known to take: nothing that takes more is looked at.
    """
    if allowed is None:
        allowed = np.ones(1 << space.inputs, dtype=np.uint8)
    start = -inf if wanted.worst else inf
    cpu, memory = np.full(space.states, start), np.full(space.states, start)
    splits = np.full(space.states, kernels.NONE, dtype=np.int64)
    asked = np.full(space.states, -1, dtype=np.int64)
    for state, own in space.leaves(wanted.rates):
        cpu[state], memory[state], splits[state] = own, 0.0, kernels.LEAF
    arrays = space.arrays(space.turnovers(wanted.rates), space.weights(wanted.memory_unit))
    kernels.plans_best(
        space.inputs, wanted.options, limit, allowed, *arrays, cpu, memory, splits, asked
    )
    if splits[space.model.everything] == kernels.NONE:
        return None
    return traced(space, splits, asked)


def listed(
    space: Space,
    wanted: Wanted,
    count: int,
    cpu_max: float = inf,
    memory_max: float = inf,
    frontier: bool = False,
) -> tuple[list[JoinPlan], bool]:
    """Run the search for several plans, ascending in the objective; say if lists were too short."""
    allowed = np.ones(1 << space.inputs, dtype=np.uint8)
    counts = np.zeros(space.states, dtype=np.int64)
    cpu, memory = np.zeros((space.states, count)), np.zeros((space.states, count))
    sources = np.zeros((space.states, count, 4), dtype=np.int64)
    for state, own in space.leaves(wanted.rates):
        cpu[state, 0], counts[state] = own, 1
    weights = space.weights(wanted.memory_unit)
    arrays = space.arrays(space.turnovers(wanted.rates), weights)
    lost = kernels.plans_list(
        space.inputs, wanted.options, allowed, *arrays, frontier, cpu_max, memory_max,
        space.least(weights), counts, cpu, memory, sources,
    )  # fmt: skip
    everything = space.model.everything
    plans = [traced_entry(space, sources, entry) for entry in range(counts[everything])]
    return plans, lost
