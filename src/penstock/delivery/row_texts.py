"""Rows as lines of text, for receivers that take no Arrow: JSON, and what PostgreSQL copies.

DuckDB writes all lines of a batch at once; nothing is done row by row in Python. Times are UTC.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from penstock.expressions.evaluation import connection
from penstock.expressions.quotation import quoted

ESCAPES = (
    ("'\\'", "'\\\\'"),
    ("chr(9)", "'\\t'"),
    ("chr(10)", "'\\n'"),
    ("chr(13)", "'\\r'"),
    ("chr(0)", "'\u2400'"),
)
"""What a copied text may not hold as it is, with what is written for it: two pieces of SQL.
PostgreSQL's texts have no character 0; its picture stands for it."""
LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
REPLACE = "system.main.replace"
"""DuckDB's own: that of users' texts is bounded."""


class TextLines:
    """TextLines of text that lie in one buffer, each with its end."""

    def __init__(self, column: pa.Array) -> None:
        self.column = column.cast(pa.large_string())
        _, offsets, self._data = self.column.buffers()
        whole = np.frombuffer(offsets, dtype=np.int64)
        self._offsets = whole[column.offset : column.offset + len(column) + 1]

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def nbytes(self) -> int:
        """How many bytes all lines have."""
        return int(self._offsets[-1] - self._offsets[0])

    def piece(self, start: int, stop: int) -> memoryview:
        """Give some lines as bytes, without a copy."""
        return memoryview(self._data or b"")[self._offsets[start] : self._offsets[stop]]

    def whole(self) -> memoryview:
        """Give all lines as bytes."""
        return self.piece(0, len(self))

    def stop_within(self, start: int, bytes_max: int) -> int:
        """Say how far lines reach that have so many bytes at most; one line always fits."""
        room = self._offsets[start] + bytes_max
        stop = int(np.searchsorted(self._offsets, room, side="right")) - 1
        return min(max(stop, start + 1), len(self))

    def pieces(self, bytes_max: int) -> Iterator[tuple[int, memoryview]]:
        r"""Divide the lines into pieces of so many bytes at most; a longer line is one of its own.

        Gives each with the number of lines up to its end.

        >>> lines = TextLines(pa.array(["ab\n", "c\n", "de\n"]))
        >>> [(upto, bytes(piece)) for upto, piece in lines.pieces(bytes_max=5)]
        [(2, b'ab\nc\n'), (3, b'de\n')]
        """
        start = 0
        while start < len(self):
            stop = self.stop_within(start, bytes_max)
            yield stop, self.piece(start, stop)
            start = stop


def json_lines(table: pa.Table) -> TextLines:
    r"""Write rows as JSON, one per line.

    NaN and infinity are null, decimals and times are texts, bytes are hexadecimal digits.

    >>> json_lines(pa.table({"a": [1.5, float("nan")], "it's": ["é", None]})).whole().tobytes()
    b'{"a":1.5,"it\'s":"\xc3\xa9"}\n{"a":null,"it\'s":null}\n'
    """
    parts = [
        f"'{name.replace(chr(39), chr(39) * 2)}', {_in_json(f'c{at}', table.schema.field(at).type)}"
        for at, name in enumerate(table.column_names)
    ]
    return _written(table, f"json_object({', '.join(parts)})")


def event_lines(lines: TextLines, batch: int) -> TextLines:
    r"""Write lines as server-sent events, each with the token behind it in its batch.

    >>> event_lines(TextLines(pa.array(["{}\n", "[]\n"])), batch=17).whole().tobytes()
    b'id: 17:1\ndata: {}\n\nid: 17:2\ndata: []\n\n'
    """
    numbered = pa.table({"c0": np.arange(1, len(lines) + 1), "c1": lines.column})
    event = f"'id: {batch}:' || c0 || chr(10) || 'data: ' || c1"
    return _written(numbered, event)


def copy_lines(table: pa.Table) -> TextLines:
    r"""Write rows in the text format of PostgreSQL's COPY.

    >>> copy_lines(pa.table({"a": [1, None], "b": ["x\ty", ""]})).whole().tobytes()
    b'1\tx\\ty\n\\N\t\n'
    """
    parts = [
        f"coalesce({_in_copy(f'c{at}', field.type)}, '\\N')"
        for at, field in enumerate(table.schema)
    ]
    return _written(table, " || chr(9) || ".join(parts))


def _written(table: pa.Table, line: str) -> TextLines:
    named = table.rename_columns([f"c{at}" for at in range(table.num_columns)])
    lines = connection().from_arrow(named).project(f"{line} || chr(10)")
    return TextLines(lines.to_arrow_table().column(0).combine_chunks())


def _in_json(value: str, type_: pa.DataType) -> str:
    """Give the SQL of a value as JSON holds it."""
    if pa.types.is_floating(type_):
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if pa.types.is_timestamp(type_):
        text = f"{REPLACE}(CAST({value} AS VARCHAR), ' ', 'T')"
        return f"{REPLACE}({text}, '+00', 'Z')" if type_.tz else text
    if pa.types.is_decimal(type_):
        return f"CAST({value} AS VARCHAR)"
    if _is_binary(type_):
        return f"lower(hex({value}))"
    if any(is_it(type_) for is_it in LISTS):
        own = _in_json("x", type_.value_type)
        return value if own == "x" else f"list_transform({value}, lambda x: {own})"
    if pa.types.is_map(type_):
        key = _in_json("x['key']", type_.key_type) if _is_binary(type_.key_type) else "x['key']"
        own = _in_json("x['value']", type_.item_type)
        if (key, own) == ("x['key']", "x['value']"):
            return value
        pairs = f"lambda x: struct_pack(key := {key}, value := {own})"
        return f"map_from_entries(list_transform(map_entries({value}), {pairs}))"
    if pa.types.is_struct(type_):
        inner = [(quoted(field.name), field.type) for field in type_]
        parts = [(name, f"{value}.{name}", kind) for name, kind in inner]
        written = [f"{name} := {_in_json(part, kind)}" for name, part, kind in parts]
        if written != [f"{name} := {part}" for name, part, _ in parts]:
            return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({', '.join(written)}) END"
    return value


def _in_copy(value: str, type_: pa.DataType) -> str:
    """Give the SQL of a value's text: nested ones as JSON, others as DuckDB says them."""
    if pa.types.is_boolean(type_) or pa.types.is_integer(type_) or pa.types.is_decimal(type_):
        return f"CAST({value} AS VARCHAR)"
    if pa.types.is_floating(type_):
        return f"CAST(CAST({value} AS DOUBLE) AS VARCHAR)"
    if _is_binary(type_):
        return f"'\\\\x' || hex({value})"
    is_nested = pa.types.is_nested(type_)
    text = f"CAST({f'to_json({_in_json(value, type_)})' if is_nested else value} AS VARCHAR)"
    for sign, written in ESCAPES:
        text = f"{REPLACE}({text}, {sign}, {written})"
    return text


def _is_binary(type_: pa.DataType) -> bool:
    is_any = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(is_it(type_) for is_it in is_any)
