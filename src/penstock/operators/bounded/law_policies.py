"""HEEB with fitted laws: keys in units, streams of unlike rates, windows of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from penstock.kernels.bounded_victims import AGED, EXTREMES, RANKED, SCANNED
from penstock.kernels.scores import KEYED, STEPS, TIMED, ScoreTable
from penstock.operators.bounded.laws import Law
from penstock.operators.bounded.policies import CompiledPolicy, Rule
from penstock.operators.bounded.scores import is_unimodal
from penstock.operators.bounded.spaced_laws import fitted_table
from penstock.operators.bounded.weightings import Weighting

Windows = tuple[float | None, ...]
"""The window of each stream, in ticks; None: no window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedHeeb(CompiledPolicy):
    """HEEB with a law per stream, as fits give them; its tables are made at once."""

    name: ClassVar[str] = "HEEB"
    laws: tuple[Law, ...]
    """The law of stream 0, 1, …; one for a lookup."""
    weighting: Weighting
    """How much a result counts that comes so many ticks from now."""
    rates: tuple[float, ...] = (1.0, 1.0)
    """Rows of each stream per tick."""
    windows: Windows = (None, None)
    """The window of each stream, in ticks."""
    caching: bool = False
    """Whether rows are looked up rather than joined."""
    made: Rule = field(init=False, repr=False, compare=False)
    """The rule, ready."""

    def __post_init__(self) -> None:
        tables = tuple(
            fitted_table(
                law,
                self.weighting,
                caching=self.caching,
                window=_ticks(self.windows, stream),
                rate=self.rates[stream],
            )
            for stream, law in enumerate(self.laws)
        )
        windowed = any(window is not None for window in self.windows)
        mode = quickest_mode(tables, windowed=windowed)
        object.__setattr__(self, "made", Rule(mode=mode, tables=tables, windowed=windowed))

    def rule(self) -> Rule:
        """Say how victims are found."""
        return self.made


class FittedProb(FittedHeeb):
    """PROB with fitted laws: the next tick alone counts."""

    __slots__ = ()
    name: ClassVar[str] = "PROB"


class FittedLife(FittedHeeb):
    """LIFE with fitted laws: all ticks of the window count alike."""

    __slots__ = ()
    name: ClassVar[str] = "LIFE"


def _ticks(windows: Sequence[float | None], stream: int) -> int | None:
    """Give the window of rows that a table scores: those of the other streams, the longest.

    >>> _ticks((3.5, 9.0), 1), _ticks((3.5, 9.0, None), 1), _ticks((3.0,), 0)
    (4, None, 3)
    """
    others = [*windows[:stream], *windows[stream + 1 :]] or windows
    longest = [window for window in others if window is not None]
    return max(1, math.ceil(max(longest))) if len(longest) == len(others) and longest else None


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
