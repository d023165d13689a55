"""HIST: HEEB without parameters. It learns, by offset, what rows bring and how long they take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from penstock.algebra.memories import Memory
from penstock.kernels.bounded_victims import LEARNED
from penstock.operators.bounded.policies import CompiledPolicy, Rule
from penstock.operators.bounded.policies_baselines import Passing, lives_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Hist(CompiledPolicy):
    """HIST for two streams of which only the form is known: a trend, or a walk.

    Attributes
    ----------
    form
        "trend": offsets are counted from a line through the partner's keys; "walk": from its last.
    buckets
        Buckets of equal width over the offsets.
    range_ticks
        The ticks whose arrivals give the range of offsets.
    learn_ticks
        Ticks in which rows are discarded by chance, to learn of all of them alike.
    decay, decay_every
        What was learnt weighs less by this factor, every so many ticks.
    """

    name: ClassVar[str] = "HIST"
    form: str = "trend"
    buckets: int = 10
    range_ticks: tuple[int, int] = (20, 100)
    learn_ticks: int = 300
    decay: float = 0.8
    decay_every: int = 200
    seed: int = 0
    passing: Passing = ()

    @classmethod
    def of(cls, memory: Memory, *, budget: int, streams: int) -> Self:  # noqa: ARG003
        """Make the policy of one cache: a walk, if one of the streams is said to be one."""
        walks = any(law.family == "random walk" for law in memory.laws)
        return cls(form="walk" if walks else "trend", seed=memory.seed)

    def rule(self) -> Rule:
        """Say how victims are found."""
        assert self.form in {"trend", "walk"}
        return Rule(
            mode=LEARNED,
            lives=lives_of(self.passing),
            settings=np.array(
                [
                    *self.range_ticks,
                    self.learn_ticks,
                    self.decay_every,
                    self.decay,
                    self.form == "walk",
                ],
                dtype=np.float64,
            ),
            buckets=self.buckets,
            seed=self.seed,
        )
