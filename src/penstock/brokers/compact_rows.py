"""Compact rows: a few rows of messages in a third of the bytes that Arrow's record batches take.

The ends of messages are values of the same few rows of the table, again and again. So columns of
one type share a list of the values that they have, in order, written as differences; each column
then says which of them its rows have. docs/reference/messages.md has the format.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.brokers.varints import Octets, folded, read, unfolded, written
from penstock.vocabulary.batches import Flags, Ints

WORD = 8


def is_compact(schema: pa.Schema) -> bool:
    """Say whether all columns are numbers of up to 64 bits, short decimals, times or texts."""
    return all(_is_text(type_) or _is_number(type_) for type_ in schema.types)


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_))


def _is_number(type_: pa.DataType) -> bool:
    if pa.types.is_decimal128(type_):
        return bool(type_.precision <= 18)
    numeric = pa.types.is_integer(type_) or pa.types.is_floating(type_)
    return bool(numeric or pa.types.is_temporal(type_)) and type_.bit_width <= 8 * WORD


def compact_of(rows: pa.RecordBatch) -> bytes:
    """Write rows.

    >>> given = pa.record_batch({"a": [7, None, 9], "b": [9, 9, 7], "c": ["x", "y", "x"]})
    >>> data = compact_of(given)
    >>> data.hex(), rows_of(data, given.schema).equals(given)
    ('03020e020201040400010201017879020201', True)
    """
    parts = [_numbers([len(rows)])]
    for type_ in dict.fromkeys(rows.schema.types):
        columns = [own for own in rows.columns if own.type == type_]
        known, codes = _texts(columns) if _is_text(type_) else _words(columns)
        parts.append(known)
        # 0 is NULL; which value a row has is written as the difference to the row before.
        parts += [written(folded(np.diff(own, prepend=0))) for own in codes]
    return b"".join(parts)


def rows_of(data: bytes, schema: pa.Schema) -> pa.RecordBatch:
    """Read rows of a schema."""
    octets = np.frombuffer(data, dtype=np.uint8)
    (count,), at = read(octets, 0, 1)
    columns: list[pa.Array] = [None] * len(schema)
    for type_ in dict.fromkeys(schema.types):
        (size,), at = read(octets, at, 1)
        known: pa.Array | Ints
        if _is_text(type_):
            known, at = _read_texts(octets, at, int(size))
        else:
            differences, at = read(octets, at, int(size))
            known = np.cumsum(
                np.concatenate([unfolded(differences[:1]), differences[1:].view(np.int64)])
            )
        for number in (n for n, own in enumerate(schema.types) if own == type_):
            folds, at = read(octets, at, int(count))
            codes = np.cumsum(unfolded(folds))
            if isinstance(known, pa.Array):
                columns[number] = known.take(pa.array(codes - 1, mask=codes == 0))
            else:
                absent = codes == 0
                words = np.zeros(int(count), dtype=np.int64)
                words[~absent] = known[codes[~absent] - 1]
                columns[number] = _array(words, absent, type_)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _numbers(numbers: list[int]) -> bytes:
    return written(np.array(numbers, dtype=np.uint64))


def _words(columns: list[pa.Array]) -> tuple[bytes, list[Ints]]:
    """Give the numbers that columns have, and by column which its rows have."""
    words = [_words_of(own) for own in columns]
    valid = [np.asarray(own.is_valid()) for own in columns]
    known = np.unique(np.concatenate([own[there] for own, there in zip(words, valid, strict=True)]))
    steps = np.diff(known).view(np.uint64)  # between the least and the greatest it may wrap around
    listed = np.concatenate([folded(known[:1]), steps])
    codes = [
        np.where(there, np.searchsorted(known, own) + 1, 0)
        for own, there in zip(words, valid, strict=True)
    ]
    return _numbers([len(known)]) + written(listed), codes


def _texts(columns: list[pa.Array]) -> tuple[bytes, list[Ints]]:
    """Give the texts that columns have, and by column which its rows have."""
    known = pc.unique(pa.chunked_array(columns)).drop_null()
    sizes = np.asarray(pc.binary_length(known)).astype(np.uint64)
    text = "".join(known.to_pylist()).encode()
    codes = [
        np.asarray(pc.index_in(own, known).fill_null(-1), dtype=np.int64) + 1 for own in columns
    ]
    return _numbers([len(known)]) + written(sizes) + text, codes


def _read_texts(octets: Octets, at: int, size: int) -> tuple[pa.Array, int]:
    sizes, at = read(octets, at, size)
    ends = np.concatenate([[0], np.cumsum(sizes.view(np.int64))]).astype(np.int32)
    data = pa.py_buffer(octets[at : at + int(ends[-1])].tobytes())
    known = pa.Array.from_buffers(pa.string(), size, [None, pa.py_buffer(ends), data])
    return known, at + int(ends[-1])


def _words_of(column: pa.Array) -> Ints:
    """Give the bits of numbers, as whole numbers with a sign."""
    if pa.types.is_decimal128(column.type):
        words = np.frombuffer(column.buffers()[1], dtype=np.int64)
        return words[2 * column.offset :: 2][: len(column)]
    plain = column.view(_whole(column.type)).fill_null(0)
    return cast(Ints, plain.to_numpy(zero_copy_only=False).astype(np.int64))


def _array(words: Ints, absent: Flags, type_: pa.DataType) -> pa.Array:
    """Give the numbers that bits stand for."""
    if pa.types.is_decimal128(type_):
        pairs = np.column_stack([words, words >> 63])
        valid = pa.array(~absent).buffers()[1] if absent.any() else None
        return pa.Array.from_buffers(type_, len(words), [valid, pa.py_buffer(pairs)])
    whole = _whole(type_)
    return pa.array(words.astype(whole.to_pandas_dtype()), whole, mask=absent).view(type_)


def _whole(type_: pa.DataType) -> pa.DataType:
    return {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}[type_.bit_width // 8]
