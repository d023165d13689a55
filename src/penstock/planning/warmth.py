"""Warmth: the planner's kernels, compiled before somebody asks for a plan."""

from __future__ import annotations

from penstock.planning.costs import Constant
from penstock.planning.model import InputModel, JoinModel, PredicateModel
from penstock.planning.optimiser import optimise
from penstock.planning.search import best_plans, search

INPUTS = 4
LIBRARY = Constant(0.0005)


def warm_up() -> None:
    """Plan a small join in every way, also as if it were too large to try every tree."""
    inputs = tuple(
        InputModel(name=f"i{number}", rate=10.0 * (number + 1), rows=10) for number in range(INPUTS)
    )
    predicates = tuple(
        PredicateModel(mask=3 << number, selectivity=0.2) for number in range(INPUTS - 1)
    )
    model = JoinModel(inputs=inputs, predicates=predicates)
    optimise(model, LIBRARY)
    best_plans(model, LIBRARY, 2)
    search(model, LIBRARY, worst=True)
    search(model, LIBRARY, objective="memory")
    search(model, LIBRARY, memory_max=1e6)
    search(model, LIBRARY, n_max=INPUTS - 1)
