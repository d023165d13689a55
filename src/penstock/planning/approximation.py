"""Approximating: which plan to shed, when none keeps up.

The cheapest plan is not always the one that keeps most results: rows that meet late, beside a small
window, cost little by what they give. Every strategy gives its best plan together with that of
`mincost`, which is never better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal

from penstock.algebra.trees import Boxes, JoinPlan, Leaf, Tree, joins_of
from penstock.planning.costs import CostLibrary
from penstock.planning.model import JoinModel
from penstock.planning.pass_fractions import approximate, shrinking
from penstock.planning.plan_costs import Costing, cost, thinned
from penstock.planning.search import best_plans, placed, search
from penstock.planning.shedding import SLACK, Shed
from penstock.planning.tree_enumeration import trees
from penstock.vocabulary.errors import PenstockError

Strategy = Literal["mincost", "alternate", "exact", "exhaustive"]
"""How a plan is found: mincost sheds the cheapest; exhaustive tries all; exact finds the best by
searches for sets of inputs without a box; alternate goes back and forth between plan and shares."""

EXHAUSTIVE_MAX = 6
"""More inputs have too many trees (945 of six)."""
EXACT_MAX = 6
SHRINKING_MAX = 4
"""Where windows shrink, a tree takes longer to shed: up to so many inputs all are tried."""
NEAREST = 4
"""Where windows shrink, so many of the cheapest trees are tried beside those found."""
ALTERNATIONS_MAX = 20
STARTS = 2
"""Beside greedy trees a search begins with so many of those found last."""
GAIN = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanScope:
    """The plans that may be chosen, and their costs."""

    model: JoinModel
    library: CostLibrary
    shape: Literal["bushy", "left-deep"] = "bushy"
    products: bool = True
    n_max: int = 12
    memory_max: float | None = None
    memory_unit: Literal["rows", "bytes"] = "rows"
    tree: Tree | None = None
    """The only tree, if one is forced."""

    def cheapest(
        self, passes: Sequence[float], boxes: Boxes, starts: Sequence[Tree] = ()
    ) -> JoinPlan:
        """Find the plan of least cost behind drop boxes; trees that were good before may help."""
        behind, rates = self._behind(passes, boxes)
        if self.tree is not None:
            return placed(behind, self.tree, self.library, rates=rates).plan
        return search(
            behind,
            self.library,
            rates=rates,
            shape=self.shape,
            products=self.products,
            memory_max=self.memory_max,
            memory_unit=self.memory_unit,
            n_max=self.n_max,
            starts=starts,
        ).plan

    def nearest(self, count: int, passes: Sequence[float], boxes: Boxes) -> Iterator[JoinPlan]:
        """Give the cheapest plans behind drop boxes, of different trees."""
        if self.tree is not None:
            return
        behind, rates = self._behind(passes, boxes)
        for found in best_plans(
            behind,
            self.library,
            count,
            rates=rates,
            shape=self.shape,
            products=self.products,
            n_max=self.n_max,
        ):
            if self._admits(found.costing):
                yield found.plan

    def every(self) -> Iterator[JoinPlan]:
        """Give a plan of every tree that may be chosen."""
        if self.tree is not None:
            yield placed(self.model, self.tree, self.library).plan
            return
        for tree in trees(len(self.model.inputs), self.shape):
            found = placed(self.model, tree, self.library)
            if self._admits(found.costing):
                yield found.plan

    def _behind(
        self, passes: Sequence[float], boxes: Boxes
    ) -> tuple[JoinModel, list[float] | None]:
        """Give the thinned model: by its rates alone where windows stay, which is quicker."""
        if shrinking(self.model, boxes):
            return thinned(self.model, passes, boxes), None
        pairs = zip(self.model.inputs, passes, strict=True)
        return self.model, [each.rate * share for each, share in pairs]

    def _admits(self, costing: Costing) -> bool:
        if not self.products and any(join.is_product for join in costing.joins):
            return False
        rows = self.memory_unit == "rows"
        memory = costing.memory_rows if rows else costing.memory_bytes
        return self.memory_max is None or memory <= self.memory_max


@dataclass(frozen=True, slots=True, kw_only=True)
class Approximation:
    """A plan and what its drop boxes let pass."""

    plan: JoinPlan
    shed: Shed


@dataclass(frozen=True, slots=True, kw_only=True)
class Approximated:
    """The best that a strategy found, beside shedding the cheapest plan.

    `strategy` is the one that was carried out: where windows shrink or inputs are many, another
    than the one asked for.
    """

    best: Approximation
    mincost: Approximation
    strategy: Strategy


def default_strategy(inputs: int) -> Strategy:
    """Choose how to search: exactly where that is quick.

    >>> default_strategy(6), default_strategy(7)
    ('exact', 'alternate')
    """
    return "exact" if inputs <= EXACT_MAX else "alternate"


def approximated(
    scope: PlanScope, bound: float, boxes: Boxes = "faithful", strategy: Strategy | None = None
) -> Approximated:
    """Find the plan that keeps most results within the bound."""
    asked = _carried_out(scope, boxes, strategy or default_strategy(len(scope.model.inputs)))
    hunt = _Hunt(scope=scope, bound=bound, boxes=boxes)
    first = hunt.start()
    match asked:
        case "exhaustive":
            for plan in scope.every():
                hunt.settle(plan)
            hunt.alternate()
        case "alternate":
            hunt.alternate()
        case "exact":
            hunt.exact()
        case "mincost":
            pass
    assert hunt.best is not None
    return Approximated(best=hunt.best, mincost=first, strategy=asked)


def _carried_out(scope: PlanScope, boxes: Boxes, asked: Strategy) -> Strategy:
    """Choose the strategy that stands in for one that does not apply here."""
    inputs = len(scope.model.inputs)
    if asked == "exhaustive" and inputs > EXHAUSTIVE_MAX:
        raise PenstockError(
            "PLN-024",
            f"{inputs} inputs have too many plans to try every one.",
            f"Choose another strategy; exhaustive takes up to {EXHAUSTIVE_MAX} inputs.",
        )
    if asked == "exact" and shrinking(scope.model, boxes):
        return "exhaustive" if inputs <= SHRINKING_MAX else "alternate"
    return "alternate" if asked == "exact" and inputs > scope.n_max else asked


@dataclass(slots=True, kw_only=True)
class _Hunt:
    """The plans shed so far, and the best of them."""

    scope: PlanScope
    bound: float
    boxes: Boxes
    best: Approximation | None = None
    known: dict[tuple[object, ...], Shed] = field(default_factory=dict)
    refusal: PenstockError | None = None
    starts: tuple[Tree, ...] = ()
    """The trees found last: those of other shares are seldom far."""

    @property
    def least(self) -> list[float]:
        """The shares that must be kept."""
        return [1.0 if each.is_table else each.minimum for each in self.scope.model.inputs]

    @property
    def streams(self) -> list[int]:
        """The inputs that may have a box."""
        return [k for k, each in enumerate(self.scope.model.inputs) if not each.is_table]

    def start(self) -> Approximation:
        """Shed the cheapest plan; if minimums do not fit there, one that serves them cheapest."""
        ones = [1.0] * len(self.scope.model.inputs)
        for passes in (ones, self.least):
            plan = self.cheapest(passes)
            found = self.shed(plan)
            if found is not None:
                return Approximation(plan=plan, shed=found)
        assert self.refusal is not None
        raise self.refusal

    def cheapest(self, passes: Sequence[float]) -> JoinPlan:
        """Find the plan of least cost behind boxes, beginning with what was found last."""
        plan = self.scope.cheapest(passes, self.boxes, self.starts)
        self.starts = (plan.tree, *(each for each in self.starts if each != plan.tree))[:STARTS]
        return plan

    def shed(self, plan: JoinPlan) -> Shed | None:
        """Shed a plan and keep it if none was better; None if minimums do not fit into it."""
        key = (_ordered(plan.tree), frozenset(plan.pulled))
        if key in self.known:
            return self.known[key]
        try:
            found = approximate(self.scope.model, plan, self.scope.library, self.bound, self.boxes)
        except PenstockError as refused:
            self.refusal = refused
            return None
        self.known[key] = found
        if self.best is None or found.worth > self.best.shed.worth * (1.0 + GAIN):
            self.best = Approximation(plan=plan, shed=found)
        return found

    def settle(self, plan: JoinPlan) -> None:
        """Shed a tree, choose its indexes anew behind those boxes, and again while that gains.

        Where windows shrink, looking through one row after the other may become cheaper.
        """
        only, worth = replace(self.scope, tree=plan.tree), -1.0
        for _ in range(ALTERNATIONS_MAX):
            found = self.shed(plan)
            if found is None or found.worth <= worth * (1.0 + GAIN):
                return
            worth, plan = found.worth, only.cheapest(found.passes, self.boxes)

    def alternate(self) -> None:
        """Search for the plan, then for its shares, then for the plan behind those, and so on."""
        shrink = shrinking(self.scope.model, self.boxes)
        alone = [
            [1.0 if k == j else low for k, low in enumerate(self.least)]
            for j in self.streams
            if not shrink or (j not in shrink and len(self.least) <= EXACT_MAX)
        ]
        starts = [[1.0] * len(self.least), *alone]
        if shrink:
            assert self.best is not None
            near = self.best.shed.passes
            for plan in self.scope.nearest(NEAREST, near, self.boxes):
                self.shed(plan)
        for start in starts:
            passes, worth = start, -1.0
            for _ in range(ALTERNATIONS_MAX):
                found = self.shed(self.cheapest(passes))
                if found is None or found.worth <= worth * (1.0 + GAIN):
                    break
                worth, passes = found.worth, list(found.passes)

    def exact(self) -> None:
        """Search all sets of inputs without a box, each with one input that has part of the rest.

        A knapsack's optimum has this form, so nothing is missed. What a set can give does not
        depend on the plan: sets that cannot reach the best so far are passed over.
        """
        self.alternate()
        assert self.best is not None
        model, streams = self.scope.model, self.streams
        values = cost(model, self.best.plan, self.scope.library).v
        worths = [each.weight * value for each, value in zip(model.inputs, values, strict=True)]
        floor = sum(w * low for w, low in zip(worths, self.least, strict=True))
        gains = {k: worths[k] * (1.0 - self.least[k]) for k in streams}
        sets = [chosen for count in range(len(streams)) for chosen in combinations(streams, count)]
        unaffordable: list[frozenset[int]] = []
        for chosen in sets:
            rest = [k for k in streams if k not in chosen]
            reach = floor + sum(gains[k] for k in chosen)
            hopeful = [k for k in rest if self._may_gain(reach + gains[k])]
            if not hopeful or any(each <= set(chosen) for each in unaffordable):
                continue
            passes = [1.0 if k in chosen else low for k, low in enumerate(self.least)]
            plan = self.cheapest(passes)
            if self._cost(plan, passes) > self.bound * (1.0 + SLACK):
                unaffordable.append(frozenset(chosen))
                continue
            self.shed(plan)
            for k in hopeful:
                if self._may_gain(reach + gains[k]):
                    self._most_of(k, passes, plan)

    def _may_gain(self, worth: float) -> bool:
        assert self.best is not None
        return worth > self.best.shed.worth * (1.0 + GAIN)

    def _cost(self, plan: JoinPlan, passes: Sequence[float]) -> float:
        return cost(self.scope.model, plan, self.scope.library).at(passes)[0]

    def _most_of(self, k: int, passes: list[float], plan: JoinPlan) -> None:
        """Find the plan that lets most of input k pass beside the others (Dinkelbach)."""
        for _ in range(ALTERNATIONS_MAX):
            costing = cost(self.scope.model, plan, self.scope.library)
            spent, price = costing.at(passes)[0], float(costing.a[k])
            room = 1.0 - passes[k]
            if price * room <= self.bound - spent:
                return
            shares = list(passes)
            shares[k] += max(self.bound - spent, 0.0) / price
            better = self.cheapest(shares)
            if self._cost(better, shares) >= self.bound * (1.0 - SLACK):
                break
            plan = better
        self.shed(plan)


def _ordered(tree: Tree) -> tuple[object, ...]:
    """Give the same for trees that differ in left and right alone."""
    if isinstance(tree, Leaf):
        return (tree.mask,)
    sides = sorted(
        ((tree.left, tree.left_index), (tree.right, tree.right_index)),
        key=lambda side: side[0].mask,
    )
    return tuple((_ordered(side), index) for side, index in sides)


def is_same_tree(one: Tree, other: Tree) -> bool:
    """Say whether two trees differ in left and right, and in indexes, alone."""
    return {join.mask for join in joins_of(one)} == {join.mask for join in joins_of(other)}


def boxed(plan: JoinPlan, shed: Shed, boxes: Boxes) -> JoinPlan:
    """Give a plan its drop boxes."""
    return replace(plan, passes=shed.passes, boxes=boxes)
