"""Expectations: what queries that predict are told of a batch, and what they expect after it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.model_tellings import CONFIRMED, EVENTS, LEFT, TOLD, USED, expectations_turn
from penstock.operators.model_query.made_rows import MadePairs, RowContents
from penstock.vocabulary.batches import Flags, Rows


class Turned(NamedTuple):
    """What queries are told: for each pair the slot and the event, and what events say."""

    slot: Rows
    event: Rows
    rows: RowContents
    sign: np.ndarray
    ahead: Flags
    """Which events are expected, and not yet sure."""
    expected: MadePairs
    """What queries expect after it."""
    confirmed: int
    """How many expectations came true."""


def turn(told: MadePairs, expected: MadePairs, now: int) -> Turned:
    """Tell what was said, confirm what was expected of the time up to now, and keep the rest.

    A row is told with its sign and its status once. Signs of equal rows of a query add up; what is
    taken back comes before what is told instead.
    """
    both = RowContents.joined([told.rows, expected.rows])
    rows, pairs = len(both), len(told.slot) + 2 * len(expected.slot)
    slot, event, left_slot = np.empty((3, pairs), np.int32)
    left_row, left_sign = np.empty(pairs, np.int64), np.empty(pairs, np.int8)
    event_row, event_sign = np.empty(pairs, np.int64), np.empty(pairs, np.int8)
    ahead, used, sizes = np.empty(pairs, np.bool_), np.empty(rows, np.int64), np.empty(5, np.int64)
    expectations_turn(
        both.words, np.ascontiguousarray(both.starts), now, len(told.rows),
        told.slot, told.row, told.sign, expected.slot, expected.row, expected.sign,
        np.empty((4, rows), np.int64), np.empty(4 * rows, np.int64),
        np.empty((8, pairs), np.int64),
        slot, event, event_row, event_sign, ahead, left_slot, left_row, left_sign, used, sizes,
    )  # fmt: skip
    count, events, left = int(sizes[TOLD]), int(sizes[EVENTS]), int(sizes[LEFT])
    standing = MadePairs(
        both.take(used[: sizes[USED]]), left_slot[:left], left_row[:left], left_sign[:left]
    )
    return Turned(
        slot[:count], event[:count], both.take(event_row[:events]), event_sign[:events],
        ahead[:events], standing, int(sizes[CONFIRMED]),
    )  # fmt: skip
