"""From logical nodes to steps: queries of one shape share one."""

from __future__ import annotations

from penstock.algebra.logical import Logical
from penstock.algebra.physical import Step
from penstock.algebra.shapes import filter_step


def plan(logical: Logical) -> Step:
    """Choose the step that a standing query's group runs."""
    return filter_step(logical)
