"""Rows: a batch's changes to one side, as the index sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.algebra.inputs import InputShape
from penstock.algebra.joins import JoinStep
from penstock.operators.protocol import Share
from penstock.operators.shared.codes import BranchCodes
from penstock.operators.shared.common_keys import (
    canonical,
    difference_type,
    fingerprints,
    key_types,
    number_keys,
    placing_types,
    value_keys,
)
from penstock.operators.shared.keys import whole
from penstock.operators.shared.ownership import shard_of
from penstock.operators.shared.terms import NO_TERMS, SideTerms, side_terms
from penstock.vocabulary.batches import Flags, Ints, Rows
from penstock.vocabulary.changes import signs_of

Signs = npt.NDArray[np.int8]
NO_TIMES: Ints = np.empty(0, dtype=np.int64)


@dataclass(slots=True, kw_only=True)
class SideArrivals:
    """Changes of one side that may join, in order; all arrays have one item per change.

    `values` are the keys that the index sorts by: the primary term's, or the band's number. `terms`
    are the keys of the further terms. `slots` are -1 until the side has given them.
    """

    codes: Rows
    values: Ints
    times: Ints
    terms: tuple[Ints, ...]
    prints: Ints
    signs: Signs
    slots: Rows
    table: pa.Table

    def __len__(self) -> int:
        return len(self.codes)

    def filter(self, keep: Flags) -> SideArrivals:
        """Keep some of the changes."""
        if keep.all():
            return self
        return SideArrivals(
            codes=self.codes[keep],
            values=self.values[keep],
            times=self.times[keep] if len(self.times) else self.times,
            terms=tuple(term[keep] for term in self.terms),
            prints=self.prints[keep] if len(self.prints) else self.prints,
            signs=self.signs[keep],
            slots=self.slots[keep],
            table=self.table.filter(pa.array(keep)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadColumns:
    """What an index wants to know of an input's rows.

    `keys` are columns that must equal another input's, each read in the type of `key_types` and
    placed in shards by that of `placing`, if there is one; `time` is the event time, `band` a
    column whose `difference` from another is bounded. `everything` says that all columns are kept.
    """

    keys: tuple[str, ...] = ()
    key_types: tuple[pa.DataType, ...] = ()
    placing: tuple[pa.DataType | None, ...] = ()
    time: str | None = None
    band: str | None = None
    difference: pa.DataType | None = None
    terms: SideTerms = NO_TERMS
    everything: bool = True


def columns_read(step: JoinStep, number: int, everything: bool) -> ReadColumns:
    """Say what the index of a join of two wants to know of one of its inputs."""
    return ReadColumns(
        keys=tuple(pair[number] for pair in step.keys),
        key_types=key_types(step),
        placing=placing_types(step),
        time=step.window[number] if step.window else None,
        band=step.band[number] if step.band else None,
        difference=band_difference(step),
        terms=side_terms(step, number),
        everything=everything,
    )


def band_difference(step: JoinStep) -> pa.DataType | None:
    """Give the type in which the difference of a band's columns is counted, if there is a band."""
    if step.band is None:
        return None
    left, right = (side.types[name] for side, name in zip(step.inputs, step.band, strict=True))
    return difference_type(left, right)


