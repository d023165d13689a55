"""Streams: which source several queries could share, as far as their texts say.

What a row may be off is led back from the bounds of a text, and counts no condition of it: slack is
of one shape, and shapes that share a source have different conditions.
"""

from __future__ import annotations

import math

from penstock.algebra.model_streams import ModelStreamStep, StreamBound
from penstock.algebra.models import ModelCondition, ModelConjunction, ModelFilter, ModelQueryStep
from penstock.models.inversion import step_inversion
from penstock.models.sharing.workloads import trunk_of
from penstock.models.tolerances import SourceTolerances, TolerancePool


def streams_of(step: ModelQueryStep) -> tuple[ModelStreamStep, ...]:
    """Give, for each source of a step, the stream that makes its segments."""
    led_back = step_inversion(step, slack=False)
    return tuple(
        ModelStreamStep(
            source=source,
            bounds=tuple(StreamBound(form=pool.form, amounts=_told(pool)) for pool in own.pools),
            split=own.split,
            min_share=own.min_share,
            floor=own.floor,
            fidelity=own.fidelity,
            predicts=step.predicts,
            alone=not step.shard_key,
        )
        for source, own in zip(step.sources, led_back.sources, strict=True)
    )


def stream_tolerances(step: ModelStreamStep) -> SourceTolerances:
    """Give how far rows of a stream may be from its models."""
    pools = tuple(
        TolerancePool(own.form, tuple(math.inf if a is None else a for a in own.amounts))
        for own in step.bounds
    )
    return SourceTolerances(
        pools, step.split, step.min_share, step.floor, fidelity=step.fidelity
    )  # fmt: skip


def first_condition(step: ModelQueryStep) -> ModelCondition | None:
    """Give what a plan asks of the segments of its one source before anything else, if it does."""
    if len(step.sources) > 1:
        return None
    conditions: list[ModelCondition] = []
    for stage in trunk_of(step.plan)[1]:
        if not isinstance(stage, ModelFilter):
            break
        conditions.append(stage.condition)
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return ModelConjunction(terms=tuple(conditions))


def _told(pool: TolerancePool) -> tuple[float | None, ...]:
    return tuple(None if amount == math.inf else amount for amount in pool.amounts)
