"""Where query numbers were registered: blocks in the order of their numbers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

import numpy as np

from penstock.registry.records import Block
from penstock.vocabulary.batches import NO_QUERIES, Ints


class PlacedBlocks:
    """The blocks of a registry by the query numbers that are in them.

    Readers may ask while a writer adds or takes away: they see the list of before or of after.
    """

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self._set(sorted(blocks, key=lambda block: int(block.query[0])))

    def _set(self, blocks: list[Block]) -> None:
        self._lists = blocks, [int(block.query[0]) for block in blocks]
        self._ranges: tuple[list[Block], Ints, Ints] = [], NO_QUERIES, NO_QUERIES
        self._ended = 0

    def add(self, block: Block) -> None:
        """Add a block whose numbers follow all others."""
        self._lists[0].append(block)
        self._lists[1].append(int(block.query[0]))

    def end(self, blocks: list[Block]) -> None:
        """Let blocks go that nobody reads any more; many at a time, since each costs a walk."""
        self._ended += len(blocks)
        for block in blocks:
            block.is_ended = True
        if 2 * self._ended > len(self._lists[0]):
            self._set([block for block in self._lists[0] if not block.is_ended])

    def owners(self, queries: Ints) -> Iterator[tuple[Block, Ints]]:
        """Split query numbers (ascending) by the block that they were registered in."""
        blocks, firsts = self._lists
        if not len(queries) or not firsts:
            return
        at = np.searchsorted(np.asarray(firsts), queries, side="right") - 1
        cuts = np.flatnonzero(np.diff(at)) + 1
        for part in np.split(np.arange(len(queries)), cuts):
            if at[part[0]] >= 0:
                yield blocks[at[part[0]]], queries[part]

    def block_of(self, query: int) -> Block | None:
        """Give the block that a query number was registered in, if it is still known."""
        blocks, firsts = self._lists
        at = bisect_right(firsts, query) - 1
        return blocks[at] if at >= 0 and query <= blocks[at].query[-1] else None

    def first_numbers(self, queries: Ints) -> Ints:
        """Give the first number of the block of each query number; -1 if it is known no more."""
        placed, (known, firsts, lasts) = self._lists[0], self._ranges
        if known is not placed or len(firsts) != len(placed):
            firsts = np.array([block.query[0] for block in placed], dtype=np.int64)
            lasts = np.array([block.query[-1] for block in placed], dtype=np.int64)
            self._ranges = placed, firsts, lasts
        if not len(firsts):
            return np.full(len(queries), -1, dtype=np.int64)
        at = np.searchsorted(firsts, queries, side="right") - 1
        return np.where((at >= 0) & (queries <= lasts[at]), firsts[at], -1)

    def strangers(self, group: str, queries: Ints, version: int) -> Ints:
        """Of query numbers (ascending), give those that did not stand in a group at a version."""
        stood = np.zeros(len(queries), dtype=np.bool_)
        for block, own in self.owners(queries):
            if block.record.group == group and block.version <= version:
                at = np.minimum(np.searchsorted(block.query, own), len(block.query) - 1)
                held = own[(block.query[at] == own) & (block.dropped[at] > version)]
                stood[np.searchsorted(queries, held)] = True
        return queries[~stood]
