"""Verification of multi-way window joins: what was found, and how much of it without dropping."""

from __future__ import annotations

from penstock.algebra.multi_joins import MultiJoin
from penstock.kinds.arrivals import Arrivals, Plans, arrive, late_rows
from penstock.kinds.crossed_verification import compare_crossed, history_of, reader
from penstock.kinds.drop_boxes import passing
from penstock.kinds.outcomes import count_full
from penstock.kinds.protocol import AnswerComparison


def verify_multi_join(asked: AnswerComparison) -> None:
    """Compare the log of one text with DuckDB.

    Where rows were dropped, also see how much of the answer without dropping was found.
    """
    logical: MultiJoin = asked.logical
    batches = asked.batches
    begun, plans = history_of(asked.registry, asked.group, asked.versions)
    read = reader(batches, asked.registry.catalog)

    def arrivals(heeded: Plans) -> dict[int, Arrivals]:
        return arrive(logical.inputs, read, len(batches), begun, heeded, passing, logical.waiting)

    heeding = arrivals(plans)
    asked.answer.late = max(asked.answer.late, late_rows(logical.inputs, heeding))
    compare_crossed(asked, logical, heeding, read)
    if any(first < len(batches) and min(plan.passes, default=1.0) < 1.0 for first, plan in plans):
        compare_crossed(asked, logical, arrivals(()), read, count_full)
