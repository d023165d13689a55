"""Policies that know the laws of their streams: HEEB, PROB and LIFE with given laws.

The engine fits its laws; here they are given, as the papers have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from penstock.kernels.bounded_victims import SCANNED, TOSSED
from penstock.operators.bounded.law_policies import quickest_mode
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.policies import CompiledPolicy, Rule
from penstock.operators.bounded.scores import score_table
from penstock.operators.bounded.weightings import Exponential, Fixed, Weighting, alpha_of

Search = Literal["auto", "scan"]


def tabled_rule(
    laws: Sequence[Law], weighting: Weighting, *, window: int | None = None,
    caching: bool = False, control_points: int | None = None, search: Search = "auto",
) -> Rule:  # fmt: skip
    """Give the rule that discards the lowest score, by the quickest search that finds it."""
    tables = tuple(
        score_table(law, weighting, caching=caching, window=window, control_points=control_points)
        for law in laws
    )
    windowed = window is not None
    mode = SCANNED if search == "scan" else quickest_mode(tables, windowed=windowed)
    return Rule(mode=mode, tables=tables, windowed=windowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heeb(CompiledPolicy):
    """HEEB with a law per stream."""

    name: ClassVar[str] = "HEEB"
    laws: tuple[Law, ...]
    """The law of stream 0, 1, ...; one for a lookup."""
    weighting: Weighting
    """How much a result counts that comes so many ticks from now."""
    window: int | None = None
    """The longest window of a join, in ticks."""
    caching: bool = False
    """Whether rows are looked up (one hit at a time) rather than joined."""
    control_points: int | None = None
    """Points per side of an interpolated surface; None: every cell."""
    search: Search = "auto"
    """"scan" scores all candidates at every decision."""

    def rule(self) -> Rule:
        """Say how victims are found."""
        return tabled_rule(
            self.laws, self.weighting, window=self.window, caching=self.caching,
            control_points=self.control_points, search=self.search,
        )  # fmt: skip

    def retuned(self, residence: float) -> Heeb:
        """Give the same policy for another mean residence of admitted rows, in ticks."""
        return replace(self, weighting=Exponential(alpha_of(residence)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prob(CompiledPolicy):
    """PROB: the key that its partner's law gives the least chance in the next tick.

    Among equal ones the oldest row goes; with `blind`, any: the policy does not look at age.
    """

    name: ClassVar[str] = "PROB"
    laws: tuple[Law, ...]
    window: int | None = None
    caching: bool = False
    blind: bool = False
    seed: int = 0

    def rule(self) -> Rule:
        """Say how victims are found."""
        found = tabled_rule(self.laws, Fixed(1), window=self.window, caching=self.caching)
        return replace(found, mode=TOSSED, seed=self.seed) if self.blind else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Life(CompiledPolicy):
    """LIFE: the lowest product of ticks left in the window and the law's chances in them."""

    name: ClassVar[str] = "LIFE"
    laws: tuple[Law, ...]
    window: int

    def rule(self) -> Rule:
        """Say how victims are found."""
        return tabled_rule(self.laws, Fixed(self.window), window=self.window)
