"""Totals of subscribers: the count, sum or average of the values in the range of each.

Messages say which points came and went, so a subscriber's totals change by the difference. Sums are
kept in digits, as the engine keeps them: they are exact, whatever came and went on the way.
"""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
import pyarrow as pa

from penstock.brokers.message_format import MessageForm
from penstock.brokers.message_kinds import WEIGHT, X, Y
from penstock.edges.concerned import index_of
from penstock.edges.notifications import Notifications
from penstock.edges.scalar_values import ScalarValues
from penstock.edges.subscribers import Subscribers
from penstock.operators.shared.keys import ordered_keys, whole
from penstock.operators.shared.summands import Summands, sums_of
from penstock.operators.shared.totals import (
    COUNT,
    PlaceSums,
    range_sums,
    stabs,
    summed_up,
)
from penstock.vocabulary.batches import Flags, Ints, Rows
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import ColumnKind, kind_of

TotalFunction = Literal["count", "sum", "avg"]
TOTALS: tuple[TotalFunction, ...] = ("count", "sum", "avg")


class TotalValues(ScalarValues):
    """The totals of all subscribers, and whose change with points that come and go."""

    def __init__(self, subscribers: Subscribers, form: MessageForm, function: str) -> None:
        self.form, self.subscribers = form, subscribers
        self._function = cast(TotalFunction, function)
        self._summands = Summands(form.schema.field(Y).type) if function != "count" else None
        self._type = _type(self._function, form.schema.field(Y).type)
        self._index = index_of(subscribers)
        self._sums: dict[int, Ints] = {}

    def begin(self, points: pa.Table) -> None:
        """Take the values that follow from a state."""
        own, changes = self.subscribers, self._read(points)
        found = range_sums(changes, own.codes, own.x1s, own.x2s)
        self._sums = {name: np.where(own.stands, each, 0) for name, each in found.items()}

    def take(self, rows: pa.RecordBatch) -> Rows:
        """Take the points of a batch; give whose value is another one now, each once."""
        own, changes = self.subscribers, self._read(rows)
        slots = self._index.find(stabs(changes))[1]
        before, before_absent = self._words(slots)
        added = range_sums(changes, own.codes[slots], own.x1s[slots], own.x2s[slots])
        for name, each in added.items():
            column = self._sums.setdefault(name, np.zeros(len(own), dtype=np.int64))
            column[slots] += each
        after, after_absent = self._words(slots)
        changed = before_absent != after_absent
        for old, new in zip(before, after, strict=True):
            changed |= old != new
        return cast(Rows, slots[changed])

    def different(self, before: TotalValues) -> Rows:
        """Give whose value is another one than it was."""
        slots = np.arange(len(self.subscribers), dtype=np.int32)
        (old, was), (new, now) = before._words(slots), self._words(slots)
        changed = was != now
        for one, other in zip(old, new, strict=True):
            changed |= one != other
        return np.flatnonzero(changed).astype(np.int32)

    def notifications(self, told: Rows, batch: int, is_first: bool = False) -> Notifications:
        """Give the values of some subscribers."""
        words, absent = self._words(told)
        values = sums_of(words, absent, self._type)
        ids = self.subscribers.ids.take(pa.array(told))
        return Notifications(batch=batch, ids=ids, values=values, is_first=is_first)

    def _read(self, rows: pa.Table | pa.RecordBatch) -> PlaceSums:
        """Add up points by their places; those in no subscriber's partition are left out."""
        form = self.form
        columns = [whole(rows.column(name)) for name in (*form.partition, X, Y, WEIGHT)]
        codes = self.subscribers.codes_of(columns[:-3], form, len(rows))
        xs, valid = ordered_keys(columns[-3], form.attribute)
        there = valid & (codes >= 0)
        weights = np.asarray(columns[-1])[there]
        sums = {COUNT: weights}
        if self._summands is not None:
            keys, has_value = ordered_keys(columns[-2], self._summands.type)
            if not has_value.all():
                raise PenstockError(
                    "EDG-005",
                    f"These messages are of a count: they have no values for {self._function}.",
                    "Ask for --aggregate count, or publish the messages of SUM or AVG.",
                )
            digits = self._summands.digits(keys[there])
            sums |= {place: own * weights for place, own in digits.items()}
        return summed_up(codes[there], xs[there], sums)

    def _words(self, slots: Rows) -> tuple[list[Ints], Flags]:
        """Give values as numbers, equal ones of equal values, and where there is none."""
        none = np.zeros(len(self.subscribers), dtype=np.int64)
        counts = self._sums.get(COUNT, none)[slots]
        if self._summands is None:
            return [counts], np.zeros(len(slots), dtype=np.bool_)
        digits = {place: own[slots] for place, own in self._sums.items() if place != COUNT}
        absent = counts == 0
        if self._function == "sum":
            words, absent = self._summands.array(digits, absent, self._type)
        else:
            means = self._summands.floats(digits, len(slots)) / np.where(absent, 1, counts)
            words, absent = [means.view(np.int64)], absent | np.isnan(means)
        return [np.where(absent, 0, own) for own in words], absent


def _type(function: TotalFunction, type_: pa.DataType) -> pa.DataType:
    """Give the type of a total over values of a type, as the engine has it."""
    kind = kind_of(type_)
    if function == "count":
        return pa.int64()
    if function == "avg" or kind is ColumnKind.FLOAT:
        return pa.float64()
    return pa.decimal128(38, type_.scale) if kind is ColumnKind.DECIMAL else pa.int64()
