"""Misfits: declared laws that another family foretells the stream's keys clearly better than."""

from __future__ import annotations

import math

import numpy as np

from penstock.kernels.law_fits import BURN, STUDENT, families_score, keys_unit
from penstock.operators.bounded.fitted_laws import FAMILY_OF, OFFLINE, FittedLaw, law_logs
from penstock.vocabulary.batches import Ints

LEAST = 64
"""Keys from which it is told that a law does not fit."""
BITS = 0.5
"""What another law must be better by, in bits per key."""
FAMILIES_ASKED = ("linear trend", "random walk", "ar1", "stationary")


def misfit(fitted: FittedLaw, ticks: Ints, keys: Ints) -> str | None:
    """Say that another family foretells keys clearly better than a law that was declared.

    None where it does not, or where too little came to tell.
    """
    if fitted.kind == OFFLINE or len(keys) < LEAST:
        return None
    unit, judged = max(keys_unit(keys), 1), len(keys) - BURN
    own = float(law_logs(fitted, ticks, keys, True).mean()) + math.log(unit / fitted.unit)
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
    same = FAMILY_OF[best] == fitted.family
    other = f"another {fitted.family}" if same else f"a law of the family {FAMILY_OF[best]}"
    return (
        f"the declared {fitted.family} does not fit: {other} foretells each of the last "
        f"{len(keys)} keys better by {gain:.1f} bits"
    )
