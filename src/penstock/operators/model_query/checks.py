"""Checking: steps that cannot work are refused before a query of theirs stands."""

from __future__ import annotations

from penstock.algebra.models import ModelQueryStep
from penstock.models.inversion import step_inversion
from penstock.operators.model_query.equations import duration_text
from penstock.operators.model_query.flow import SegmentFlow
from penstock.vocabulary.errors import PenstockError

SAMPLES_MAX = 100_000
"""Samples that one segment may have: they are told at once."""


def check(step: ModelQueryStep) -> None:
    """Refuse bounds that cannot be led back to sources, and segments of too many samples."""
    SegmentFlow(step)
    step_inversion(step)
    if step.sample_us is None:
        return
    for source in step.sources:
        if source.horizon_us > SAMPLES_MAX * step.sample_us:
            fact = (
                f"A model of {source.relation!r} holds for {duration_text(source.horizon_us)}, "
                f"and a sample every {duration_text(step.sample_us)} makes more than "
                f"{SAMPLES_MAX:,} rows of it."
            )
            raise PenstockError("MDL-060", fact, "Sample less often, or give a shorter HORIZON.")
