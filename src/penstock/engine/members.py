"""The members of a subscription: its query numbers and ids, following its blocks as they come."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from penstock.registry.records import Block
from penstock.vocabulary.batches import NO_QUERIES, Ints


class Members:
    """The query numbers and ids of one subscription."""

    def __init__(self, blocks: Callable[[], list[Block]]) -> None:
        self._blocks = blocks
        self._known = -1
        self._queries: Ints = NO_QUERIES
        self._ids: pa.Array = pa.array([], pa.int64())

    def queries(self) -> Ints:
        """All query numbers, also of dropped queries: the log may still speak of them."""
        blocks = self._blocks()
        if len(blocks) != self._known:
            self._known = len(blocks)
            self._queries = np.concatenate([b.query for b in blocks]) if blocks else NO_QUERIES
            parts = [chunk for block in blocks for chunk in block.table["id"].chunks]
            self._ids = pa.chunked_array(parts) if parts else pa.array([], pa.int64())
        return self._queries

    def ids(self, queries: Ints) -> pa.Array:
        """Give the ids of query numbers."""
        at = np.searchsorted(self.queries(), queries)
        return self._ids.take(pa.array(at))
