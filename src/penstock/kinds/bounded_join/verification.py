"""Verification of joins with a budget of rows.

A bounded join answers with a part of what it would answer without its budget: DuckDB joins all
recorded rows, and what the log has must be among that, nothing twice. What is missing gives the
true recall. Where the budget had room for every row in its window, nothing may be missing.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.algebra.inputs import WindowLength
from penstock.kinds.arrivals import active_most, arrive, late_rows
from penstock.kinds.crossed_verification import compare_crossed, history_of, reader
from penstock.kinds.drop_boxes import passing
from penstock.kinds.protocol import AnswerComparison
from penstock.kinds.told import Told

FOREVER_US = 1 << 62


def verify_bounded_join(asked: AnswerComparison) -> None:
    """Compare the log of one text with the answer that no budget cuts."""
    logical: BoundedJoin = asked.logical
    answer, batches, catalog = asked.answer, asked.batches, asked.registry.catalog
    begun, _ = history_of(asked.registry, asked.group, asked.versions)
    # A stream without a window has one that never ends.
    inputs = tuple(
        replace(each, window=each.window or WindowLength("range", FOREVER_US))
        for each in logical.inputs
    )
    read = reader(batches, catalog)
    arrivals = arrive(inputs, read, len(batches), begun, (), passing, logical.waiting, len(inputs))
    told = Told(asked.log, len(batches), asked.group)
    most = active_most(arrivals, logical.inputs)
    answer.is_bounded = True
    answer.may_miss = answer.may_miss or told.budget_least < most
    answer.estimate = told.recall(logical.in_memory)
    answer.late = max(answer.late, late_rows(inputs, arrivals))
    windowed = replace(logical, inputs=inputs)
    compare_crossed(asked, windowed, arrivals, read, joined=logical.pair)
