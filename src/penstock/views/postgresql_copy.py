"""Arrow to PostgreSQL and back: whole columns as CSV, which both write and read by themselves.

In CSV, PostgreSQL and Arrow agree that an empty field is NULL and a quoted one is not. What they
write in different words goes as numbers: dates and times by their days and microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

BLOCK_BYTES = 1 << 20
HEX = "\\x"


def written(table: pa.Table) -> pa.Buffer:
    """Write rows as PostgreSQL reads them: COPY … FROM STDIN (FORMAT csv)."""
    columns = [_sent(each.combine_chunks()) for each in table.columns]
    sink = pa.BufferOutputStream()
    options = csv.WriteOptions(include_header=False, batch_size=65_536)
    csv.write_csv(pa.table(columns, names=table.column_names), sink, options)
    return sink.getvalue()


def asked(column: str, type_: pa.DataType) -> str:
    """Give the words by which PostgreSQL writes a column as Arrow reads it."""
    if pa.types.is_timestamp(type_):
        return f"CAST(extract(epoch FROM {column}) * 1000000 AS bigint)"
    if pa.types.is_time(type_):
        return f"CAST(extract(epoch FROM {column}) * 1000000 AS bigint)"
    if pa.types.is_date(type_):
        return f"{column} - DATE '1970-01-01'"
    return column


def read(blocks: Iterable[bytes], schema: pa.Schema) -> pa.Table:
    """Read what PostgreSQL wrote: COPY … TO STDOUT (FORMAT csv)."""
    data = b"".join(bytes(each) for each in blocks)
    if not data:
        return schema.empty_table()
    names = [f"c{number}" for number in range(len(schema))]
    found = csv.read_csv(
        pa.BufferReader(data),
        csv.ReadOptions(column_names=names, block_size=max(BLOCK_BYTES, len(data))),
        csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types={
                name: _received(field.type) for name, field in zip(names, schema, strict=True)
            },
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )
    columns = [
        _made(column.combine_chunks(), field.type)
        for column, field in zip(found.columns, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)


def _sent(column: pa.Array) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    type_ = column.type
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return _hexadecimal(column.cast(pa.large_binary()))
    return column


def _received(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_) or pa.types.is_time(type_):
        return pa.int64()
    if pa.types.is_date(type_):
        return pa.int32()
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return pa.string()
    return type_


def _made(column: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(type_):
        return column.cast(pa.timestamp("us", type_.tz)).cast(type_)
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return _bytes(column.cast(pa.large_string())).cast(type_)
    return column.cast(type_)


def _hexadecimal(column: pa.Array) -> pa.Array:
    """Give bytes as PostgreSQL's hexadecimal texts, all at once."""
    offsets, data = _parts(column)
    text = data.hex().encode()
    buffers = [None, pa.py_buffer(offsets * 2), pa.py_buffer(text)]
    digits = pa.Array.from_buffers(pa.large_string(), len(column), buffers)
    texts = pc.binary_join_element_wise(
        pa.scalar(HEX, pa.large_string()), digits, pa.scalar("", pa.large_string())
    )
    return pc.if_else(column.is_valid(), texts, pa.scalar(None, pa.large_string()))


def _bytes(column: pa.Array) -> pa.Array:
    """Give the bytes of hexadecimal texts, all at once."""
    digits = pc.utf8_slice_codeunits(column.fill_null(HEX), len(HEX))
    offsets, data = _parts(digits)
    buffers = [None, pa.py_buffer(offsets // 2), pa.py_buffer(bytes.fromhex(data.decode()))]
    found = pa.Array.from_buffers(pa.large_binary(), len(column), buffers)
    return pc.if_else(column.is_valid(), found, pa.scalar(None, pa.large_binary()))


def _parts(column: pa.Array) -> tuple[np.ndarray, bytes]:
    """Give where the values of a column begin and end, and their bytes; a NULL has none."""
    plain = pa.concat_arrays([column.fill_null(b"" if "binary" in str(column.type) else "")])
    _, offsets, data = plain.buffers()
    at = np.frombuffer(offsets, dtype=np.int64)[plain.offset : plain.offset + len(plain) + 1]
    return at - at[0], bytes(data)[at[0] : at[-1]] if data is not None else b""
