"""Figures of multi-way joins."""

from __future__ import annotations

from penstock.vocabulary.figures import Figure
from penstock.vocabulary.losses import (
    FAILED_CONDITIONS,
    LATE_ROWS,
    NULL_EVENT_TIMES,
    SHED_ROWS,
    UNKNOWN_DELETES,
)
from penstock.vocabulary.shared_figures import (
    ARRIVED,
    ASKED,
    BROUGHT,
    DROPPED,
    HELD,
    HURRIED_ROWS,
    MADE,
    NULL_VALUES,
    PASSED,
    QUERIES,
    RESULTS,
    ROWS,
    SPAN,
    STORED,
)

COMPOSITES = Figure(
    "composites", "Rows that a join of inputs keeps.", "rows", "gauge", labels=("inputs",)
)

FIGURES = (
    QUERIES, ROWS, COMPOSITES, HELD, ARRIVED, DROPPED, STORED, ASKED, PASSED, MADE, BROUGHT,
    RESULTS, SPAN, LATE_ROWS, NULL_EVENT_TIMES, HURRIED_ROWS, NULL_VALUES, UNKNOWN_DELETES,
    FAILED_CONDITIONS, SHED_ROWS,
)  # fmt: skip
