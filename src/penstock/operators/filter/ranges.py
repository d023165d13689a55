"""Ranges: bounds of standing queries as closed ranges of keys, all rows at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.predicates import Bound, Range
from penstock.operators.filter.bounds import floors
from penstock.operators.filter.keys import HIGHEST, LOWEST, whole
from penstock.operators.filter.refusing import Refusing, cast_rows
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.types import Kind, is_ordered, kind_of


class Asking(Protocol):
    """What a logical plan says of its parameters."""

    @property
    def parameters(self) -> dict[str, pa.DataType]:
        """The types of the parameters."""

    @property
    def constants(self) -> dict[str, Any]:
        """The values of those that are the same for every row."""


@dataclass(slots=True)
class Parameters:
    """The parameters' values by name; constants stand for every row."""

    logical: Asking
    table: pa.Table
    refusing: Refusing
    known: dict[str, pa.Array] = field(default_factory=dict)

    def values(self, name: str, type_: pa.DataType | None = None) -> pa.Array:
        """Give a parameter: one value if it is a constant, else a value per row.

        With `type_`, the values are cast; rows whose value cannot be are refused.
        """
        if name in self.logical.constants:
            value, declared = self.logical.constants[name], self.logical.parameters[name]
            array = pa.array([value], type=declared)
        else:
            array = whole(self.table.column(name))
        if type_ is None or array.type == type_:
            return array
        return cast_rows(array, type_, name, self.refusing)

    def comparable(self, name: str, column_type: pa.DataType) -> pa.Array:
        """Give a parameter in a type whose values lie among the column's."""
        array = self.values(name)
        numeric = is_ordered(array.type) or kind_of(array.type) is Kind.DECIMAL
        if numeric or pa.types.is_null(array.type):
            return array
        return self.values(name, column_type)

    def end(self, bound: Bound, column_type: pa.DataType) -> pa.Array:
        """Give where a range ends: a parameter, or minus it."""
        array = self.comparable(bound.parameter, column_type)
        if not bound.negated or pa.types.is_null(array.type):
            return array
        if pa.types.is_integer(array.type):
            # The smallest int64 has no opposite; the one above it lies as far beyond every value.
            array = pc.max_element_wise(
                array.cast(pa.int64()), pa.scalar(LOWEST + 1, pa.int64()), skip_nulls=False
            )
        return pc.negate(array)


def closed_range(
    term: Range, type_: pa.DataType, values: Parameters, rows: int
) -> tuple[Ints, Ints, Flags]:
    """Give the closed key range of every row, and which rows have one; refuse empty ranges."""
    present = np.ones(1, dtype=np.bool_)
    never = np.zeros(1, dtype=np.bool_)
    low, high = np.array([LOWEST]), np.array([HIGHEST])
    for bounds, is_low in ((term.lows, True), (term.highs, False)):
        for bound in bounds:
            place = floors(values.end(bound, type_), type_)
            key, beyond = place.low(bound.closed) if is_low else place.high(bound.closed)
            present = present & place.valid
            never = never | (beyond & place.valid)
            if is_low:
                low = np.maximum(low, key)
            else:
                high = np.minimum(high, key)
    empty = np.broadcast_to(present & ~never & (low > high), (rows,))
    if empty.any():
        _refuse_empty(term, type_, values, empty)
    alive = np.broadcast_to(present & ~never, (rows,))
    return np.broadcast_to(low, (rows,)), np.broadcast_to(high, (rows,)), alive


def _refuse_empty(term: Range, type_: pa.DataType, values: Parameters, empty: Flags) -> None:
    """Refuse the rows of an empty range, naming the bounds that clash."""

    def reasons(chosen: npt.NDArray[np.intp]) -> list[str]:
        low, low_floor = _tightest(term.lows, type_, values, chosen, True)
        high, high_floor = _tightest(term.highs, type_, values, chosen, False)
        remedy = pc.if_else(
            pa.array(low_floor > high_floor), "Swap the bounds.", "No value lies between them."
        )
        words = (f"Range on {term.column} from ", low, " to ", high, " is empty. ", remedy)
        return pc.binary_join_element_wise(*words, "").to_pylist()  # type: ignore[no-any-return]

    values.refusing.refuse(empty, "REG-004", reasons)


def _tightest(
    bounds: tuple[Bound, ...], type_: pa.DataType, values: Parameters,
    rows: npt.NDArray[np.intp], is_low: bool,
) -> tuple[pa.Array, Ints]:  # fmt: skip
    """Give the text and the floor of the bound that counts, for the chosen rows.

    The floors tell a swap from two bounds with nothing between them.
    """
    zeros = pa.array(np.zeros(len(rows), dtype=np.int64))
    texts, keys, found = [], [], []
    for bound in bounds:
        array = values.end(bound, type_)
        array = array.take(zeros if len(array) == 1 else pa.array(rows))
        place = floors(array, type_)
        texts.append(array.cast(pa.string()))
        keys.append(place.low(bound.closed)[0] if is_low else place.high(bound.closed)[0])
        found.append(place.key)
    if len(texts) == 1:
        return texts[0], found[0]
    which = np.argmax(keys, axis=0) if is_low else np.argmin(keys, axis=0)
    return pc.choose(pa.array(which), *texts), np.choose(which, found)
