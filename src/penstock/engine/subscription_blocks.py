"""The members of a subscription: its blocks by the text that they were registered under."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Catalog
from penstock.algebra.logical import Logical
from penstock.kinds.binder import bind
from penstock.registry.records import Block
from penstock.vocabulary.batches import Ints


class Members:
    """The query numbers and ids of some blocks, also of dropped queries: the log speaks of them."""

    def __init__(self, blocks: list[Block]) -> None:
        self.queries: Ints = blocks[0].query
        self._ids = blocks[0].table["id"]
        if len(blocks) > 1:
            self.queries = np.concatenate([block.query for block in blocks])
            self._ids = pa.chunked_array(
                [chunk for block in blocks for chunk in block.table["id"].chunks]
            )

    def ids(self, queries: Ints) -> pa.Array:
        """Give the ids of query numbers."""
        return self._ids.take(pa.array(np.searchsorted(self.queries, queries)))


def by_text(blocks: Iterable[Block]) -> list[list[Block]]:
    """Gather blocks by text and by the types of their parameters, in order of appearance."""
    blocks = list(blocks)
    if len(blocks) == 1:
        return [blocks]
    found: dict[tuple[object, str], list[Block]] = {}
    for block in blocks:
        types = block.table.schema.remove_metadata().to_string()
        found.setdefault((block.record, types), []).append(block)
    return list(found.values())


def parameter_fields(block: Block) -> tuple[pa.Field, ...]:
    """Give the parameters of a block's text, with their types."""
    return tuple(
        field.with_name(field.name.removeprefix("p_"))
        for field in block.table.schema
        if field.name.startswith("p_")
    )


def bind_blocks(catalog: Catalog, blocks: list[Block]) -> Logical:
    """Bind the text of blocks that `by_text` gathered, with the types of their parameters."""
    fields = parameter_fields(blocks[0])
    record = blocks[0].record
    each = pa.schema(fields) if fields else None
    bound: Logical = bind(record.sql, catalog, each, record.options)
    return bound
