"""Codes: the values of a branch's equality columns as one small number, exactly.

A code is -1 for values that no query asks for: such events are out before anything is sorted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.kernels.hash_tables import (
    EMPTY,
    codes_join,
    numbers_code,
    numbers_find,
    numbers_place,
    texts_code,
    texts_find,
    texts_place,
)
from penstock.operators.shared.keys import Column, ordered_keys, validity, whole
from penstock.vocabulary.batches import Flags, Ints, Rows
from penstock.vocabulary.types import is_ordered

ALL_VALID: Flags = np.empty(0, dtype=np.bool_)
STRONG = (1 << 64) - 1


def _grown(array: npt.NDArray[np.generic], size: int) -> npt.NDArray[np.generic]:
    """Give the array, or a longer one with the same beginning, of at least `size` items."""
    if len(array) >= size:
        return array
    longer = np.empty(max(size, len(array) * 3 // 2), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def _cells(values: int) -> Rows:
    """Give an empty table, at most half full when it holds that many values."""
    return np.full(1 << max(4, (2 * values).bit_length()), EMPTY, dtype=np.int32)


class NumberCodes:
    """Codes of int64 values.

    >>> codes = NumberCodes()
    >>> codes.code(np.array([70, 30, 70])).tolist(), codes.find(np.array([30, 5])).tolist()
    ([0, 1, 0], [1, -1])
    """

    def __init__(self) -> None:
        self.size = 0
        self.values: Ints = np.empty(16, dtype=np.int64)
        self._cells = _cells(0)

    def code(self, keys: Ints) -> Rows:
        """Code every key; new keys get the next codes."""
        room = self.size + len(keys)
        self.values = _grown(self.values, room)  # type: ignore[assignment]
        if 2 * room > len(self._cells):
            self._cells = _cells(room)
            numbers_place(self._cells, self.values, self.size)
        codes = np.empty(len(keys), dtype=np.int32)
        self.size = numbers_code(self._cells, self.values, self.size, keys, codes)
        return codes

    def find(self, keys: Ints, valid: Flags = ALL_VALID) -> Rows:
        """Give the code of every key, -1 for unknown ones and where not `valid`."""
        codes = np.empty(len(keys), dtype=np.int32)
        numbers_find(self._cells, self.values, keys, valid, codes)
        return codes

    def keep(self, codes: Ints) -> NumberCodes:
        """Give codes for these values only: values[codes[i]] becomes code i."""
        kept = NumberCodes()
        kept.code(self.values[codes])
        return kept


class TextCodes:
    """Codes of texts, by their UTF-8 bytes.

    `weak` masks the hashes; tests force collisions with it.
    """

    def __init__(self, weak: int = STRONG) -> None:
        self.size = 0
        self._weak = np.uint64(weak)
        self._heap = np.empty(64, dtype=np.uint8)
        self._ends: Ints = np.zeros(17, dtype=np.int64)
        self._cells = _cells(0)

    def code(self, texts: pa.Array) -> Rows:
        """Code every text (none is NULL); new texts get the next codes."""
        data, offsets = text_buffers(texts)
        room = self.size + len(texts)
        used = int(self._ends[self.size])
        self._heap = _grown(self._heap, used + int(offsets[-1] - offsets[0]))  # type: ignore[assignment]
        self._ends = _grown(self._ends, room + 1)  # type: ignore[assignment]
        if 2 * room > len(self._cells):
            self._cells = _cells(room)
            texts_place(self._cells, self._heap, self._ends, self.size, self._weak)
        codes = np.empty(len(texts), dtype=np.int32)
        self.size = texts_code(
            self._cells, self._heap, self._ends, self.size, self._weak, data, offsets, codes
        )
        self._trim(int(self._ends[self.size]))
        return codes

    def _trim(self, used: int) -> None:
        """Give back room that was kept for texts which turned out to be known."""
        if len(self._heap) > 4 * used + 4096:
            self._heap = self._heap[: 2 * used + 64].copy()
        if len(self._ends) > 4 * self.size + 4096:
            self._ends = self._ends[: 2 * self.size + 17].copy()

    def find(self, texts: pa.Array) -> Rows:
        """Give the code of every text, -1 for unknown ones and for NULL."""
        data, offsets = text_buffers(texts)
        valid = ALL_VALID if texts.null_count == 0 else validity(texts)
        codes = np.empty(len(texts), dtype=np.int32)
        texts_find(self._cells, self._heap, self._ends, self._weak, data, offsets, valid, codes)
        return codes

    def texts(self, codes: Ints) -> pa.Array:
        """Give the texts of codes."""
        ends, heap = pa.py_buffer(self._ends), pa.py_buffer(self._heap)
        known = pa.LargeStringArray.from_buffers(self.size, ends, heap)
        return known.take(pa.array(codes))

    def keep(self, codes: Ints) -> TextCodes:
        """Give codes for these texts only: the text of codes[i] becomes code i."""
        kept = TextCodes(int(self._weak))
        kept.code(self.texts(codes))
        return kept


def text_buffers(texts: pa.Array) -> tuple[npt.NDArray[np.uint8], Ints]:
    """Give the bytes of an array of texts and where each begins (one more for the end).

    Nobody may write to the bytes, as in most of Arrow's memory: kernels are compiled only once.
    """
    large = pa.types.is_large_string(texts.type)
    buffers = texts.buffers()
    if len(texts) == 0 or buffers[1] is None:
        return np.frombuffer(b"", dtype=np.uint8), np.zeros(len(texts) + 1, dtype=np.int64)
    stored = np.frombuffer(buffers[1], dtype=np.int64 if large else np.int32)
    offsets: Ints = stored[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    data = np.frombuffer(buffers[2] if buffers[2] is not None else b"", dtype=np.uint8)
    data.flags.writeable = False
    return data, offsets


class BranchCodes:
    """One code for the values of all equality columns of a branch.

    The codes of two columns make a number, which has a code of its own, and so on.
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._types = tuple(types)
        self._columns: list[NumberCodes | TextCodes] = [
            NumberCodes() if is_ordered(type_) else TextCodes() for type_ in self._types
        ]
        self._joins = [NumberCodes() for _ in self._types[1:]]

    @property
    def size(self) -> int:
        """How many combinations have a code."""
        tables = self._joins or self._columns
        return tables[-1].size if tables else 1

    def code(self, entries: Sequence[pa.Array]) -> Rows:
        """Code the columns e0, e1, … of entries."""
        codes = np.empty(0, dtype=np.int32)
        for i, (column, table) in enumerate(zip(entries, self._columns, strict=True)):
            array = whole(column)
            own = (
                table.code(array)
                if isinstance(table, TextCodes)
                else table.code(array.to_numpy(writable=True, zero_copy_only=False))
            )
            codes = own if i == 0 else self._joins[i - 1].code(_joined(codes, own)[0])
        return codes

    def find(self, columns: Sequence[Column]) -> tuple[Rows, Flags]:
        """Give the code of every event, and which events have a value in every column."""
        codes = np.empty(0, dtype=np.int32)
        present = ALL_VALID
        for i, (column, type_, table) in enumerate(
            zip(columns, self._types, self._columns, strict=True)
        ):
            if isinstance(table, TextCodes):
                own, valid = _find_texts(table, column)
            else:
                keys, valid = ordered_keys(column, type_)
                own = table.find(keys, valid)
            present = valid if i == 0 else present & valid
            if i == 0:
                codes = own
            else:
                numbers, known = _joined(codes, own)
                codes = self._joins[i - 1].find(numbers, known)
        return codes, present

    def shrink(self, used: Ints) -> Rows:
        """Forget all combinations but `used` (distinct codes); give the new code of every old one.

        >>> codes = BranchCodes([pa.int64(), pa.string()])
        >>> old = codes.code([pa.array([1, 2, 3]), pa.array(["a", "b", "a"])])
        >>> codes.shrink(np.array([0, 2])).tolist(), codes.size
        ([0, -1, 1], 2)
        """
        renamed = np.full(self.size, -1, dtype=np.int32)
        columns: list[Ints] = []
        codes = used.astype(np.int64)
        for join in reversed(self._joins):
            numbers = join.values[codes]
            columns.append(numbers & 0xFFFFFFFF)
            codes = numbers >> 32
        columns.append(codes)
        columns.reverse()
        self._joins = [NumberCodes() for _ in self._joins]
        result: Rows = np.empty(0, dtype=np.int32)
        for i, old in enumerate(columns):
            kept, own = np.unique(old, return_inverse=True)
            self._columns[i] = self._columns[i].keep(kept)
            codes_now: Rows = own.astype(np.int32)
            joined = _joined(result, codes_now)[0] if i else None
            result = codes_now if joined is None else self._joins[i - 1].code(joined)
        renamed[used] = result
        return renamed


def _joined(left: Rows, right: Rows) -> tuple[Ints, Flags]:
    """Make one number of two codes, and mark where both are known."""
    numbers = np.empty(len(left), dtype=np.int64)
    known = np.empty(len(left), dtype=np.bool_)
    codes_join(left, right, numbers, known)
    return numbers, known


def _find_texts(table: TextCodes, column: Column) -> tuple[Rows, Flags]:
    """Look texts up chunk by chunk; of a dictionary, only its distinct values."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found, valid = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.bool_)]
    for chunk in chunks:
        if pa.types.is_dictionary(chunk.type):
            codes = np.append(table.find(chunk.dictionary.cast(pa.string())), np.int32(-1))
            index = chunk.indices.cast(pa.int64()).fill_null(-1).to_numpy()
            codes = codes[index]
        else:
            codes = table.find(chunk)
        found.append(codes)
        valid.append(validity(chunk))
    if len(chunks) == 1:
        return found[1], valid[1]
    return np.concatenate(found), np.concatenate(valid)
