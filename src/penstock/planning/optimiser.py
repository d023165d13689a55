"""Optimising: from a model and what the machine has to a verdict, a plan and, if need be, a loss.

ABUNDANT: every plan keeps up. TIGHT: some do, so the order of joins decides. INSUFFICIENT: none
does; rows are dropped so that most results remain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.algebra.trees import JoinPlan, Leaf
from penstock.planning.approximation import (
    Approximated,
    Approximation,
    PlanScope,
    approximated,
    boxed,
    is_same_tree,
)
from penstock.planning.costs import CostLibrary
from penstock.planning.model import JoinModel, SelectionModel
from penstock.planning.pass_fractions import approximate, exact_share, shrinking
from penstock.planning.plan_costs import Costing, cost, thinned
from penstock.planning.planned import (
    EDGE,
    Choices,
    MincostAccount,
    Planned,
    Resources,
    RunnerUp,
    SheddingAccount,
    SheddingMode,
    Verdict,
)
from penstock.planning.search import Searched, best_plans, placed, search
from penstock.planning.selections import chain, ranked
from penstock.planning.shedding import breakpoints, shed_filters
from penstock.planning.verdict_sentences import sentence_of
from penstock.vocabulary.errors import PenstockError

__all__ = [
    "Choices",
    "MincostAccount",
    "Planned",
    "Resources",
    "RunnerUp",
    "SheddingAccount",
    "SheddingMode",
    "Verdict",
    "optimise",
]

STRICTLY = 1e-6
"""How much less, relatively, a plan may take after shedding where the bound is strict."""
DIVIDED = 32
"""So many plans are listed to find one whose joins each fit one processor."""
MORE = 8
"""So many more plans than runner-ups are listed, for those that do not fit the memory."""


def optimise(
    model: JoinModel,
    library: CostLibrary,
    resources: Resources | None = None,
    choices: Choices | None = None,
) -> Planned:
    """Judge a query, and plan it.

    >>> from penstock.planning.costs import Constant
    >>> from penstock.planning.model import InputModel, PredicateModel
    >>> inputs = tuple(InputModel(name=n, rate=r, rows=10) for n, r in zip("abc", (10, 20, 70)))
    >>> ab, bc = PredicateModel(mask=3, selectivity=0.5), PredicateModel(mask=6, selectivity=0.2)
    >>> model = JoinModel(inputs=inputs, predicates=(ab, bc))
    >>> print(optimise(model, Constant(0.005), Resources(headroom=0)).sentence)
    Insufficient: the cheapest order needs 125 % of one processor; \
