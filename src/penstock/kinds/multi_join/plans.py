"""Plans of multi-way joins: proposed by the planner, kept in the registry as entries of a group.

Beside the plan itself the entry remembers what was promised: the verdict, the utilisation, what
will remain.

A verdict is a prediction, and no row is dropped on one: drop boxes stay open until the run is
measured to be too slow (`penstock.kinds.multi_join.watch`). A user who knows better says
`shed_at_once`; that is heeded where every figure is declared or measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from penstock.algebra.multi_joins import MultiJoin
from penstock.algebra.trees import JoinPlan, tree_from_json
from penstock.kinds.plan_cycle import PlanBook
from penstock.kinds.planner_figures import Modelled, model_of
from penstock.kinds.statistics import Statistics
from penstock.kinds.what_if import Assumed, assume
from penstock.language.assumptions import check_join_assumptions
from penstock.language.statements import Assumption
from penstock.planning.constants import BUILT_IN, load_constants
from penstock.planning.costs import Constant, CostLibrary, IndexCosts, Measured
from penstock.planning.model import JoinModel
from penstock.planning.optimiser import Choices, Planned, Resources, optimise
from penstock.registry.store import Registry
from penstock.vocabulary.errors import PenstockError

RESOURCES = ("processors", "headroom", "memory_rows", "memory_bytes", "strict")
UNFIT_MINIMUMS = "PLN-020"
ASSUMED_SHOWN = 4
CHOICES = ("objective", "shape", "products", "shedding", "strategy")


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingPlan:
    """The plan that a group was given last, and what was promised with it."""

    number: int
    plan: JoinPlan
    verdict: str
    utilisation: float
    kept: float
    """How many results are emitted, by how many there would be without drop boxes."""
    found: float
    """The share of the full answer that is among them."""
    options: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Describe the plan for the registry: what the operator reads, and the promise."""
        return {
            **self.plan.to_json(),
            "verdict": self.verdict,
            "utilisation": self.utilisation,
            "kept": self.kept,
            "found": self.found,
            "options": self.options,
        }

    @classmethod
    def from_json(cls, number: int, data: dict[str, Any]) -> StandingPlan:
        """Give back the plan that `to_json` described."""
        return cls(
            number=number,
            plan=JoinPlan.from_json(data),
            verdict=data["verdict"],
            utilisation=data["utilisation"],
            kept=data["kept"],
            found=data["found"],
            options=data["options"],
        )

    @property
    def sheds(self) -> bool:
        """Say whether drop boxes are closed."""
        return any(share < 1.0 for share in self.plan.passes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What the planner proposes, for which model, at which costs.

    `closes` says whether its drop boxes come into force, or only what they would do.
    """

    planned: Planned
    model: JoinModel
    library: CostLibrary
    tags: dict[str, str]
    options: dict[str, Any]
    constant_s: float | None = None
    closes: bool = False

    @property
    def plan(self) -> JoinPlan:
        """The plan to put in force."""
        return self.planned.plan if self.closes else self.planned.unshed

    @property
    def assumed(self) -> tuple[str, ...]:
        """The figures that nobody declared and nothing measured."""
        return tuple(name for name, origin in self.tags.items() if origin == "assumed")

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what the verdict means for those who wait for results."""
        sentence = self.planned.sentence
        if self.planned.verdict != "INSUFFICIENT" or self.closes:
            return (sentence,)
        if self.options.get("shedding") == "off":
            late = "Nothing is shed, as the options say: expect results to come ever later."
            return (sentence, late)
        if self.planned.shedding is None:
            return (sentence,)
        open_ = "Nothing is dropped unless the run itself is measured to be too slow."
        if not self.assumed:
            return (sentence, open_)
        listed = ", ".join(self.assumed[:ASSUMED_SHOWN])
        more = len(self.assumed) - ASSUMED_SHOWN
        listed += f" and {more} more" if more > 0 else ""
        return (sentence, f"{open_} Nobody has said or measured {listed}: the verdict is a guess.")

    def moves(self, standing: StandingPlan) -> float:
        """Say by how much it moves the drop box that it moves most."""
        own, plan = self.plan, standing.plan
        inputs = range(len(self.model.inputs))
        return max(abs(own.share(number) - plan.share(number)) for number in inputs)

    def standing(self, number: int) -> StandingPlan:
        """Give the proposal as a plan with a number."""
        account = self.planned.shedding if self.closes else None
        return StandingPlan(
            number=number,
            plan=self.plan,
            verdict=self.planned.verdict,
            utilisation=self.planned.utilisation,
            kept=1.0 if account is None else account.kept,
            found=1.0 if account is None else account.found,
            options=self.options,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What a run proves: `factor` is actual by predicted cost; `sheds` says that rows must go.

    `share` of the bound may then be used.
    """

    factor: float
    sheds: bool
    share: float = 1.0


class Planner:
    """Plans the multi-way joins of a home."""

    def __init__(self, registry: Registry, statistics: Statistics) -> None:
        self.registry = registry
        self.statistics = statistics
        self.book = PlanBook(registry, StandingPlan.from_json)

    def modelled(self, logical: MultiJoin, group: str, queries: int) -> Modelled:
        """Model a join by all that is known now."""
        return model_of(
            logical, self.registry.catalog, group, queries, self.statistics, load_constants()
        )

    def propose(
        self,
        logical: MultiJoin,
        group: str,
        queries: int,
        what_if: Sequence[Assumption] = (),
        plan: JoinPlan | None = None,
        measured: Measure | None = None,
    ) -> Proposal:
        """Plan a join; `what_if` is assumed instead of what is known, `plan` gives the tree.

        `measured` is what a run proves: its drop boxes come into force if that asks for any.
        """
        check_join_assumptions(what_if, logical)
        modelled = self.modelled(logical, group, queries)
        assumed = assume(modelled, dict(logical.options), what_if)
        library, costs = self._library(group, assumed, measured)
        tree = plan.tree if plan is not None else _forced(assumed.options)
        resources = Resources(**_given(assumed.options, RESOURCES))
        if measured is not None:
            used = measured.share * (1.0 - resources.headroom)
            resources = replace(resources, headroom=1.0 - used)
        choices = Choices(**_given(assumed.options, CHOICES), tree=tree)
        model = assumed.model
        try:
            planned = optimise(model, library, resources, choices)
        except PenstockError as error:
            if error.code != UNFIT_MINIMUMS:
                raise
            # Least shares that nobody asked for give way.
            inputs = [
                each if f"minimum_{each.name}" in assumed.options else replace(each, minimum=0.0)
                for each in model.inputs
            ]
            model = replace(model, inputs=tuple(inputs))
            planned = optimise(model, library, resources, choices)
        proposal = Proposal(
            planned=planned,
            model=model,
            library=library,
            tags={**assumed.tags, "costs": costs},
            options=dict(logical.options),
            constant_s=assumed.constant_s,
        )
        asked = bool(logical.options.get("shed_at_once")) and not proposal.assumed
        closes = asked if measured is None else measured.sheds
        return replace(proposal, closes=closes and planned.shedding is not None)

    def _library(
        self, group: str, assumed: Assumed, measured: Measure | None
    ) -> tuple[CostLibrary, str]:
        if assumed.constant_s is not None:
            return Constant(assumed.constant_s), "what if"
        constants = load_constants()
        factor = self.statistics.group(group).cost_factor if measured is None else measured.factor
        if factor is not None:
            return scaled(Measured(constants), factor), "measured"
        return Measured(constants), "built-in" if constants == BUILT_IN else "calibrated"


def scaled(library: CostLibrary, factor: float) -> CostLibrary:
    """Give a library of which every cost is so many times what it was."""
    table = tuple(replace(each, **_times(each, factor)) for each in library.table)
    return CostLibrary(table=table, **_times(library, factor), source=library.source)


def _times(costs: CostLibrary | IndexCosts, factor: float) -> dict[str, Any]:
    names = [each.name for each in fields(costs) if each.name.endswith("_s")]
    return {name: factor * getattr(costs, name) for name in names}


def _given(options: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: options[name] for name in names if name in options}


def _forced(options: Mapping[str, Any]) -> Any:  # a tree, if one is forced
    return tree_from_json(options["order"]) if "order" in options else None
