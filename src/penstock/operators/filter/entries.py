"""Entries: rows of parameters become what the index stores, all rows at once.

An entry is one way for one query to match: an equality key per equality column, a closed range of
keys per range column, the residual's parameters. A query has an entry per branch and per
combination of values of its IN lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.algebra.logical import StandingFilter
from penstock.algebra.physical import BranchShape, FilterStep
from penstock.algebra.predicates import Branch, Equality
from penstock.algebra.shapes import branch_shape
from penstock.operators.shared.keys import validity
from penstock.operators.shared.ranges import RangeParameters, closed_range
from penstock.operators.shared.refusals import Refusing
from penstock.vocabulary.batches import Flags, Ints, Registration
from penstock.vocabulary.types import is_ordered

ENTRIES_MAX = 64
"""More entries per query than this are refused: the IN lists would multiply without end."""


@dataclass(slots=True)
class Ways:
    """The entries of one branch, by row: `row` ascends; the columns are as long as `row`."""

    row: npt.NDArray[np.intp]
    columns: dict[str, Any]


def register(
    logical: StandingFilter, step: FilterStep, parameters: pa.Table, first: int
) -> Registration:
    """Turn rows of parameters into entries; row i becomes query number `first + i`.

    Bad rows are refused, one by one; rows that can never match are accepted and marked silent.
    Entries come by port (`query`, `shared`, `e0…`, `l0`, `h0…`, `r0…`), sorted by query.
    """
    rows = parameters.num_rows
    refusing = Refusing(rows)
    values = RangeParameters(logical=logical, table=parameters, refusing=refusing)
    shapes = [
        branch_shape(branch, logical.column_types, logical.parameters)
        for branch in logical.branches
    ]
    # Ranges come first: a refused row has no entries in any branch.
    ranges = [
        [
            closed_range(term, dict(shape.ranges)[term.column], values, rows)
            for term in branch.ranges
        ]
        for branch, shape in zip(logical.branches, shapes, strict=True)
    ]
    ways = [
        _branch_ways(branch, shape, closed, values, rows)
        for branch, shape, closed in zip(logical.branches, shapes, ranges, strict=True)
    ]
    entries = np.zeros(rows, dtype=np.int64)
    for way in ways:
        entries += np.bincount(way.row, minlength=rows)
    over = (entries > ENTRIES_MAX) & ~refusing.refused
    refusing.refuse(
        over, "REG-019",
        lambda chosen: [
            f"The query needs {count} index entries, more than {ENTRIES_MAX}. "
            "Use shorter IN lists, or several queries."
            for count in entries[chosen]
        ],
    )  # fmt: skip
    accepted = ~refusing.refused
    adds = {}
    for port, shape in enumerate(step.branches):
        own = [way for way, other in zip(ways, shapes, strict=True) if other == shape]
        adds[f"branch{port}"] = _port_table(own, shape, accepted, entries > 1, first)
    return Registration(adds=adds, refusals=refusing.refusals(), silent=accepted & (entries == 0))


def _branch_ways(
    branch: Branch, shape: BranchShape, ranges: list[tuple[Ints, Ints, Flags]],
    values: RangeParameters, rows: int,
) -> Ways:  # fmt: skip
    """Give the entries of one branch for all rows that are not refused."""
    alive = np.ones(rows, dtype=np.bool_)
    for _, _, present in ranges:
        alive = alive & present
    lists = [
        _distinct(term, type_, values, rows)
        for term, (_, type_) in zip(branch.equalities, shape.equalities, strict=True)
    ]
    residual: dict[str, pa.Array] = {}
    if branch.residual is not None:
        types = zip(branch.residual.parameters, shape.residual_types, strict=True)
        for i, (name, type_) in enumerate(types):
            residual[f"r{i}"] = values.values(name, type_)
    counts = np.ones(rows, dtype=np.int64)
    for own, _, _ in lists:
        # Clipped, so that a product of long lists cannot overflow.
        counts = np.minimum(counts * own, 1 << 20)
    over = alive & (counts > ENTRIES_MAX)
    values.refusing.refuse(
        over, "REG-019",
        lambda chosen: [
            f"The IN lists of the query have more than {ENTRIES_MAX} combinations. "
            "Use shorter IN lists, or several queries."
        ] * len(chosen),
    )  # fmt: skip
    counts = np.where(alive & ~values.refusing.refused, counts, 0)
    row = np.repeat(np.arange(rows), counts)
    turn = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    columns: dict[str, Any] = {}
    for i, (own, column, picks) in enumerate(lists):
        size = own[row]
        turn, digit = np.divmod(turn, size) if picks.shape[1] > 1 else (turn, 0)
        columns[f"e{i}"] = column.take(pa.array(picks[row, digit]))
    for i, (low, high, _) in enumerate(ranges):
        columns[f"l{i}"], columns[f"h{i}"] = low[row], high[row]
    for name, array in residual.items():
        index = np.zeros(len(row), dtype=np.int64) if len(array) == 1 else row
        columns[name] = array.take(pa.array(index))
    return Ways(row=row, columns=columns)


def _distinct(
    term: Equality, type_: pa.DataType, values: RangeParameters, rows: int
) -> tuple[Ints, pa.Array, Ints]:
    """Give how many distinct values a row has, all values, and where the row's own stand."""
    arrays, valids = [], []
    for name in term.parameters:
        if is_ordered(type_):
            place = values.places(name, type_)
            array = pa.array(place.key)
            valid = place.valid & place.exact & (place.side == 0)
        else:
            array = values.values(name, type_)
            valid = validity(array)
            array = array.cast(pa.string())
        arrays.append(array)
        valids.append(np.broadcast_to(valid, (rows,)))
    column = pa.concat_arrays(arrays) if len(arrays) > 1 else arrays[0]
    starts = np.cumsum([0] + [len(array) for array in arrays])
    picks = np.stack(
        [
            np.full(rows, start) if len(array) == 1 else start + np.arange(rows)
            for start, array in zip(starts[:-1], arrays, strict=True)
        ],
        axis=1,
    )
    valid = np.stack(valids, axis=1)
    if picks.shape[1] == 1:
        return valid[:, 0].astype(np.int64), column, picks
    codes = column.dictionary_encode().indices.fill_null(-1).to_numpy().astype(np.int64)
    own = np.where(valid, codes[picks], np.iinfo(np.int64).max)
    order = np.argsort(own, axis=1, kind="stable")
    own = np.take_along_axis(own, order, axis=1)
    fresh = own != np.iinfo(np.int64).max
    fresh[:, 1:] &= own[:, 1:] != own[:, :-1]
    # Pack the first occurrences to the left, in the order of the codes.
    packed = np.argsort(~fresh, axis=1, kind="stable")
    places = np.take_along_axis(np.take_along_axis(picks, order, axis=1), packed, axis=1)
    return fresh.sum(axis=1), column, places


