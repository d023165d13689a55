"""Rows of a join that subscribers are told: those that come and go in the box of each.

A subscriber's box is one range or two, in his partition. An edge keeps the rows that lie in any
box, each with how often it is there: so it says what holds now, and after a gap what is different.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.brokers.message_format import MessageForm
from penstock.brokers.message_kinds import WEIGHT, added_up
from penstock.brokers.point_states import points_of
from penstock.edges.concerned import index_of
from penstock.edges.notifications import Notifications
from penstock.edges.subscribers import Subscribers
from penstock.kernels.packed_boxes import keys_place
from penstock.kernels.range_points import RangeRectangles
from penstock.operators.shared.boxes import Boxes
from penstock.operators.shared.keys import HIGHEST, LOWEST, ordered_keys, whole
from penstock.vocabulary.batches import Ints, Rows

SLOT = "\x01slot"
"""Whose a row is; no column of users is so called."""
WAITING_MIN = 4_096
"""Rows that came and went are added up when there are so many of them, and as many as stand."""


@dataclass(frozen=True, slots=True)
class ToldRows:
    """Rows, and whom they are told: row `which[i]` the subscriber in `slots[i]`."""

    rows: pa.Table
    which: Ints
    slots: Rows

    def __len__(self) -> int:
        return len(self.which)


class BoxIndex:
    """An index of subscribers' boxes, asked which of them contain rows.

    With one range, it is that of ranges. With two, partition and first range are one number, in
    which the ends of ranges stand by their rank: so a box has two sides, and is in a tree of boxes.
    """

    def __init__(self, subscribers: Subscribers) -> None:
        slots = np.flatnonzero(subscribers.stands).astype(np.int32)
        self._boxes: Boxes | None = None
        if len(subscribers.sides) == 1:
            self._ranges = index_of(subscribers)
            return
        (low, high), (low_2, high_2) = (
            (own[slots] for own in ends) for ends in subscribers.sides
        )  # fmt: skip
        self._ends = np.unique(np.concatenate([low, high]))
        codes = subscribers.codes[slots]
        ends = self._ends
        sides = keys_place(codes, low, ends), keys_place(codes, high, ends), low_2, high_2
        self._boxes = Boxes(2)
        self._boxes.add(slots, np.stack(sides, axis=1))

    def find(self, codes: Ints, keys: list[Ints]) -> tuple[Ints, Rows]:
        """Give which rows, by their keys, lie in whose boxes: in the order of rows."""
        if self._boxes is None:
            low, high = np.full(len(codes), LOWEST), np.full(len(codes), HIGHEST)
            which, slots = self._ranges.find(RangeRectangles(codes, low, keys[0], keys[0], high))
        else:
            points = np.stack([keys_place(codes, keys[0], self._ends), keys[1]], axis=1)
            which, slots = self._boxes.find(points)
        order = np.lexsort((slots, which))
        return which[order], slots[order]


class JoinedRows:
    """The rows in the boxes of all subscribers, and whom rows that come and go concern."""

    def __init__(self, subscribers: Subscribers, form: MessageForm) -> None:
        self.form, self.subscribers = form, subscribers
        self._index = BoxIndex(subscribers)
        self._rows = form.points.empty_table()
        self._waiting: list[pa.Table] = []
        self._count = 0

    def begin(self, points: pa.Table) -> None:
        """Take the rows that a state has."""
        self._rows, self._waiting, self._count = self.form.points.empty_table(), [], 0
        self._keep(self._met(points))
        self._settle()

    def take(self, rows: pa.RecordBatch) -> ToldRows:
        """Take the rows of a batch; give whom they are told."""
        told = self._met(points_of(self.form, rows))
        self._keep(told)
        if self._count > max(WAITING_MIN, len(self._rows)):
            self._settle()
        return told

    def standing(self, slots: Rows) -> ToldRows:
        """Give the rows that are in the boxes of some subscribers."""
        self._settle()
        told = self._met(self._rows)
        own = np.isin(told.slots, slots)
        return ToldRows(told.rows, told.which[own], told.slots[own])

    def changed(self, before: JoinedRows, slots: Rows, old_slots: Rows) -> ToldRows:
        """Give which rows came and went for subscribers who had other slots before."""
        new_of = np.full(len(before.subscribers), -1, dtype=np.int32)
        new_of[old_slots] = slots
        now, was = self.standing(slots), before.standing(old_slots)
        both = [_apart(now, now.slots, 1), _apart(was, new_of[was.slots], -1)]
        net = added_up(pa.concat_tables(both))
        owners = np.asarray(net[SLOT], dtype=np.int32)
        order = np.argsort(owners, kind="stable")
        return ToldRows(net.drop_columns([SLOT]), order, owners[order])

    def notifications(self, told: ToldRows, batch: int, is_first: bool = False) -> Notifications:
        """Give rows as their subscribers see them: without the columns that conditions are of."""
        hidden = {each.name for each in self.form.conditions} | {WEIGHT}
        rows = told.rows.take(pa.array(told.which))
        names = [name for name in rows.column_names if name not in hidden]
        values = pa.StructArray.from_arrays([whole(rows[name]) for name in names], names=names)
        return Notifications(
            batch=batch,
            ids=self.subscribers.ids.take(pa.array(told.slots)),
            values=values,
            is_first=is_first,
            weights=whole(rows[WEIGHT]),
        )

    def _met(self, points: pa.Table) -> ToldRows:
        """Say which rows are in whose boxes."""
        form, own = self.form, self.subscribers
        columns = [whole(points[name]) for name in form.partition]
        codes = own.codes_of(columns, form, len(points))
        there = codes >= 0
        keys: list[Ints] = []
        for each in own.asked:
            found, valid = ordered_keys(whole(points[each.place]), each.type)
            keys.append(found)
            there &= valid
        rows = np.flatnonzero(there)
        which, slots = self._index.find(codes[rows], [found[rows] for found in keys])
        return ToldRows(points, rows[which], slots)

    def _keep(self, told: ToldRows) -> None:
        rows = np.unique(told.which)
        self._waiting.append(told.rows.take(pa.array(rows)))
        self._count += len(rows)

    def _settle(self) -> None:
        if self._waiting:
            self._rows = added_up(pa.concat_tables([self._rows, *self._waiting]))
            self._waiting, self._count = [], 0


def _apart(told: ToldRows, slots: Rows, sign: int) -> pa.Table:
    """Give a row for each subscriber who is told it, with whose it is."""
    rows = told.rows.take(pa.array(told.which))
    weights = pa.array(np.asarray(rows[WEIGHT], dtype=np.int64) * sign)
    rows = rows.set_column(rows.schema.get_field_index(WEIGHT), WEIGHT, weights)
    return rows.add_column(0, SLOT, pa.array(slots))
