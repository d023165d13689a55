"""Figures of model queries: what rows cost, how long models hold, what was predicted."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.kinds.run_figures import GroupFigures, told_of
from penstock.operators.model_query.figures import (
    CONFIRMED,
    EXPECTED_FIRST,
    EXPIRIES,
    KEYS,
    LARGEST_BOUND,
    MODEL_ROWS,
    OUTPUT_SEGMENTS,
    PASSED_FIRST,
    RETRACTIONS,
    SEGMENTS,
    SOLUTIONS,
    SPARED,
    STANDING,
    TAKEN,
    VALIDATED,
    VIOLATIONS,
)
from penstock.vocabulary.codec import OMITTED
from penstock.vocabulary.counts import counted
from penstock.vocabulary.figures import Figure, Tally
from penstock.vocabulary.losses import (
    FAILED_CONDITIONS,
    FORGOTTEN_SEGMENTS,
    KEYS_WITHOUT_ROOM,
    LATE_ROWS,
    NULL_EVENT_TIMES,
)
from penstock.vocabulary.shared_figures import HURRIED_ROWS, NULL_VALUES

BREAK_EVEN = 2.0
"""With fewer rows per segment, models cost more than the rows that they stand for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures(GroupFigures):
    """What a group of model queries did with rows.

    `rows_per_segment` is how long models hold; `dropped_share` is of the rows that were near their
    model, and cost a comparison and nothing else. `bound_in_force` is how far those may be at most.
    `passed_share` is how many parts of each segment its first conditions let through, as counted,
    `expected_share` the same by the histograms of its stream; `spared` are the segments that
    a gate kept away.
    """

    rows_per_segment: float | None = field(default=None, metadata=OMITTED)
    dropped_share: float | None = field(default=None, metadata=OMITTED)
    rows: int = field(default=0, metadata=OMITTED)
    validated: int = field(default=0, metadata=OMITTED)
    violations: int = field(default=0, metadata=OMITTED)
    expiries: int = field(default=0, metadata=OMITTED)
    segments: int = field(default=0, metadata=OMITTED)
    keys: int = field(default=0, metadata=OMITTED)
    bound_in_force: float | None = field(default=None, metadata=OMITTED)
    passed_share: float | None = field(default=None, metadata=OMITTED)
    expected_share: float | None = field(default=None, metadata=OMITTED)
    spared: int = field(default=0, metadata=OMITTED)
    advice: str | None = field(default=None, metadata=OMITTED)


def model_figures(told: Tally) -> ModelFigures | None:
    """Say what a group did; None before it did anything.

    >>> told = Tally({(MODEL_ROWS, "0"): 100, (VALIDATED, "0"): 95, (SEGMENTS, "0"): 5})
    >>> model_figures(told).to_json()["rows_per_segment"]
    20.0
    """
    shown: tuple[Figure, ...] = (
        OUTPUT_SEGMENTS, RETRACTIONS, SOLUTIONS, CONFIRMED, STANDING, LATE_ROWS, NULL_EVENT_TIMES,
        NULL_VALUES, HURRIED_ROWS, FAILED_CONDITIONS, KEYS_WITHOUT_ROOM, FORGOTTEN_SEGMENTS,
    )  # fmt: skip
    rows, segments = told.total(MODEL_ROWS), told.total(SEGMENTS)
    found = ModelFigures(
        counted=told_of(told, *shown),
        rows_per_segment=round(rows / segments, 2) if segments else None,
        dropped_share=round(told.total(VALIDATED) / rows, 4) if rows else None,
        rows=rows,
        validated=told.total(VALIDATED),
        violations=told.total(VIOLATIONS),
        expiries=told.total(EXPIRIES),
        segments=segments,
        keys=told.total(KEYS),
        bound_in_force=_largest_bound(told),
        passed_share=_passing(told),
        expected_share=told[EXPECTED_FIRST] / 1e6 if EXPECTED_FIRST in told else None,
        spared=told[SPARED],
        advice=_advice(rows, segments),
    )
    return found if found.to_json() else None


def _largest_bound(told: Tally) -> float | None:
    """Give how far rows may be from models at most."""
    bounds = [value for figure, _, value in told if figure is LARGEST_BOUND]
    return max(bounds) / 1e9 if bounds else None


def _passing(told: Tally) -> float | None:
    """Give how many parts of each segment passed the first conditions; None if there are none."""
    came = told[TAKEN] + told[SPARED]
    return round(told[PASSED_FIRST] / came, 4) if came and told[PASSED_FIRST] else None


def _advice(rows: int, segments: int) -> str | None:
    """Say when models do not pay."""
    if segments and rows / segments < BREAK_EVEN:
        return "models hold for fewer than 2 rows: allow more in ERROR WITHIN, or ask of rows"
    return None


def model_words(told: Tally) -> str:
    """Say in short what became of rows.

    >>> model_words(Tally({(MODEL_ROWS, "0"): 1000, (VALIDATED, "0"): 990, (SEGMENTS, "0"): 10}))
    '100.0 rows per segment, 99.0 % of rows dropped unseen'
    """
    rows, segments = told.total(MODEL_ROWS), told.total(SEGMENTS)
    if not rows or not segments:
        return ""
    dropped = 100 * told.total(VALIDATED) / rows
    words = f"{rows / segments:,.1f} rows per segment, {dropped:.1f} % of rows dropped unseen"
    if told[CONFIRMED]:
        words += f", {counted(told[CONFIRMED], 'prediction')} confirmed"
    if told[SPARED]:
        words += f", {counted(told[SPARED], 'segment')} kept away by gates"
    return words


def model_sentence(told: Tally) -> str:
    """Say at the end of a run what became of rows."""
    return f"Models: {model_words(told)}, {counted(told[RETRACTIONS], 'segment')} taken back."
