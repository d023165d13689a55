"""Moves: what a period of the optimiser changes in a plan, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.algebra.sharing import Consumers, Sharing, SharingPlan

MoveKind = Literal["share", "retype", "dissolve", "leave", "switch", "reorder", "measure"]
"""What a move does: `share`, queries that had an expression alone begin to share it. `retype`, a
query has it in another way. `dissolve`, an instance no longer pays. `leave`, a consumer no longer
pays in its instance. `switch`, it is better off in another one. `reorder`, two expressions change
places on a way. `measure`, segments of an expression begin, or cease, to be worth counting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One change of a plan.

    `before` and `after` are the objective of the plan before and after it. `text` says it in words,
    queries by their numbers in braces, as `{3}`, for who knows their names.
    """

    kind: MoveKind
    expression: int
    consumers: Consumers
    """The queries that it concerns."""
    to: Sharing | None = None
    before: float
    after: float
    text: str

    @property
    def gain(self) -> float:
        """By how much it lowers the objective."""
        return self.before - self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimised:
    """What a period comes to."""

    plan: SharingPlan
    moves: tuple[Move, ...]
    """In order; none: the plan stays."""
    cost: float
    """The objective of the plan."""
    runner_up: SharingPlan
    """The best of the others that were looked at."""
    runner_up_cost: float
    """Its objective: EXPLAIN says what it would cost."""
    unshared_cost: float
    """The objective if nothing were shared."""
    tried: int
    """How many plans were looked at."""

    @property
    def saved(self) -> float:
        """The share of the given plan's objective that the moves save.

        To change a plan has a price, too: who runs plans may leave moves unmade that save little.
        """
        if not self.moves or self.moves[0].before <= 0.0:
            return 0.0
        return 1.0 - self.cost / self.moves[0].before
