"""What the optimiser is given and what it gives: resources, choices, a verdict and its plan.

Costs are in processors: 1 is one, fully busy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.algebra.trees import Boxes, JoinPlan, Tree
from penstock.planning.approximation import Strategy
from penstock.planning.model import SelectionModel
from penstock.planning.plan_costs import Costing
from penstock.planning.shedding import SLACK, Breakpoint
from penstock.vocabulary.errors import PenstockError

Verdict = Literal["ABUNDANT", "TIGHT", "INSUFFICIENT"]
SheddingMode = Literal["off", "faithful", "subset"]

EDGE = 1e-9
"""A plan that leaves less, relatively, to the bound is critical."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What the machine gives: processors, of which a share stays free, and memory.

    `strict` refuses a plan that needs all of it: its queues would grow.

    >>> Resources(processors=2, headroom=0.25).bound
    1.5
    """

    processors: float = 1.0
    headroom: float = 0.2
    memory_rows: float | None = None
    memory_bytes: float | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        facts = (
            (self.processors > 0.0, f"{self.processors:g} processors do nothing.", "above 0"),
            (
                0.0 <= self.headroom < 1.0,
                f"The headroom is {self.headroom:g}.",
                "from 0 to below 1",
            ),
            (
                all(
                    limit is None or limit > 0.0 for limit in (self.memory_rows, self.memory_bytes)
                ),
                "The memory budget holds nothing.",
                "above 0",
            ),
        )
        for holds, fact, remedy in facts:
            if not holds:
                raise PenstockError("PLN-021", fact, f"Give a number {remedy}.")
        if self.memory_rows is not None and self.memory_bytes is not None:
            raise PenstockError(
                "PLN-022", "Memory is given both in rows and in bytes.", "Give one of them."
            )

    @property
    def bound(self) -> float:
        """What a plan may take (B), in processors."""
        return self.processors * (1.0 - self.headroom)

    @property
    def memory_max(self) -> float | None:
        """The memory budget, in `memory_unit`."""
        return self.memory_rows if self.memory_rows is not None else self.memory_bytes

    @property
    def memory_unit(self) -> Literal["rows", "bytes"]:
        """What memory is counted in."""
        return "bytes" if self.memory_bytes is not None else "rows"

    def holds(self, costing: Costing) -> bool:
        """Say whether a plan's memory fits."""
        memory = costing.memory_bytes if self.memory_bytes is not None else costing.memory_rows
        return self.memory_max is None or memory <= self.memory_max

    def carries(self, cpu: float) -> bool:
        """Say whether a demand fits."""
        return cpu < self.bound * (1.0 - EDGE) if self.strict else cpu <= self.bound * (1.0 + SLACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the user wants of a plan; `strategy` None: exact where that is quick."""

    objective: Literal["cpu", "memory"] = "cpu"
    shape: Literal["bushy", "left-deep"] = "bushy"
    products: bool = True
    shedding: SheddingMode = "faithful"
    strategy: Strategy | None = None
    n_max: int = 12
    tree: Tree | None = None
    """The order, if the user insists on one."""
    runner_ups: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerUp:
    """A plan of another tree: what it takes, and what it would keep if it had to be shed."""

    tree: Tree
    plan: JoinPlan
    cpu: float
    memory_rows: float
    memory_bytes: float
    is_feasible: bool
    output: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MincostAccount:
    """What shedding the cheapest plan would give."""

    tree: Tree
    passes: tuple[float, ...]
    output: float
    cpu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SheddingAccount:
    """What is dropped where, and what remains.

    `exact_share` is the share of what remains that the exact query would have given. `ratios` are
    results by cost, per input, and `breakpoints` the corners of the output by the bound; both are
    known where windows stay full.
    """

    boxes: Boxes
    strategy: Strategy
    passes: tuple[float, ...]
    output: float
    full_output: float
    exact_share: float
    cpu: float
    ratios: tuple[float, ...]
    breakpoints: tuple[Breakpoint, ...]
    mincost: MincostAccount

    @property
    def kept(self) -> float:
        """How many results remain, by how many there are without dropping."""
        return self.output / self.full_output if self.full_output > 0.0 else 1.0

    @property
    def found(self) -> float:
        """The share of the full answer that is among what remains."""
        return self.kept * self.exact_share if self.full_output > 0.0 else 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planned:
    """A verdict, and the plan to run."""

    verdict: Verdict
    sentence: str
    is_critical: bool
    """The plan fits, with nothing to spare."""
    bound: float
    cpu: float
    """What the cheapest plan takes, nothing dropped."""
    worst_cpu: float
    plan: JoinPlan
    """With drop boxes, if it cannot keep up without."""
    unshed: JoinPlan
    """The plan to run as long as nothing is dropped."""
    costing: Costing
    """Of `plan`, nothing dropped."""
    runner_ups: tuple[RunnerUp, ...]
    shedding: SheddingAccount | None
    shares: tuple[tuple[int, float], ...]
    """The share of time of each operator, by its set of inputs; of filters, by their number."""
    overloaded: tuple[int, ...]
    """Joins that alone need a whole processor or more, nothing dropped."""
    filters: tuple[SelectionModel, ...]
    """Of a query with one input: its selections in the order to ask them."""
    fits_memory: bool
    resources: Resources
    choices: Choices
    is_exact: bool = True
    """Whether no other order takes less; of many inputs a good order is searched, not the best."""

    @property
    def utilisation(self) -> float:
        """What the cheapest plan takes of what it may take (rho)."""
        return self.cpu / self.bound

    @property
    def objective(self) -> str:
        """What was made least."""
        return self.choices.objective