class Reader:
    """Reads the changes of one input of a step from tables.

    `kept` names the columns that the operator keeps of a row: all of them, or only those that the
    index needs.
    """

    def __init__(
        self, shape: InputShape, wanted: ReadColumns, codes: BranchCodes, share: Share
    ) -> None:
        self.shape = shape
        self.terms = wanted.terms
        self._codes = codes
        self._share = share
        self._types = shape.types
        self._keys, self._key_types = wanted.keys, wanted.key_types
        self._placing = wanted.placing
        self._time = wanted.time
        self._band, self._difference = wanted.band, wanted.difference
        names = [name for name, _ in self.shape.columns]
        needed = {*self._keys, self._time, self._band, *(t.column for t in self.terms.terms)}
        self.kept = tuple(n for n in names if wanted.everything or n in needed)
        self.schema = pa.schema([(name, self._types[name]) for name in self.kept])

    def conform(self, table: pa.Table) -> pa.Table:
        """Give the side's columns in their declared types, one chunk each, without the change."""
        arrays = [
            _cast(whole(table.column(name)), type_)
            for name, type_ in self.shape.columns
            if name in table.column_names
        ]
        names = [name for name, _ in self.shape.columns if name in table.column_names]
        return pa.table(arrays, names=names)

    def mine(self, table: pa.Table) -> pa.Table:
        """Leave out the rows of other shards."""
        if self._share.count == 1 or not self._keys or table.num_rows == 0:
            return table
        columns = [table.column(name) for name in self._keys]
        types = [column.type for column in columns]
        shards = shard_of(columns, types, self._share.count, self._placing)
        own = shards == self._share.number
        return table if own.all() else table.filter(pa.array(own))

    def times(self, table: pa.Table) -> tuple[Ints, Flags]:
        """Give the event times in microseconds, and where there is one."""
        assert self._time is not None
        return number_keys(table.column(self._time), self._types[self._time], pa.timestamp("us"))

    def read(
        self, table: pa.Table, signs: Signs, prints: Ints | None = None
    ) -> tuple[SideArrivals, int]:
        """Give the changes that may join, and how many cannot: a value is NULL or NaN."""
        rows = table.num_rows
        valid: Flags = np.ones(rows, dtype=np.bool_)
        keys: list[pa.Array] = []
        for name, common in zip(self._keys, self._key_types, strict=True):
            key, present = canonical(table.column(name), self._types[name], common)
            keys.append(key)
            valid &= present
        values, present = self._values(table)
        valid &= present
        times = NO_TIMES
        if self._time is not None:
            times, present = self.times(table)
            valid &= present
        terms = []
        for term in self.terms.further:
            own, present = value_keys(table.column(term.column), term.type)
            terms.append(own)
            valid &= present
        if not valid.all():
            chosen = pa.array(valid)
            keys = [key.filter(chosen) for key in keys]
        codes: Rows = self._codes.code(keys) if keys else np.zeros(int(valid.sum()), np.int32)
        if prints is None:
            prints = self._prints(table)
        arrivals = SideArrivals(
            codes=np.zeros(rows, dtype=np.int32), values=values, times=times, terms=tuple(terms),
            prints=prints, signs=signs, slots=np.full(rows, -1, dtype=np.int32), table=table,
        ).filter(valid)  # fmt: skip
        arrivals.codes = codes
        return arrivals, int(rows - np.count_nonzero(valid))

    def _values(self, table: pa.Table) -> tuple[Ints, Flags]:
        if self._band is not None:
            assert self._difference is not None
            return number_keys(table.column(self._band), self._types[self._band], self._difference)
        if self.terms.primary is None:
            rows = table.num_rows
            return np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=np.bool_)
        return value_keys(table.column(self.terms.primary.column), self.terms.primary.type)

    def _prints(self, table: pa.Table) -> Ints:
        """Give the rows' fingerprints; a side whose rows never go needs none."""
        if self.shape.change_column is None:
            return NO_TIMES
        types = [type_ for _, type_ in self.shape.columns]
        return fingerprints([table.column(name) for name, _ in self.shape.columns], types)

    def signs(self, table: pa.Table) -> Signs:
        """Give the sign of every change; a table without its change column holds insertions."""
        name = self.shape.change_column
        if name is None or name not in table.column_names:
            return np.ones(table.num_rows, dtype=np.int8)
        return np.asarray(whole(signs_of(table.column(name))).to_numpy(), dtype=np.int8)


def _cast(array: pa.Array, type_: pa.DataType) -> Any:
    return array if array.type == type_ else array.cast(type_)
