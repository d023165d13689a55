"""Folds: what stands after many versions, as one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.registry.records import NEVER, Block
from penstock.vocabulary.batches import Ints, QueryChanges


def settled_block(block: Block, settled: int) -> Block | None:
    """Give a block as it was at `settled`; what was dropped later is still to go.

    Dropped queries keep their ids: the result log may speak of them as long as it is there.
    """
    if block.version > settled:
        return None
    kept = Block(record=block.record, version=block.version, table=block.table)
    kept.dropped = np.where(block.dropped > settled, NEVER, block.dropped)
    return kept


def folded(changes: Iterator[QueryChanges]) -> dict[str, pa.Table]:
    """Add up a group's changes: the entries that stand after all of them."""
    tables: dict[str, list[pa.Table]] = {}
    drops: list[Ints] = []
    for change in changes:
        drops.append(change.drops)
        for port, table in change.adds.items():
            tables.setdefault(port, []).append(table)
    gone = pa.array(np.concatenate(drops)) if drops else pa.array([], pa.int64())
    standing = {port: pa.concat_tables(parts) for port, parts in tables.items()}
    if not len(gone):
        return standing
    return {
        port: table.filter(pc.invert(pc.is_in(table["query"], value_set=gone)))
        for port, table in standing.items()
    }
