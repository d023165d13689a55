"""What range aggregates count and measure."""

from __future__ import annotations

from penstock.vocabulary.figures import Figure
from penstock.vocabulary.losses import FAILED_CONDITIONS
from penstock.vocabulary.shared_figures import NULL_VALUES, QUERIES

UPDATES = Figure(
    "range_updates", "Changes of rows, by what they may do to minima or maxima of ranges.",
    "changes", labels=("effect",), apart=True,
)  # fmt: skip
MESSAGES = Figure(
    "range_messages", "Semantic messages: rectangles of ranges, or changes of rows.", "messages",
    apart=True,
)  # fmt: skip
NOTIFICATIONS = Figure(
    "range_notifications", "Queries whose answer changed in a batch.", "queries", apart=True
)
TUPLES = Figure("range_tuples", "Rows that are aggregated.", "rows", "gauge", "max", apart=True)
PLACES = Figure(
    "range_places", "Distinct values of the range's attribute, in all partitions.", "values",
    "gauge", "max", apart=True,
)  # fmt: skip
PARTITIONS = Figure(
    "range_partitions", "Partitions that have rows.", "partitions", "gauge", "max", apart=True
)
FIGURES = (
    QUERIES, UPDATES, MESSAGES, NOTIFICATIONS, TUPLES, PLACES, PARTITIONS, NULL_VALUES,
    FAILED_CONDITIONS,
)  # fmt: skip
EFFECTS = ("ignorable", "easy", "difficult")
"""A change that no range can notice; one whose new value all ranges that notice it have; one that
exposes other rows."""
