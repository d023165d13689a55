"""For tests of plans: round costs that no calibration moves, and predicates with two ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.planning.constants import PlanConstants
from penstock.planning.model import JoinModel

ROUND = PlanConstants(
    arrive=150.0,
    emit=250.0,
    hash_probe=60.0,
    hash_probe_log=3.0,
    hash_match=12.0,
    hash_insert=40.0,
    hash_invalidate=15.0,
    loop_row=3.0,
    loop_insert=10.0,
    loop_invalidate=5.0,
    ordered_step=10.0,
    ordered_match=12.0,
    terms=2.0,
    residual=150.0,
    source="round figures",
)


def uneven(model: JoinModel, rng: np.random.Generator) -> JoinModel:
    """Let rows of the second input of some predicates match another share than the first's."""
    predicates = (
        replace(each, reverse=float(np.clip(each.selectivity * rng.uniform(0.1, 10), 0.0, 1.0)))
        if rng.random() < 0.8
        else each
        for each in model.predicates
    )
    return replace(model, predicates=tuple(predicates))
