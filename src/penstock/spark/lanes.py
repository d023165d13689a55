"""Lanes: the ways in which rows are divided among the shards of the cluster host.

Rows that may meet must be in one shard. Filters meet queries only: their lane takes whole Arrow
batches in turn. A join's lane takes rows by the hash of its key; a lane without a key (bands) gives
every shard all rows. Groups that can live with a division share its lane.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import ATTENDANTS
from penstock.algebra.physical import ALONE, Division, KeepStep, Step
from penstock.operators.protocol import Share
from penstock.operators.shared.common_keys import fingerprints
from penstock.operators.shared.ownership import shard_of


@dataclass(frozen=True, slots=True)
class Lane:
    """One division, the key of each of its shards, and the tables whose changes pass.

    Changes that speak of one row of a table must meet in one shard. They do in a join's lane, by
    the join's key; but if the table has a key of its own, a row may move from shard to shard, and
    every shard sees them all.
    """

    division: Division
    keys: tuple[int, ...]
    tables: tuple[KeepStep, ...] = ()

    @property
    def is_alone(self) -> bool:
        """Whether it has one shard, for queries that keep relations, and those that read these."""
        return ALONE in (self.division or ())

    def hosts(self, step: Step) -> bool:
        """Say whether a step's operator lives in this lane: its own joins, and what they need.

        These are the rows of their tables and the clocks of their streams. The filters' lane has
        all tables: every change passes it once, and is counted there.
        """
        attended = ATTENDANTS.get(step.kind)
        if attended is None and ALONE in (step.division or ()):
            return self.is_alone
        if attended is None:
            return step.division == self.division
        if self.division is None:
            return attended.keeps
        return any(relation == step.relations[0] for relation, _ in self.division)

    def spread(self, relation: str, table: pa.Table, turn: int) -> Iterator[tuple[int, pa.Table]]:
        """Give each shard's rows of a table, by the shard's key."""
        kept = next((own for own in self.tables if own.relation == relation), None)
        if self.division is None:
            if kept is None or len(self.keys) == 1:
                yield self.keys[turn % len(self.keys)], table
            else:
                yield from self._parted(table, [_row_owners(table, kept, len(self.keys))])
            return
        columns = [own for name, own in self.division if name == relation]
        if not columns:
            return
        if not all(columns) or len(self.keys) == 1 or (kept is not None and kept.key):
            for key in self.keys:
                yield key, table
            return
        yield from self._parted(table, [_owners(table, own, len(self.keys)) for own in columns])

    def _parted(self, table: pa.Table, owners: list[Any]) -> Iterator[tuple[int, pa.Table]]:
        for number, key in enumerate(self.keys):
            mine = np.logical_or.reduce([owner == number for owner in owners])
            if mine.any():
                yield key, table.filter(pa.array(mine))


def _owners(table: pa.Table, columns: tuple[str, ...], count: int) -> Any:
    types = [table.schema.field(name).type for name in columns]
    return shard_of([table.column(name) for name in columns], types, count)


def _row_owners(table: pa.Table, kept: KeepStep, count: int) -> Any:
    """Give the shard of every change by the row that it speaks of."""
    columns = [table.column(name) for name, _ in kept.identity]
    prints = fingerprints(columns, [type_ for _, type_ in kept.identity])
    return (prints.view(np.uint64) % np.uint64(count)).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Lanes:
    """All lanes of a pipeline, the filters' first; picklable, for workers."""

    lanes: tuple[Lane, ...]

    @property
    def keys(self) -> tuple[int, ...]:
        """The keys of all shards of all lanes."""
        return tuple(key for lane in self.lanes for key in lane.keys)

    def of(self, key: int) -> tuple[Lane, Share]:
        """Give the lane and the share of a shard."""
        for lane in self.lanes:
            if key in lane.keys:
                return lane, Share(lane.keys.index(key), len(lane.keys))
        raise AssertionError(f"no shard has the key {key}")


def division_from_json(data: list[Any]) -> Division:
    """Give back a division that JSON stored as lists."""
    return tuple((relation, tuple(columns)) for relation, columns in data)
