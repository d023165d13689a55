"""Keys of joins: which columns can be looked up by one another."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from penstock.vocabulary.types import ColumnKind, is_ordered, kind_of

EXACT = {ColumnKind.INTEGER, ColumnKind.DECIMAL}


def key_remedy(types: Iterable[pa.DataType]) -> str:
    """Say what makes keys of columns that are none together."""
    bad = next((type_ for type_ in types if key_kind(type_) is None), None)
    if bad is None:
        return "Declare both with the same type, or CAST one in its source."
    return f"No key is {bad}: CAST it, in its source, to a text or to a number of 18 digits."


def have_like_keys(left: pa.DataType, right: pa.DataType) -> bool:
    """Say whether equal values of two types have equal keys, whatever their scales and units.

    Whole numbers and decimals are exact, so they meet each other; a float is not.

    >>> have_like_keys(pa.decimal128(9, 2), pa.decimal128(12, 4))
    True
    >>> have_like_keys(pa.int64(), pa.float64()), have_like_keys(pa.int64(), pa.decimal128(20, 0))
    (False, False)
    """
    kinds = {kind_of(left), kind_of(right)}
    alike = len(kinds) == 1 or kinds == EXACT
    return alike and key_kind(left) is not None and key_kind(right) is not None


def key_kind(type_: pa.DataType) -> str | None:
    """Name the class of types whose values have keys of one order; None if a type has no keys."""
    kind = kind_of(type_)
    if kind is ColumnKind.INTEGER:
        return "uint64" if type_ == pa.uint64() else kind.value
    if kind is ColumnKind.TIMESTAMP:
        return f"timestamp[{type_.unit}]"
    if kind is ColumnKind.DECIMAL:
        return f"decimal of {type_.scale} places" if is_ordered(type_) else None
    if kind is ColumnKind.FLOAT:
        return str(type_) if type_ in (pa.float32(), pa.float64()) else None
    return None if kind is ColumnKind.OTHER else kind.value
