"""Figures of filters."""

from __future__ import annotations

from penstock.vocabulary.figures import Figure
from penstock.vocabulary.losses import FAILED_CONDITIONS, SHED_ROWS
from penstock.vocabulary.shared_figures import CANDIDATES, NULL_VALUES, QUERIES

SLOW_PATH_QUERIES = Figure(
    "slow_path_queries", "Standing queries that meet every event.", "queries", "gauge", "max"
)
ENTRIES = Figure("entries", "Entries in indexes.", "entries", "gauge", "max")
FILTERED_ROWS = Figure("filtered_rows", "Rows that came to a filter.", "rows", apart=True)
FILTERED_US = Figure(
    "filtered_us", "Event time between the first and the last row of a batch.", "microseconds",
    apart=True,
)  # fmt: skip

FIGURES = (
    QUERIES, SLOW_PATH_QUERIES, ENTRIES, NULL_VALUES, CANDIDATES, FAILED_CONDITIONS, FILTERED_ROWS,
    FILTERED_US, SHED_ROWS,
)  # fmt: skip
