"""Shared figures: those that operators of several kinds tell, so that a name has one meaning."""

from __future__ import annotations

from penstock.vocabulary.figures import Figure

ACTUAL_COST = Figure("actual_cost", "Time that a group's operator took.", "nanoseconds", apart=True)
"""A shard measures it, of every group."""

QUERIES = Figure("queries", "Standing queries.", "queries", "gauge", "max")
CANDIDATES = Figure("candidates", "Pairs that an index left to be verified.", "pairs")
PAIRS = Figure("pairs", "Pairs that were found.", "pairs")
RESULTS = Figure("results", "Results that were made.", "results")
NULL_VALUES = Figure(
    "null_values",
    "Rows passed over for a NULL where a value is asked, or one that the other side cannot have.",
    "rows",
)

ROWS = Figure("rows", "Rows that are kept of an input.", "rows", "gauge", labels=("input",))
ARRIVED = Figure("arrived", "Rows of an input that came in time.", "rows", labels=("input",))
DROPPED = Figure("dropped", "Rows that a drop box did not let pass.", "rows", labels=("input",))
STORED = Figure("stored", "Rows of an input that some query wants.", "rows", labels=("input",))
ASKED = Figure(
    "asked", "Rows of an input that a part of the selections was asked of.", "rows",
    labels=("input", "part"),
)  # fmt: skip
PASSED = Figure(
    "passed", "Rows of an input that passed a part of the selections.", "rows",
    labels=("input", "part"),
)  # fmt: skip
MADE = Figure("made", "Rows that a join of inputs made.", "rows", labels=("inputs",))
BROUGHT = Figure(
    "brought", "Rows that a join of two inputs made when a row of one came.", "rows",
    labels=("inputs", "input"),
)  # fmt: skip
SPAN = Figure("span_us", "Event time by which the order of the inputs moved.", "microseconds")
HELD = Figure("held", "Rows that wait for their turn in the order.", "rows", "gauge", "max")
HURRIED_ROWS = Figure("hurried_rows", "Rows that went on before their turn.", "rows")
PROBES = Figure("probes", "Times that an index or a cache was asked.", "probes")

ROWS_BUDGET = Figure("rows_budget", "Rows that may be held.", "rows", "gauge")
ROWS_UNDER = Figure(
    "rows_under", "Rows of the budget for which a policy is in force.", "rows", "gauge",
    labels=("policy",),
)  # fmt: skip
LAW = Figure(
    "law", "The family of the law in force, by its number.", "family", "gauge", "last",
    labels=("input",),
)  # fmt: skip
HITS = Figure("hits", "Probes that found something held.", "probes")
ROWS_WAITING = Figure("rows_waiting", "Rows that wait for a database.", "rows", "gauge")


def of_inputs(mask: int) -> str:
    """Name a set of inputs, as the label of a figure.

    >>> of_inputs(0b101)
    '0,2'
    """
    return ",".join(str(k) for k in range(mask.bit_length()) if mask >> k & 1)
