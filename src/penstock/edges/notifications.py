"""Notifications: what an edge tells its subscribers of one batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))
CONTROL = r"[\x00-\x1f]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifications:
    """New values of subscribers: each of them has one, as of the end of a batch.

    `is_first` says that these are the values that all subscribers have when the edge begins. Values
    that are rows of a join have `weights`: so many come, or go if it is below zero; a subscriber
    may be told several.
    """

    batch: int
    ids: pa.Array
    values: pa.Array
    is_first: bool = False
    weights: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def lines(self, head: str = "", tail: str = "\n") -> str:
        r"""Write them as JSON, one per line.

        >>> values = pa.array([1.5, None])
        >>> print(Notifications(batch=7, ids=pa.array(['a"b', "c"]), values=values).lines(), end="")
        {"batch":7,"id":"a\"b","value":1.5}
        {"batch":7,"id":"c","value":null}
        """
        begin = f'{head}{{"batch":{self.batch},"id":"'
        first = ',"first":true' if self.is_first else ""
        parts = [begin, escaped(self.ids), '","value":', json_values(self.values)]
        if self.weights is not None:
            parts += [',"weight":', self.weights.cast(pa.string())]
        joined = pc.binary_join_element_wise(*parts, first + "}" + tail, "")
        return "".join(joined.to_pylist())

    def chosen(self, ids: pa.Array) -> Notifications:
        """Give the notifications of some ids."""
        own = pc.is_in(self.ids, value_set=ids)
        weights = None if self.weights is None else self.weights.filter(own)
        return replace(
            self, ids=self.ids.filter(own), values=self.values.filter(own), weights=weights
        )


Tell = Callable[[Notifications], Any]


def escaped(texts: pa.Array) -> pa.Array:
    """Write texts as JSON holds them, without the quotation marks."""
    for sign, written in ESCAPES:
        texts = pc.replace_substring(texts, sign, written)
    if not pc.any(pc.match_substring_regex(texts, CONTROL)).as_py():
        return texts
    for code in range(32):
        texts = pc.replace_substring(texts, chr(code), f"\\u{code:04x}")
    return texts


def json_values(values: pa.Array) -> pa.Array:
    r"""Write numbers as JSON holds them; NaN and infinity are null, times and decimals are texts.

    >>> rows = pa.array([{"name": 'a"b', "n": 3, "is_new": True}])
    >>> print(json_values(rows)[0])
    {"name":"a\"b","n":3,"is_new":true}
    """
    type_ = values.type
    if pa.types.is_struct(type_):
        names = escaped(pa.array([field.name for field in type_], pa.string())).to_pylist()
        parts: list[Any] = []
        for number, name in enumerate(names):
            parts += [f'{"," if number else ""}"{name}":', json_values(values.field(number))]
        return pc.binary_join_element_wise("{", *parts, "}", "")
    if pa.types.is_floating(type_):
        values = pc.if_else(pc.is_finite(values), values, pa.scalar(None, type_))
    texts = values.cast(pa.string())
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        texts = escaped(texts)
    if not any(
        is_(type_) for is_ in (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean)
    ):
        texts = pc.binary_join_element_wise('"', texts, '"', "")
    return texts.fill_null("null")


def raw_of(values: pa.Array) -> np.ndarray[Any, Any]:
    """Give the bytes of values of a fixed width; those of NULL are zero."""
    if pa.types.is_boolean(values.type):  # eight of these are one byte
        values = values.cast(pa.uint8())
    width = values.type.bit_width // 8
    data = values.buffers()[1]
    if data is None or not len(values):
        return np.zeros(len(values), dtype=f"V{width}")
    found = np.frombuffer(data, dtype=f"V{width}", count=len(values), offset=values.offset * width)
    if values.null_count:
        found = found.copy()
        found[~np.asarray(values.is_valid())] = np.zeros(1, dtype=f"V{width}")
    return found


def values_of_raw(raw: np.ndarray[Any, Any], present: Any, type_: pa.DataType) -> pa.Array:
    """Give values from their bytes; NULL where none is present.

    >>> given = pa.array([3, None, 1])
    >>> values_of_raw(raw_of(given), np.asarray(given.is_valid()), given.type).equals(given)
    True
    >>> given = pa.array([True, None, False])
    >>> values_of_raw(raw_of(given), np.asarray(given.is_valid()), given.type).equals(given)
    True
    """
    if pa.types.is_boolean(type_):
        return values_of_raw(raw, present, pa.uint8()).cast(type_)
    valid = pa.array(present).buffers()[1]
    return pa.Array.from_buffers(type_, len(raw), [valid, pa.py_buffer(np.ascontiguousarray(raw))])
