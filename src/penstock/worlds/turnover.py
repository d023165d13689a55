"""A table that changes for ever: each change is a pure function of (seed, table, offset).

The table has `stock` rows. The first `stock` offsets insert them, one *slot* each. From then on
two offsets make one change: the first takes a slot's row away, the second puts the next one in its
place. In every *round* each slot changes once, in another order. Most changes are updates; after
some rounds a slot's row is deleted and a new one, with an id of its own, is inserted.

Whatever a row holds is a function of its id and its version, so the row that a change takes away
is, in all columns, the row that was put there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.vocabulary.batches import Ints
from penstock.worlds.chance import bits, mix

STOCK_MAX = 1_000_000
_STRIDE = 1_000_003
"""A prime beyond any stock: walking a round in such strides visits every slot."""
_PHASE_SALT = 0x7068_6173
_ORDER_SALT = 0x6F72_6465
_OPS = pa.array(["insert", "delete", "update_before", "update_after"], pa.string())


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of a table: whose row, in which version, and whether it comes or goes."""

    id: Ints
    """The row's id: no two rows that ever stood have the same."""
    version: Ints
    """How many changes the row's slot has seen, from 0."""
    op: pa.StringArray
    """What the change column says."""


def changes(first: int, last: int, seed: int, stock: int, rounds: int) -> Changes:
    """Say what happens at offsets `first` up to, not including, `last`.

    `rounds` is how many rounds a row lives.

    >>> made = changes(0, 7, seed=5, stock=3, rounds=4)
    >>> made.op.to_pylist()[:5]
    ['insert', 'insert', 'insert', 'update_before', 'update_after']
    >>> bool(made.id[3] == made.id[4])
    True
    """
    assert 0 < stock <= STOCK_MAX
    offsets = np.arange(first, last, dtype=np.int64)
    beyond = np.maximum(offsets - stock, 0)
    loading = offsets < stock
    comes = loading | (beyond % 2 == 1)
    turn, place = np.divmod(beyond // 2, stock)
    order = bits(mix(turn, seed, _ORDER_SALT), 0, 20)
    slot = np.where(loading, offsets, (place * _STRIDE + order) % stock)
    version = np.where(loading, 0, turn + comes)
    phase = bits(mix(slot, seed, _PHASE_SALT), 0, 32) % rounds
    generation = (version + phase) // rounds
    other = np.where(comes, version - 1, version + 1)
    replaced = loading | ((other + phase) // rounds != generation)
    op = np.where(replaced, np.where(comes, 0, 1), np.where(comes, 3, 2))
    return Changes(generation * stock + slot, version, _OPS.take(pa.array(op)))
