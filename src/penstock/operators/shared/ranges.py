"""Ranges: bounds of standing queries as closed ranges of keys, all rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.predicates import Bound, Range
from penstock.operators.shared.bounds import Floors, floors
from penstock.operators.shared.conversion import converted, readable, within
from penstock.operators.shared.keys import HIGHEST, LOWEST, whole
from penstock.operators.shared.refusals import Refusing
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.types import ColumnKind, kind_of


class Asking(Protocol):
    """What a logical plan says of its parameters."""

    @property
    def parameters(self) -> dict[str, pa.DataType]:
        """The types of the parameters."""

    @property
    def constants(self) -> dict[str, Any]:
        """The values of those that are the same for every row."""


@dataclass(slots=True)
class RangeParameters:
    """The parameters' values by name; constants stand for every row.

    Indexes, residuals and joins all take parameters from here, so that a value means the same to
    all of them: see `converting`.
    """

    logical: Asking
    table: pa.Table
    refusing: Refusing

    def given(self, name: str) -> pa.Array:
        """Give a parameter as it was given: one value if it is a constant, else a value per row."""
        if name in self.logical.constants:
            value, declared = self.logical.constants[name], self.logical.parameters[name]
            return pa.array([value], type=declared)
        return whole(self.table.column(name))

    def values(self, name: str, type_: pa.DataType) -> pa.Array:
        """Give a parameter as values of a type; rows whose value is none are refused."""
        given = self.given(name)
        found = converted(given, type_)
        self._refuse(name, given, ~found.held, type_)
        return found.values

    def places(self, name: str, type_: pa.DataType) -> Floors:
        """Place a parameter that must be a value of a column's type; other rows are refused."""
        given = self.given(name)
        read, bad = readable(given, type_)
        place = floors(read, type_)
        if name not in self.logical.constants:
            self._refuse(name, given, bad | (place.valid & ~within(place, type_)), type_)
        return place

    def end(self, bound: Bound, type_: pa.DataType) -> pa.Array:
        """Give where a range ends: a parameter, or minus it.

        It may lie between two values, unless they are timestamps: nothing else tells those apart.
        """
        given = self.given(bound.parameter)
        array, bad = readable(given, type_)
        if kind_of(type_) is ColumnKind.TIMESTAMP and bound.parameter not in self.logical.constants:
            place = floors(array, type_)
            bad |= place.valid & ~within(place, type_)
        self._refuse(bound.parameter, given, bad, type_)
        if not bound.negated or pa.types.is_null(array.type):
            return array
        if array.type == pa.uint64():
            array = array.cast(pa.decimal128(20, 0))
        elif pa.types.is_integer(array.type):
            # The smallest int64 has no opposite; the one above it lies as far beyond every value.
            array = pc.max_element_wise(
                array.cast(pa.int64()), pa.scalar(LOWEST + 1, pa.int64()), skip_nulls=False
            )
        return pc.negate(array)

    def _refuse(self, name: str, given: pa.Array, bad: Flags, type_: pa.DataType) -> None:
        """Refuse rows whose value is none of the type."""
        if not bad.any():
            return
        alone = len(given) == 1

        def reasons(chosen: npt.NDArray[np.intp]) -> list[str]:
            shown = given.take(pa.array(np.zeros_like(chosen) if alone else chosen)).to_pylist()
            return [
                f"Value {show(value)} of parameter {name} is no {type_}."
                f" Give a value of type {type_}."
                for value in shown
            ]

        self.refusing.refuse(np.broadcast_to(bad, self.refusing.refused.shape), "REG-005", reasons)


def show(value: Any) -> str:
    """Write a value as its giver would.

    >>> from decimal import Decimal
    >>> show("NA"), show(Decimal("1.50")), show(2.5)
    ("'NA'", '1.50', '2.5')
    """
    return repr(value) if isinstance(value, str) else str(value)


def closed_range(
    term: Range, type_: pa.DataType, values: RangeParameters, rows: int
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


def _refuse_empty(term: Range, type_: pa.DataType, values: RangeParameters, empty: Flags) -> None:
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
    bounds: tuple[Bound, ...], type_: pa.DataType, values: RangeParameters,
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
