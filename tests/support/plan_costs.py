"""Costs for tests of plans: round figures that no calibration moves."""

from __future__ import annotations

from penstock.planning.constants import PlanConstants

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
