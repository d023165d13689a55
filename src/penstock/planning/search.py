"""Search: the plan of a multi-way window join that takes the least processing or memory.

Rates and windows of a set of inputs do not depend on the tree below it, so that dynamic programming
over sets (and over the selections asked so far) is exact. [D] after Ayad and Naughton 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np

from penstock.algebra.trees import JoinPlan, Tree
from penstock.planning.costs import CostLibrary
from penstock.planning.model import JoinModel
from penstock.planning.plan_costs import Costing, cost
from penstock.planning.searched import N_MAX, Objective, Searched, Unit, Wanted
from penstock.planning.solutions import floating_max, floating_places, listed, solved
from penstock.planning.space import floating_selections, space_of, tree_masks
from penstock.planning.tree_enumeration import Shape
from penstock.planning.tree_improvement import improved_trees
from penstock.vocabulary.batches import Floats
from penstock.vocabulary.errors import PenstockError

__all__ = ["Searched", "best_plans", "improved_plans", "placed", "search"]


INPUTS_MAX = 16
SPLITS_MAX = 500_000
"""How many splits a search looks at; selections that would make it more stay at their inputs."""
FRONTIER = 48
"""How many plans that none beats in both processing and memory are kept of every set."""
SLACK = 1.0 + 1e-9
"""Bounds inside the search are loosened by this, lest rounding loses the plan at the bound."""
LIMITED_MIN = 9
"""From so many inputs on it pays to know some good plan before all are searched."""
SPARE = 3
"""How many more plans than wanted are listed where several differ in selections only."""


def search(
    model: JoinModel,
    library: CostLibrary,
    *,
    objective: Objective = "cpu",
    shape: Shape = "bushy",
    products: bool = True,
    worst: bool = False,
    rates: Sequence[float] | Floats | None = None,
    memory_max: float | None = None,
    memory_unit: Unit = "rows",
    cpu_max: float | None = None,
    n_max: int = N_MAX,
    pulling: bool = True,
    starts: Sequence[Tree] = (),
) -> Searched:
    """Find the plan that takes the least of the objective, or (`worst`) the dearest order.

    `memory_max` bounds the memory of a plan that takes the least processing, `cpu_max` the
    processing of one that takes the least memory. `rates` stand in for the model's, its windows
    unchanged. Without `pulling` all selections are asked at their inputs, as in the dearest order.
    Bushy trees of more than `n_max` inputs are searched by heuristics. `starts` are trees that were
    good under other rates: the search begins with them.

    >>> from penstock.algebra.trees import shown
    >>> from penstock.planning.costs import Constant
    >>> from penstock.planning.model import InputModel, PredicateModel
    >>> inputs = tuple(InputModel(name=n, rate=r, rows=10) for n, r in zip("abc", (10, 20, 70)))
    >>> ab, bc = PredicateModel(mask=3, selectivity=0.5), PredicateModel(mask=6, selectivity=0.2)
    >>> model = JoinModel(inputs=inputs, predicates=(ab, bc))
    >>> shown(search(model, Constant(0.0005)).plan.tree, "abc")
    '(a ⋈ b) ⋈ c'
    >>> shown(search(model, Constant(0.0005), objective="memory").plan.tree, "abc")
    '(b ⋈ c) ⋈ a'
    """
    wanted = Wanted(
        objective=objective,
        shape=shape,
        products=products,
        worst=worst,
        rates=None if rates is None else tuple(float(rate) for rate in rates),
        memory_max=memory_max,
        memory_unit=memory_unit,
        cpu_max=cpu_max,
        n_max=n_max,
        pulling=pulling,
        starts=tuple(starts),
    )
    _check_size(model)
    if _is_large(model, wanted):
        return improved_plans(model, library, wanted, 1)[0]
    best = _least(model, library, wanted)
    return best if worst or best.fits else _bounded(model, library, wanted)


def best_plans(
    model: JoinModel,
    library: CostLibrary,
    count: int,
    *,
    objective: Objective = "cpu",
    shape: Shape = "bushy",
    products: bool = True,
    rates: Sequence[float] | Floats | None = None,
    n_max: int = N_MAX,
    pulling: bool = True,
) -> tuple[Searched, ...]:
    """Find the best plans of `count` different trees, ascending; fewer where there are fewer."""
    wanted = Wanted(
        objective=objective,
        shape=shape,
        products=products,
        rates=None if rates is None else tuple(float(rate) for rate in rates),
        n_max=n_max,
        pulling=pulling,
    )
    _check_size(model)
    if _is_large(model, wanted):
        return improved_plans(model, library, wanted, count)
    best = _least(model, library, wanted)
    pushed = space_of(model, library, ())
    floating, is_exact = floating_places(model, library, wanted, SPLITS_MAX // 10)
    plans = listed(pushed, wanted, count)[0]
    if floating:
        plans += listed(space_of(model, library, floating), wanted, count * SPARE)[0]
    found: dict[frozenset[int], Searched] = {frozenset(tree_masks(best.plan.tree)): best}
    for plan in plans:
        key = frozenset(tree_masks(plan.tree))
        if key not in found:
            found[key] = replace(
                placed(model, plan.tree, library, rates=wanted.rates, pulling=pulling),
                is_exact=is_exact and not floating,
            )
    order = sorted(found.values(), key=lambda each: _key(each, model, library, wanted))
    return tuple(order[:count])


def placed(
    model: JoinModel,
    tree: Tree,
    library: CostLibrary,
    *,
    rates: Sequence[float] | Floats | None = None,
    pulling: bool = True,
) -> Searched:
    """Find the best indexes and places of selections for one tree."""
    wanted = Wanted(
        rates=None if rates is None else tuple(float(rate) for rate in rates), pulling=pulling
    )
    every = floating_selections(model, library) if pulling else ()
    floating = every[: floating_max(model)]
    if not floating:
        return _costed(model, library, wanted, JoinPlan(tree=tree))
    allowed = np.zeros(1 << len(model.inputs), dtype=np.uint8)
    allowed[tree_masks(tree)] = 1
    plan = solved(space_of(model, library, floating), wanted, allowed)
    assert plan is not None
    # The tree as it was given: the search does not tell left from right.
    given = JoinPlan(tree=tree, pulled=plan.pulled)
    return _costed(model, library, wanted, given, len(floating) == len(every))


def improved_plans(
    model: JoinModel, library: CostLibrary, wanted: Wanted, count: int
) -> tuple[Searched, ...]:
    """Find good plans of many inputs: the best left-deep ones and greedy ones, improved.

    The best left-deep tree takes longest to find: trees that were good before stand in for it.
    """
    space = space_of(model, library, ())
    starts = list(wanted.starts)
    if not starts:
        deep = solved(space, replace(wanted, shape="left-deep"))
        starts = [] if deep is None else [deep.tree]
    bound = (wanted.cpu_max if wanted.objective == "memory" else wanted.memory_max) or inf
    found = improved_trees(space, starts, wanted, bound, count)
    if not found:
        raise _unconnected(model)
    pulling = wanted.pulling and not wanted.worst and wanted.objective == "cpu"
    plans = []
    for _, tree in found:
        plan = placed(model, tree, library, rates=wanted.rates, pulling=pulling)
        fits = bound == inf or wanted.fits(_under(plan, model, library, wanted))
        plans.append(replace(plan, is_exact=False, fits=fits))
    if wanted.worst or len(plans) == 1:
        return tuple(plans)
    return tuple(
        sorted(plans, key=lambda each: (not each.fits, _key(each, model, library, wanted)))
    )


def _under(found: Searched, model: JoinModel, library: CostLibrary, wanted: Wanted) -> Costing:
    """Cost a plan under the rates of the search."""
    if wanted.rates is None:
        return found.costing
    return cost(model, found.plan, library, rates=wanted.rates)


def _key(
    found: Searched, model: JoinModel, library: CostLibrary, wanted: Wanted
) -> tuple[float, float]:
    return wanted.key(_under(found, model, library, wanted))


def _check_size(model: JoinModel) -> None:
    if len(model.inputs) > INPUTS_MAX:
        raise PenstockError(
            "PLN-012",
            f"The join has {len(model.inputs)} inputs; the planner takes up to {INPUTS_MAX}.",
            "Join fewer streams and tables in one query.",
        )


def _unconnected(model: JoinModel) -> PenstockError:
    return PenstockError(
        "PLN-011",
        f"The join of {', '.join(model.names)} needs a Cartesian product, which is forbidden.",
        "Add the predicate that links the inputs, or allow products.",
    )


def _is_large(model: JoinModel, wanted: Wanted) -> bool:
    return len(model.inputs) > wanted.n_max and wanted.shape == "bushy"


def _costed(
    model: JoinModel, library: CostLibrary, wanted: Wanted, plan: JoinPlan, is_exact: bool = True
) -> Searched:
    """Choose a plan's indexes under the rates of the search; cost it under the model's."""
    costing = cost(model, plan, library, rates=wanted.rates, indexes="best")
    fits = wanted.fits(costing)
    if wanted.rates is not None:
        costing = cost(model, costing.plan, library)
    return Searched(costing=costing, is_exact=is_exact, fits=fits)


def _least(model: JoinModel, library: CostLibrary, wanted: Wanted) -> Searched:
    """Find the plan with the least (or, for the worst, the most) of the objective, unbounded."""
    floating, is_exact = floating_places(model, library, wanted, SPLITS_MAX)
    plan = solved(space_of(model, library, floating), wanted, limit=_limit(model, library, wanted))
    if plan is None:
        raise _unconnected(model)
    best = _costed(model, library, wanted, plan, is_exact)
    if is_exact:
        return best
    # Selections that the search had to leave at their inputs may still be pulled up in its tree.
    other = placed(model, plan.tree, library, rates=wanted.rates)
    if _key(other, model, library, wanted) < _key(best, model, library, wanted):
        best = replace(other, fits=wanted.fits(_under(other, model, library, wanted)))
    return replace(best, is_exact=False)


def _limit(model: JoinModel, library: CostLibrary, wanted: Wanted) -> float:
    """Say what a plan takes that is quickly found: an exact search need not look beyond it."""
    if wanted.worst or wanted.objective == "memory" or wanted.shape == "left-deep":
        return inf
    if len(model.inputs) < LIMITED_MIN:
        return inf
    space = space_of(model, library, ())
    found = improved_trees(space, wanted.starts, wanted)
    own = sum(cpu for _, cpu in space.leaves(wanted.rates))
    return (own + found[0][0]) * SLACK if found else inf


def _bounded(model: JoinModel, library: CostLibrary, wanted: Wanted) -> Searched:
    """Find the plan with the least of the objective among those that keep within the bound."""
    by_memory = wanted.objective == "memory"
    other: Objective = "cpu" if by_memory else "memory"
    saving = _least(model, library, replace(wanted, objective=other, cpu_max=None, memory_max=None))
    saved = _under(saving, model, library, wanted)
    if not wanted.fits(saved):
        return replace(saving, fits=False)
    floating, is_exact = floating_places(model, library, wanted, SPLITS_MAX // 25)
    cpu_max = (wanted.cpu_max or inf) if by_memory else saved.cpu
    memory_max = wanted.memory(saved) if by_memory else (wanted.memory_max or inf)
    common = saved.fixed_cpu + saved.arrive_cpu + saved.emit_cpu
    plans, lost = listed(
        space_of(model, library, floating),
        wanted,
        FRONTIER,
        cpu_max=cpu_max * SLACK - common,
        memory_max=memory_max * SLACK,
        frontier=True,
    )
    found = [_costed(model, library, wanted, plan) for plan in plans]
    fitting = [each for each in (*found, saving) if each.fits or each is saving]
    least = min(fitting, key=lambda each: _key(each, model, library, wanted))
    return replace(least, is_exact=is_exact and not lost, fits=True)
