"""Unicast: messages to the nodes where affected subscriptions are, one for all at a node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.range_messages import RangeMessages
from penstock.operators.range_aggregate.trees import starts
from penstock.vocabulary.batches import Flags, Ints, Rows


class Unicasts(NamedTuple):
    """What a server sends to nodes: of each update, one message to a node with new values.

    Message m has the values value_starts[m] : value_starts[m + 1]; value v is that of the
    subscriptions slot_starts[v] : slot_starts[v + 1].
    """

    ordinals: Ints
    nodes: Rows
    value_starts: Ints
    values: Ints
    empty: Flags
    slot_starts: Ints
    slots: Rows


def unicasts(messages: RangeMessages, where: Ints, slots: Rows, nodes: Rows) -> Unicasts:
    """Gather subscriptions that were found in rectangles, each at a node, by update and node."""
    ordinals = messages.ordinals[where]
    order = np.lexsort((slots, where, nodes, ordinals))
    where, slots, nodes, ordinals = where[order], slots[order], nodes[order], ordinals[order]
    by_value = np.flatnonzero(starts(where, nodes.astype(np.int64)))
    by_node = np.flatnonzero(starts(ordinals, nodes.astype(np.int64)))
    return Unicasts(
        ordinals=ordinals[by_node],
        nodes=nodes[by_node],
        value_starts=np.append(np.searchsorted(by_value, by_node), len(by_value)),
        values=messages.values[where[by_value]],
        empty=messages.empty[where[by_value]],
        slot_starts=np.append(by_value, len(slots)),
        slots=slots,
    )
