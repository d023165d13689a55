"""HEEB: discard the row with the least expected benefit, weighed by how likely it is still held.

Scores come from tables that are built once. Where the order of rows allows it, the victim is found
in logarithmic time: under a trend or a walk with a single peak it has the smallest or the largest
key of its stream; without any movement a row's rank never changes. In windows bounds on the scores
of independent keys say which few rows need a look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from penstock.kernels.scoring import KEYED, STEPS, TIMED, ScoreTable
from penstock.operators.bounded.curves import dominated_subset, joining_curve
from penstock.operators.bounded.models import History, Ints, Model
from penstock.operators.bounded.policies import (
    AGED,
    EXTREMES,
    RANKED,
    SCANNED,
    Candidates,
    CompiledPolicy,
    Rule,
    SteppedPolicy,
)
from penstock.operators.bounded.scores import direct_score, is_unimodal, score_table
from penstock.operators.bounded.weightings import Exponential, Weighting, alpha_of

Search = Literal["auto", "scan"]


def tabled_rule(
    models: Sequence[Model], weighting: Weighting, *, window: int | None = None,
    caching: bool = False, control_points: int | None = None, search: Search = "auto",
) -> Rule:  # fmt: skip
    """Give the rule that discards the lowest score, by the quickest search that finds it."""
    tables = tuple(
        score_table(model, weighting, caching=caching, window=window, control_points=control_points)
        for model in models
    )
    windowed = window is not None
    mode = SCANNED if search == "scan" else quickest_mode(tables, windowed=windowed)
    return Rule(mode=mode, tables=tables, windowed=windowed)


def quickest_mode(tables: Sequence[ScoreTable], *, windowed: bool) -> int:
    """Give the quickest search for the lowest score that misses none."""
    if windowed:
        return AGED if all(map(_is_steady, tables)) else SCANNED
    if all(table.kind in {STEPS, KEYED} for table in tables):
        return RANKED
    # A sum over several partners may have several peaks.
    if len(tables) <= 2 and all(map(is_unimodal, tables)):
        return EXTREMES
    return SCANNED


def _is_steady(table: ScoreTable) -> bool:
    """Say whether keys of different ticks are independent and weights exponential."""
    independent = table.kind <= TIMED and table.follows == 0.0
    return independent and table.decay > 0.0 and not len(table.lifetimes) and not len(table.shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heeb(CompiledPolicy):
    """HEEB with a model per stream.

    Attributes
    ----------
    models
        The law of stream 0, 1, ...; one for a lookup.
    weighting
        How much a result counts that comes so many ticks from now.
    window
        The longest window of a join, in ticks.
    caching
        Whether rows are looked up (one hit at a time) rather than joined.
    control_points
        Points per side of an interpolated surface; None: every cell.
    search
        "scan" scores all candidates at every decision.
    """

    name: ClassVar[str] = "HEEB"
    models: tuple[Model, ...]
    weighting: Weighting
    window: int | None = None
    caching: bool = False
    control_points: int | None = None
    search: Search = "auto"

    def rule(self) -> Rule:
        """Say how victims are found."""
        return tabled_rule(
            self.models, self.weighting, window=self.window, caching=self.caching,
            control_points=self.control_points, search=self.search,
        )  # fmt: skip

    def retuned(self, residence: float) -> Heeb:
        """Give the same policy for another mean residence of admitted rows, in ticks."""
        return replace(self, weighting=Exponential(alpha_of(residence)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DominanceHeeb(SteppedPolicy):
    """Discard what is safe to discard, the dominated rows; HEEB decides on the rest.

    Two streams, independent over time; curves are compared up to `horizon` ticks ahead, beyond
    which they must be constant.
    """

    name: ClassVar[str] = "DOMINANCE+HEEB"
    models: tuple[Model, Model]
    weighting: Weighting
    horizon: int

    def choose_victims(self, candidates: Candidates, count: int, now: int) -> Ints:
        """Name the dominated candidates, then those with the lowest scores."""
        history = History(now)
        partners = [self.models[1 - stream] for stream in candidates.streams.tolist()]
        keys = candidates.keys.tolist()
        curves = np.stack(
            [
                joining_curve(partner, key, self.horizon, history)
                for partner, key in zip(partners, keys, strict=True)
            ]
        )
        safe = list(dominated_subset(curves, count))
        scores = np.array(
            [
                direct_score(partner, self.weighting, key, history)
                for partner, key in zip(partners, keys, strict=True)
            ]
        )
        scores[safe] = -1.0
        return np.argsort(scores, kind="stable")[:count]
