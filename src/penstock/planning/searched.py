"""What a search is for, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.algebra.trees import JoinPlan, Tree
from penstock.kernels import join_trees as kernels
from penstock.planning.plan_costs import Costing
from penstock.planning.tree_enumeration import Shape

Objective = Literal["cpu", "memory"]
Unit = Literal["rows", "bytes"]

N_MAX = 12
"""Up to so many inputs bushy trees are searched exactly."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Searched:
    """A plan that was found."""

    costing: Costing
    """Under the model's rates."""
    is_exact: bool = True
    """Whether no other plan can be better."""
    fits: bool = True
    """Whether it keeps within the memory or processing asked for; if not, no plan found does."""

    @property
    def plan(self) -> JoinPlan:
        """The plan: tree, indexes, and selections asked above their inputs."""
        return self.costing.plan

    @property
    def cpu(self) -> float:
        """All processing, in processors."""
        return self.costing.cpu

    @property
    def memory_rows(self) -> float:
        """Rows that all joins keep."""
        return self.costing.memory_rows

    @property
    def memory_bytes(self) -> float:
        """Bytes that all joins keep."""
        return self.costing.memory_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a search is for; `search.search` says what the fields mean."""

    objective: Objective = "cpu"
    shape: Shape = "bushy"
    products: bool = True
    worst: bool = False
    rates: tuple[float, ...] | None = None
    memory_max: float | None = None
    memory_unit: Unit = "rows"
    cpu_max: float | None = None
    n_max: int = N_MAX
    pulling: bool = True
    starts: tuple[Tree, ...] = ()

    @property
    def options(self) -> int:
        """The kernels' option bits."""
        return (
            kernels.DEEP * (self.shape == "left-deep")
            | kernels.PRODUCTS * self.products
            | kernels.BY_MEMORY * (self.objective == "memory")
            | kernels.WORST * self.worst
        )

    def fits(self, costing: Costing) -> bool:
        """Say whether a plan keeps within the bound on what is not the objective."""
        if self.objective == "memory":
            return self.cpu_max is None or costing.cpu <= self.cpu_max * (1 + kernels.CLOSE)
        return self.memory_max is None or self.memory(costing) <= self.memory_max * (
            1 + kernels.CLOSE
        )

    def memory(self, costing: Costing) -> float:
        """Give a plan's memory in the unit asked for."""
        return costing.memory_bytes if self.memory_unit == "bytes" else costing.memory_rows

    def key(self, costing: Costing) -> tuple[float, float]:
        """Give what plans are ordered by."""
        found = (costing.cpu, self.memory(costing))
        return found[::-1] if self.objective == "memory" else found
