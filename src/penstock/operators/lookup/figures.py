"""Figures of lookup joins."""

from __future__ import annotations

from penstock.vocabulary.figures import Figure
from penstock.vocabulary.losses import FAILED_CONDITIONS
from penstock.vocabulary.shared_figures import (
    ARRIVED,
    HITS,
    LAW,
    NULL_VALUES,
    QUERIES,
    RESULTS,
    ROWS_BUDGET,
    ROWS_UNDER,
    ROWS_WAITING,
)

ROWS_CACHED = Figure("rows_cached", "Rows of the database that are cached.", "rows", "gauge")
BREAKER_OPEN = Figure(
    "breaker_open", "Whether rows wait, as the database does not answer.", "flag", "gauge", "max"
)
REFERENCES = Figure("references", "Rows that were looked up.", "rows")
FETCHED = Figure("fetched", "Keys that the database was asked for.", "keys")
FETCHES = Figure("fetches", "Questions that the database was asked.", "questions")
ABSENT = Figure("absent", "Keys that the database does not have.", "keys")
BROKEN = Figure("broken", "Keys whose rows the database could not give.", "keys")
FAILURES = Figure("failures", "Questions that the database did not answer.", "questions")

FIGURES = (
    QUERIES, ROWS_CACHED, ROWS_BUDGET, ROWS_UNDER, ROWS_WAITING, BREAKER_OPEN, LAW, ARRIVED,
    REFERENCES, HITS, FETCHED, FETCHES, ABSENT, BROKEN, FAILURES, RESULTS, NULL_VALUES,
    FAILED_CONDITIONS,
)  # fmt: skip
