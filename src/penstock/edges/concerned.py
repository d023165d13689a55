"""Whom messages concern: an index of subscribers' ranges, and what messages ask of it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.brokers.message_format import MessageForm
from penstock.edges.subscribers import Subscribers
from penstock.kernels.range_points import RangeRectangles
from penstock.operators.shared.keys import HIGHEST, LOWEST, ordered_keys
from penstock.operators.shared.subscription_points import SubscriptionPoints
from penstock.vocabulary.batches import Flags, Ints


def index_of(subscribers: Subscribers) -> SubscriptionPoints:
    """Give an index of the subscribers that have a range."""
    index, slots = SubscriptionPoints(), np.flatnonzero(subscribers.stands)
    index.add(slots, subscribers.codes[slots], subscribers.x1s[slots], subscribers.x2s[slots])
    return index


def concerned_rectangles(
    subscribers: Subscribers, form: MessageForm, rows: pa.RecordBatch
) -> RangeRectangles:
    """Give what messages speak of in keys, all bounds included."""
    codes = subscribers.codes_of([rows.column(name) for name in form.partition], form, len(rows))

    def ends(name: str) -> tuple[Ints, Flags]:
        return ordered_keys(rows.column(name), form.attribute)

    outer_l, has_left = ends("outer_l")
    outer_r, has_right = ends("outer_r")
    return RangeRectangles(
        codes,
        np.where(has_left, outer_l + has_left, LOWEST),
        ends("inner_l")[0],
        ends("inner_r")[0],
        np.where(has_right, outer_r - has_right, HIGHEST),
    )
