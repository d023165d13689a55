"""What views count and measure."""

from __future__ import annotations

from penstock.vocabulary.figures import Figure
from penstock.vocabulary.shared_figures import QUERIES, RESULTS, ROWS_WAITING

FLUSHES = Figure(
    "view_flushes", "Flushes of an input of a view.", "flushes", labels=("input",), apart=True
)
FLUSHED = Figure(
    "view_changes_flushed", "Changes that were brought into a view.", "changes",
    labels=("input",), apart=True,
)  # fmt: skip
FLUSH_COST = Figure(
    "view_flush_cost", "Time that flushes took.", "nanoseconds", labels=("input",), apart=True
)
TURNS = Figure("view_turns", "Transactions in which a view was maintained.", "turns", apart=True)
PENDING = Figure(
    "view_pending", "Changes that wait to be brought into a view.", "changes", "gauge", "max",
    ("input",), apart=True,
)  # fmt: skip
REFRESH_COST = Figure(
    "view_refresh_cost", "What a refresh would take now, by the curves in force.", "nanoseconds",
    "gauge", "max", apart=True,
)  # fmt: skip
REFRESHES = Figure("view_refreshes", "Refreshes that readers asked for.", "refreshes", apart=True)
REFRESH_TIME = Figure("view_refresh_time", "Time that refreshes took.", "nanoseconds", apart=True)
REFRESH_WORST = Figure(
    "view_refresh_worst", "The longest refresh since the view was opened.", "nanoseconds",
    "gauge", "max", apart=True,
)  # fmt: skip
REFRESH_QUANTILE = Figure(
    "view_refresh_quantile", "What so many of 100 of the last 1,000 refreshes took at most.",
    "nanoseconds", "gauge", "max", ("percentile",), apart=True,
)  # fmt: skip
MISSES = Figure(
    "view_misses",
    "Refreshes that took longer than the bound: a burst, a wrong curve, or a slow store.",
    "refreshes", labels=("cause",), apart=True,
)  # fmt: skip
REGRET = Figure(
    "view_regret",
    "What flushes cost beyond the cheapest schedule in hindsight, when plans were last looked at.",
    "permille", "gauge", "max", apart=True,
)  # fmt: skip
REHEARSAL = Figure(
    "view_rehearsal", "What a flush of so many changes took when it was rehearsed.", "nanoseconds",
    labels=("input", "size"), apart=True,
)  # fmt: skip
FIGURES = (
    FLUSHES, FLUSHED, FLUSH_COST, TURNS, PENDING, REFRESH_COST, REFRESHES, REFRESH_TIME,
    REFRESH_QUANTILE, REFRESH_WORST, MISSES, REGRET, REHEARSAL, QUERIES, RESULTS,
    ROWS_WAITING,
)  # fmt: skip