with 27.8 % of a and of b dropped it emits 91.7 % as many rows; 52.2 % of the full answer is among \
them.
    """
    return _Optimiser(
        model=model,
        library=library,
        resources=resources or Resources(),
        choices=choices or Choices(),
    ).planned()


def overloaded(costing: Costing) -> tuple[int, ...]:
    """List the joins that alone need a whole processor or more, by their sets of inputs."""
    return tuple(join.mask for join in costing.joins if join.cpu >= 1.0 + EDGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Optimiser:
    model: JoinModel
    library: CostLibrary
    resources: Resources
    choices: Choices

    def planned(self) -> Planned:
        """Follow the flow: the cheapest plan, the dearest, the verdict, the shedding."""
        self.check()
        least = self.found("cpu")
        chosen = self.chosen(least)
        worst_cpu, all_fit = self.dearest()
        fits_cpu = self.resources.carries(chosen.cpu)
        account, plan = None, chosen.plan
        helps = chosen.costing.fixed_cpu < self.target
        if not fits_cpu and helps and self.choices.shedding != "off":
            account, plan = self.shed()
        costing = cost(self.model, plan, self.library)
        running = (
            cost(thinned(self.model, plan.passes, plan.boxes), plan, self.library)
            if plan.passes
            else costing
        )
        fits_memory = self.resources.holds(running)
        fits = fits_cpu and fits_memory
        verdict: Verdict = "INSUFFICIENT" if not fits else "ABUNDANT" if all_fit else "TIGHT"
        return Planned(
            verdict=verdict,
            sentence=sentence_of(
                verdict, self.model, self.resources, chosen.costing, worst_cpu, account, running
            ),
            is_critical=fits and chosen.cpu >= self.resources.bound * (1.0 - EDGE),
            bound=self.resources.bound,
            cpu=least.cpu,
            worst_cpu=worst_cpu,
            plan=plan,
            unshed=chosen.plan,
            costing=costing,
            runner_ups=self.runner_ups(plan, account),
            shedding=account,
            shares=self.shares(running),
            overloaded=overloaded(costing),
            filters=self.filters(),
            fits_memory=fits_memory,
            resources=self.resources,
            choices=self.choices,
            is_exact=least.is_exact,
        )

    def check(self) -> None:
        """Refuse an order that leaves something out."""
        forced = self.choices.tree
        if forced is not None and forced.mask != self.model.everything:
            raise PenstockError(
                "PLN-023",
                "The order does not name every input of the query.",
                f"Name each of {', '.join(self.model.names)} once.",
            )

    @property
    def scope(self) -> PlanScope:
        """The plans that may be chosen."""
        return PlanScope(
            model=self.model,
            library=self.library,
            shape=self.choices.shape,
            products=self.choices.products,
            n_max=self.choices.n_max,
            memory_max=self.resources.memory_max,
            memory_unit=self.resources.memory_unit,
            tree=self.choices.tree,
        )

    def found(self, objective: Literal["cpu", "memory"], cpu_max: float | None = None) -> Searched:
        """Find the best plan that fits the memory; if none does, the smallest."""
        if self.choices.tree is not None:
            return placed(self.model, self.choices.tree, self.library)
        return search(
            self.model,
            self.library,
            objective=objective,
            shape=self.choices.shape,
            products=self.choices.products,
            memory_max=self.resources.memory_max,
            memory_unit=self.resources.memory_unit,
            cpu_max=cpu_max,
            n_max=self.choices.n_max,
        )

    def chosen(self, least: Searched) -> Searched:
        """Choose the plan to run if nothing is dropped.

        Processors divide the work by joins: a plan none of whose joins needs more than one of them
        goes before a cheaper one that has such a join.
        """
        if self.choices.objective == "memory":
            smallest = self.found("memory", self.resources.bound)
            if self.resources.carries(smallest.costing.cpu):
                least = smallest
        is_bound = self.choices.tree is not None or self.resources.processors <= 1.0
        if is_bound or not overloaded(least.costing) or not self.resources.carries(least.cpu):
            return least
        for each in self.listed(DIVIDED):
            fits = self.resources.carries(each.cpu) and self.resources.holds(each.costing)
            if fits and not overloaded(each.costing):
                return each
        return least

    def dearest(self) -> tuple[float, bool]:
        """Give what the dearest plan takes, and whether every plan fits."""
        if len(self.model.inputs) == 1:
            cpu = self.dearest_chain()
            return cpu, self.resources.carries(cpu)
        worst = self.worst("cpu")
        memory_fits = self.resources.memory_max is None or self.resources.holds(
            self.worst("memory").costing
        )
        cpu = worst.costing.cpu
        return cpu, self.resources.carries(cpu) and memory_fits

    def worst(self, objective: Literal["cpu", "memory"]) -> Searched:
        """Find the dearest plan."""
        return search(
            self.model,
            self.library,
            objective=objective,
            shape=self.choices.shape,
            products=self.choices.products,
            n_max=self.choices.n_max,
            worst=True,
        )

    def filters(self) -> tuple[SelectionModel, ...]:
        """Give the selections of the only input in their cheapest order."""
        return tuple(ranked(self.model.selections)) if len(self.model.inputs) == 1 else ()

    def dearest_chain(self) -> float:
        """Give what the only input takes with its selections in their worst order."""
        rate, best = self.model.inputs[0].rate, self.filters()
        more = sum(chain(rate, reversed(best))) - sum(chain(rate, best))
        return cost(self.model, Leaf(0), self.library).cpu + more

    def shed(self) -> tuple[SheddingAccount, JoinPlan]:
        """Find the plan that keeps most, and account for what is lost."""
        assert self.choices.shedding != "off"
        boxes = self.choices.shedding
        found = self.approximated()
        shed, mincost = found.best.shed, found.mincost
        full = cost(self.model, found.best.plan, self.library)
        minimums = [1.0 if each.is_table else each.minimum for each in self.model.inputs]
        weights = [each.weight for each in self.model.inputs]
        is_linear = len(self.model.inputs) == 1 or not shrinking(self.model, boxes)
        a, v = full.a.tolist(), full.v.tolist()
        account = SheddingAccount(
            boxes=boxes,
            strategy=found.strategy,
            passes=shed.passes,
            output=shed.output,
            full_output=full.output_rate,
            exact_share=exact_share(shed.passes, full.output_rate, shed.output),
            cpu=shed.used,
            ratios=shed.ratios,
            breakpoints=breakpoints(a, v, minimums, weights) if is_linear else (),
            mincost=MincostAccount(
                tree=mincost.plan.tree,
                passes=mincost.shed.passes,
                output=mincost.shed.output,
                cpu=mincost.shed.used,
            ),
        )
        return account, boxed(found.best.plan, shed, boxes)

    @property
    def target(self) -> float:
        """What a plan may take after shedding."""
        return self.resources.bound * (1.0 - STRICTLY if self.resources.strict else 1.0)

    def approximated(self) -> Approximated:
        """Find the plan to shed; a query of one input has one box and one best order."""
        assert self.choices.shedding != "off"
        if len(self.model.inputs) > 1:
            return approximated(
                self.scope, self.target, self.choices.shedding, self.choices.strategy
            )
        full = cost(self.model, Leaf(0), self.library)
        shed = shed_filters(
            full.a.tolist(),
            full.output_rate,
            self.target - full.fixed_cpu,
            self.model.inputs[0].minimum,
        )
        only = Approximation(plan=full.plan, shed=shed)
        return Approximated(best=only, mincost=only, strategy="exact")

    def runner_ups(self, plan: JoinPlan, account: SheddingAccount | None) -> tuple[RunnerUp, ...]:
        """Give the best plans of other trees; what is shed decides their order, if something is."""
        if len(self.model.inputs) < 2 or self.choices.runner_ups == 0:
            return ()
        more = MORE if self.resources.memory_max is not None else 1
        listed = self.listed(self.choices.runner_ups + more)
        others = [each for each in listed if not is_same_tree(each.plan.tree, plan.tree)]
        others.sort(key=lambda each: not self.resources.holds(each.costing))
        found = [self.runner_up(each, account) for each in others[: self.choices.runner_ups]]
        if account is not None:
            found.sort(key=lambda each: -(each.output or 0.0))
        return tuple(found)

    def listed(self, count: int) -> tuple[Searched, ...]:
        """List the best plans of different trees."""
        return best_plans(
            self.model,
            self.library,
            count,
            objective=self.choices.objective,
            shape=self.choices.shape,
            products=self.choices.products,
            n_max=self.choices.n_max,
        )

    def runner_up(self, found: Searched, account: SheddingAccount | None) -> RunnerUp:
        """Describe one other plan."""
        output = None
        if account is not None:
            try:
                shed = approximate(self.model, found.plan, self.library, self.target, account.boxes)
                output = shed.output
            except PenstockError:
                output = 0.0  # its minimums do not fit
        return RunnerUp(
            tree=found.plan.tree,
            plan=found.plan,
            cpu=found.cpu,
            memory_rows=found.memory_rows,
            memory_bytes=found.memory_bytes,
            is_feasible=self.resources.carries(found.cpu) and self.resources.holds(found.costing),
            output=output,
        )

    def shares(self, running: Costing) -> tuple[tuple[int, float], ...]:
        """Share the time out in proportion to what the operators take as they run."""
        if len(self.model.inputs) == 1:
            rate = running.leaves[0].arriving
            demands = list(enumerate(chain(rate, self.filters())))
        else:
            demands = [(1 << each.input, each.selections_cpu) for each in running.leaves]
            demands += [(each.mask, each.cpu) for each in running.joins]
        total = sum(demand for _, demand in demands)
        return tuple((mask, demand / total) for mask, demand in demands if demand > 0.0)
