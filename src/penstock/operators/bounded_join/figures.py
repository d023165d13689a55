"""Figures of bounded joins."""

from __future__ import annotations

from penstock.vocabulary.figures import Figure
from penstock.vocabulary.losses import FAILED_CONDITIONS, LATE_ROWS, NULL_EVENT_TIMES
from penstock.vocabulary.shared_figures import (
    ARRIVED,
    ASKED,
    HELD,
    HITS,
    HURRIED_ROWS,
    LAW,
    MADE,
    NULL_VALUES,
    PASSED,
    PROBES,
    QUERIES,
    RESULTS,
    ROWS,
    ROWS_BUDGET,
    ROWS_UNDER,
    SPAN,
    STORED,
)

REFUSED = Figure("refused", "Rows that were never held: others are worth more.", "rows")
EVICTED = Figure("evicted", "Rows that went for others.", "rows")
EXPIRED = Figure("expired", "Rows that went because their windows ended.", "rows")
RECALL_MADE = Figure("recall_made", "Results of the slice of keys that were found.", "results")
RECALL_ALL = Figure(
    "recall_all", "Results of the slice of keys that a join without a budget finds.", "results"
)
JOIN_RECALL_MADE = Figure(
    "join_recall_made", "`recall_made` of one join of a memory that several share.", "results",
    labels=("inputs",),
)  # fmt: skip
JOIN_RECALL_ALL = Figure(
    "join_recall_all", "`recall_all` of one join of a memory that several share.", "results",
    labels=("inputs",),
)  # fmt: skip

FIGURES = (
    QUERIES, ROWS, ROWS_BUDGET, ROWS_UNDER, HELD, LAW, ARRIVED, STORED, ASKED, PASSED, RESULTS,
    PROBES, HITS, MADE, REFUSED, EVICTED, EXPIRED, RECALL_MADE, RECALL_ALL, JOIN_RECALL_MADE,
    JOIN_RECALL_ALL, SPAN, LATE_ROWS, NULL_EVENT_TIMES, HURRIED_ROWS, NULL_VALUES,
    FAILED_CONDITIONS,
)  # fmt: skip
