"""Figures of joins of two relations: what matching costs, and how routers choose."""

from __future__ import annotations

from penstock.vocabulary.figures import Figure
from penstock.vocabulary.losses import (
    FAILED_CONDITIONS,
    LATE_ROWS,
    NULL_EVENT_TIMES,
    UNKNOWN_DELETES,
)
from penstock.vocabulary.shared_figures import (
    CANDIDATES,
    NULL_VALUES,
    PAIRS,
    PROBES,
    QUERIES,
    ROWS,
)

REBUILDS = Figure("rebuilds", "Times that a stabbing partition was computed anew.", "rebuilds")
MOVES = Figure("moves", "Ranges that became hot or scattered.", "ranges")
ESTIMATED_COST = Figure(
    "estimated_cost", "Time that the router expected its choices to take.", "nanoseconds"
)
WORK = {
    figure.name: figure
    for figure in (
        PROBES,
        Figure("descents", "Ways down a tree of an index.", "descents"),
        Figure("searches", "Binary searches in sorted rows.", "searches"),
        Figure("visited", "Entries of indexes that were looked at.", "entries"),
        Figure("passes", "Times that rows were gone through for skylines.", "passes"),
        Figure("rows_read", "Rows that were read for skylines.", "rows"),
        Figure("builds", "Times that an index of a group was built.", "builds"),
        REBUILDS,
        MOVES,
        Figure("decision_tables", "Tables of choices that the router made.", "tables"),
        ESTIMATED_COST,
    )
}
"""What cores count under these names, which only grows."""

PLAN = Figure("plan", "Changes that a strategy was chosen for.", "changes", labels=("choice",))
STABBING_GROUPS = Figure("stabbing_groups", "Stabbing groups.", "groups", "gauge", "max")
HOT_GROUPS = Figure("hot_groups", "Stabbing groups that are hotspots.", "groups", "gauge", "max")
HOT_QUERIES = Figure(
    "hot_queries", "Ranges that lie in hotspots, of both directions.", "ranges", "gauge", "max"
)

FIGURES = (
    QUERIES, ROWS, STABBING_GROUPS, HOT_GROUPS, HOT_QUERIES, LATE_ROWS, NULL_EVENT_TIMES,
    NULL_VALUES, UNKNOWN_DELETES, CANDIDATES, PAIRS, FAILED_CONDITIONS, PLAN, *WORK.values(),
)  # fmt: skip
