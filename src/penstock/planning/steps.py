"""From logical nodes to steps: queries of one shape share one."""

from __future__ import annotations

from penstock.algebra.bounded_joins import BoundedJoin, bounded_join_step
from penstock.algebra.joins import StandingJoin, join_step
from penstock.algebra.logical import Logical, StandingFilter
from penstock.algebra.lookups import LookupJoin, lookup_join_step
from penstock.algebra.multi_joins import MultiJoin, multi_join_step
from penstock.algebra.physical import Step
from penstock.algebra.shapes import filter_step


def plan(logical: Logical) -> Step:
    """Choose the step that a standing query's group runs."""
    if isinstance(logical, StandingJoin):
        return join_step(logical)
    if isinstance(logical, MultiJoin):
        return multi_join_step(logical)
    if isinstance(logical, BoundedJoin):
        return bounded_join_step(logical)
    if isinstance(logical, LookupJoin):
        return lookup_join_step(logical)
    assert isinstance(logical, StandingFilter)
    return filter_step(logical)
