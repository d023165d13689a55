"""Which policy a memory asks for, with laws of its streams or without, and how far it looks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from penstock.algebra.memories import Memory
from penstock.operators.bounded.law_policies import (
    FittedHeeb,
    FittedLife,
    FittedProb,
    Windows,
)
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.laws_independent import LinearTrend
from penstock.operators.bounded.laws_noise import Uniform
from penstock.operators.bounded.policies import CompiledPolicy, Policy
from penstock.operators.bounded.policies_named import policy_of
from penstock.operators.bounded.spaced_laws import bare
from penstock.operators.bounded.weightings import Exponential, Fixed, Weighting, alpha_of

RESIDENCE_MIN = 1.05
"""The least residence that an alpha is made for."""


def declared_alpha(memory: Memory) -> float | None:
    """Give the alpha that is declared, by itself or by a lifetime."""
    if "alpha" in memory.options:
        return float(memory.options["alpha"])
    if "lifetime" in memory.options:
        return alpha_of(float(memory.options["lifetime"]))
    return None


def expected_alpha(laws: Sequence[Law], budget: int) -> float:
    """Give the alpha that laws ask for: trends by how soon they pass a key, others the budget.

    Over all arrivals, one of each stream per tick, rows of two streams stay half the budget, those
    of three a third: beside a slower trend no longer.
    """
    lifetimes = [lifetime_of(law) for law in laws]
    known = [lifetime for lifetime in lifetimes if lifetime is not None]
    if len(known) < len(lifetimes):
        return float(budget)
    return alpha_of(max(min(sum(known) / len(known), budget / max(len(laws), 2)), RESIDENCE_MIN))


def lifetime_of(law: Law) -> float | None:
    """Give how long rows are worth keeping beside a stream with a trend, in ticks.

    >>> lifetime_of(LinearTrend(slope=2, intercept=0, noise=Uniform(half_width=10)))
    5.0
    """
    inner = bare(law)
    if not isinstance(inner, LinearTrend) or inner.slope == 0.0:
        return None
    noise = inner.noise
    width = noise.high if isinstance(noise, Uniform) else 2.0 * noise.deviation
    return width / abs(inner.slope)


def general_policy(memory: Memory, budget: int, streams: int = 2) -> Policy:
    """Give the policy that is declared, or the one that needs no law: how often keys came."""
    name = "PROB" if memory.policy == "HEEB" else memory.policy
    return policy_of(memory, name, budget=budget, streams=streams)


def is_by_law(memory: Memory) -> bool:
    """Say whether the policy looks at laws: HEEB always, others where one is declared.

    >>> is_by_law(Memory(rows=10)), is_by_law(Memory(rows=10, policy="PROB"))
    (True, False)
    """
    declared = any(law.family != "auto" for law in memory.laws)
    return memory.policy == "HEEB" or (memory.policy in ("PROB", "LIFE") and declared)


def policy_for(
    memory: Memory, laws: Sequence[Law], rates: Sequence[float], windows: Windows, budget: int
) -> CompiledPolicy:
    """Give the policy of a budget over streams whose laws are known; windows are in ticks."""
    found: Policy | None = None
    if is_by_law(memory):
        alpha = declared_alpha(memory) or expected_alpha(laws, budget)
        found = by_law_policy(memory, laws, rates, windows, alpha)
    found = found or general_policy(memory, budget, len(laws))
    assert isinstance(found, CompiledPolicy), "policies in Python are given no laws"
    return found


def by_law_policy(
    memory: Memory, laws: Sequence[Law], rates: Sequence[float], windows: Windows, alpha: float
) -> CompiledPolicy | None:
    """Give the policy with laws; None where no table can be made of them."""
    make: type[FittedHeeb] = FittedHeeb
    weighting: Weighting = Exponential(alpha)
    if memory.policy == "HEEB" and all(each is None or each >= alpha for each in windows):
        # Rows that windows end are few beside those that go before: scores that know of windows
        # keep no more results (measured), and cost up to forty times as much.
        windows = tuple(None for _ in windows)
    if memory.policy == "PROB":
        make, weighting = FittedProb, Fixed(1)
    elif memory.policy == "LIFE":
        ticks = [window for window in windows if window is not None]
        if not ticks:
            return None
        make, weighting = FittedLife, Fixed(math.ceil(max(ticks)))
    try:
        return make(
            laws=tuple(laws), weighting=weighting, rates=tuple(rates), windows=tuple(windows)
        )
    except ValueError:
        return None
