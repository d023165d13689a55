"""Values of subscribers, by the kind of messages that an edge reads."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, Protocol

import pyarrow as pa

from penstock.brokers.message_format import MessageForm
from penstock.edges.distinct_counts import DistinctCounts
from penstock.edges.extreme_values import ExtremeValues
from penstock.edges.joined_rows import JoinedRows
from penstock.edges.notifications import Notifications
from penstock.edges.subscribers import Subscribers
from penstock.edges.total_values import TOTALS, TotalValues
from penstock.vocabulary.batches import Rows
from penstock.vocabulary.errors import PenstockError


class RangeValues(Protocol):
    """What all subscribers have, and what messages make of it.

    What is told of whom is the affair of each kind: where subscribers have one value each, it is
    whose value is told; of rows of a join, which row whom.
    """

    form: MessageForm
    subscribers: Subscribers

    def begin(self, points: pa.Table, /) -> None:
        """Take the values that follow from a state."""

    def take(self, rows: pa.RecordBatch, /) -> Sized:
        """Take the messages of a batch in order; give what is told."""

    def standing(self, slots: Rows, /) -> Sized:
        """Give what is told of what holds for some subscribers."""

    def changed(self, before: Any, slots: Rows, old_slots: Rows, /) -> Sized:
        """Give what is told of subscribers who had other slots in values of the same kind."""

    def notifications(self, told: Any, batch: int, is_first: bool = False, /) -> Notifications:
        """Give what is told as notifications."""


def range_values(
    subscribers: Subscribers, form: MessageForm, aggregate: str | None = None
) -> RangeValues:
    """Give what keeps the values that messages of a form tell.

    Messages of totals tell a count as well as a sum and an average: `aggregate` says which is
    asked for. Where it is not needed, it must be what messages are of.
    """
    if form.kind == "row" and aggregate is None:
        return JoinedRows(subscribers, form)
    if form.kind == "total" and aggregate in TOTALS:
        return TotalValues(subscribers, form, aggregate)
    if form.kind == "row":
        raise PenstockError(
            "EDG-005",
            f"What is published here tells rows of a join, and {aggregate} is asked for.",
            "Leave --aggregate out.",
        )
    told = {"extreme": form.value, "set": "count_distinct", "total": None}[form.kind]
    if told is None or aggregate not in {None, told}:
        told = told or " or ".join(TOTALS)
        raise PenstockError(
            "EDG-005",
            f"What is published here tells {told}, and "
            + ("which is not said." if aggregate is None else f"{aggregate} is asked for."),
            f"Ask for --aggregate {told.split()[0]}.",
        )
    kept = DistinctCounts if form.kind == "set" else ExtremeValues
    return kept(subscribers, form)
