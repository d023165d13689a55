"""Misfits: declared laws that another family foretells the stream's keys clearly better than."""

from __future__ import annotations

import math

import numpy as np

from penstock.kernels.fitting import BURN, STUDENT, families_score, keys_unit
from penstock.operators.bounded.fitting_laws import FAMILY_OF, OFFLINE, FoundLaw, law_logs
from penstock.vocabulary.batches import Ints

LEAST = 64
"""Keys from which it is told that a law does not fit."""
BITS = 0.5
"""What another law must be better by, in bits per key."""
FAMILIES_ASKED = ("linear trend", "random walk", "ar1", "stationary")


def misfit(law: FoundLaw, ticks: Ints, keys: Ints) -> str | None:
    """Say that another family foretells keys clearly better than a law that was declared.

    None where it does not, or where too little came to tell.
    """
    if law.kind == OFFLINE or len(keys) < LEAST:
        return None
    unit, judged = max(keys_unit(keys), 1), len(keys) - BURN
    own = float(law_logs(law, ticks, keys, True).mean()) + math.log(unit / law.unit)
    scores, _ = families_score(
        ticks.astype(np.float64), (keys - keys[-1]) // unit, np.array([len(keys)]), True, STUDENT
    )
    shares = {
        kind: float(score) / judged
        for kind, score in enumerate(scores[0])
        if FAMILY_OF[kind] in FAMILIES_ASKED and math.isfinite(score)
    }
    best = max(shares, key=lambda kind: shares[kind])
    gain = (shares[best] - own) / math.log(2.0)
    if gain < BITS:
        return None
    same = FAMILY_OF[best] == law.family
    other = f"another {law.family}" if same else f"a law of the family {FAMILY_OF[best]}"
    return (
        f"the declared {law.family} does not fit: {other} foretells each of the last {len(keys)} "
        f"keys better by {gain:.1f} bits"
    )