def _port_table(
    ways: list[Ways], shape: BranchShape, accepted: Flags, shared: Flags, first: int
) -> pa.Table:
    """Put the entries of all branches of one shape together, sorted by query."""
    row = np.concatenate([way.row for way in ways])
    order: npt.NDArray[np.intp] | None = None
    if len(ways) > 1:
        order = np.argsort(row, kind="stable")
    if not accepted[row].all():
        order = np.arange(len(row)) if order is None else order
        order = order[accepted[row[order]]]
    row = row if order is None else row[order]
    types: list[tuple[str, pa.DataType]] = []
    for i, (_, type_) in enumerate(shape.equalities):
        types.append((f"e{i}", pa.int64() if is_ordered(type_) else pa.string()))
    for i in range(len(shape.ranges)):
        types += [(f"l{i}", pa.int64()), (f"h{i}", pa.int64())]
    types += [(f"r{i}", type_) for i, type_ in enumerate(shape.residual_types)]
    columns: dict[str, pa.Array] = {"query": pa.array(first + row), "shared": pa.array(shared[row])}
    for name, type_ in types:
        parts = [pa.array(way.columns[name], type=type_) for way in ways]
        column = pa.concat_arrays(parts) if len(parts) > 1 else parts[0]
        columns[name] = column if order is None else column.take(pa.array(order))
    return pa.table(columns)
