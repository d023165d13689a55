"""Compact rows: what is written is read again, of every type, in fewer bytes than Arrow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.brokers.compact_rows import compact_of, is_compact, rows_of
from penstock.brokers.message_format import ARROW, PART, WHOLE, BatchEnd, MessageForm
from penstock.brokers.message_kinds import ENDS
from penstock.brokers.varints import folded, read, unfolded, written

LEAST, MOST = -(2**63), 2**63 - 1


def whole(low: int, high: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(low, high), st.sampled_from([low, high, 0]))


TYPES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int8(): whole(-128, 127),
    pa.uint16(): whole(0, 65_535),
    pa.int32(): whole(-(2**31), 2**31 - 1),
    pa.int64(): whole(LEAST, MOST),
    pa.uint64(): whole(0, 2**64 - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.decimal128(9, 2): st.decimals(-(10**6), 10**6, places=2),
    pa.string(): st.text(max_size=5),
}


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    types = draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=5))
    size = draw(st.integers(0, 8))
    columns = [
        pa.array(draw(st.lists(st.none() | TYPES[own], min_size=size, max_size=size)), own)
        for own in types
    ]
    return pa.RecordBatch.from_arrays(columns, names=[f"c{n}" for n in range(len(types))])


@settings(deadline=None, max_examples=150)
@given(batches())
def test_rows_are_read_as_they_were_written(rows: pa.RecordBatch) -> None:
    assert is_compact(rows.schema)
    found = rows_of(compact_of(rows), rows.schema)
    found.validate(full=True)
    assert found.equals(rows)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(LEAST, MOST)), st.binary(max_size=3))
def test_varints_are_read_from_wherever_they_stand(numbers: list[int], before: bytes) -> None:
    words = folded(np.array(numbers, dtype=np.int64))
    data = before + written(words) + b"\x80\x80"
    found, end = read(np.frombuffer(data, np.uint8), len(before), len(numbers))
    assert unfolded(found).tolist() == numbers and end == len(data) - 2


def form(value: pa.DataType) -> MessageForm:
    fields = [("ordinal", pa.int32()), ("min", value), *((name, pa.int64()) for name in ENDS)]
    return MessageForm(schema=pa.schema(fields), bounds=(), engine="e", subscription="s")


def rows_with(value: pa.DataType, ordinals: list[int]) -> pa.Table:
    columns = {"ordinal": ordinals, "min": [None, True, False]}
    columns |= {name: [10**12, 3 * 10**12, None] for name in ENDS}
    table = pa.table(columns)
    return table.set_column(1, "min", table["min"].cast(value)).cast(form(value).schema)


@pytest.mark.parametrize(
    ("value", "ordinals", "way"),
    [(pa.int64(), [0, 1, 2], WHOLE), (pa.int64(), [0, 1, 5], PART), (pa.bool_(), [0, 1, 2], ARROW)],
)
def test_a_message_says_how_it_is_written(
    value: pa.DataType, ordinals: list[int], way: bytes
) -> None:
    own, rows = form(value), rows_with(value, ordinals)
    payload = own.payload(rows)
    assert payload[:1] == way and pa.Table.from_batches([own.read(payload)]).equals(rows)


def test_few_rows_take_less_than_as_a_record_batch() -> None:
    random = np.random.default_rng(1)
    places = random.integers(0, 10**13, 12)
    columns = {name: places[random.integers(0, 12, 20)] for name in ("min", *ENDS)}
    rows = pa.table({"ordinal": np.arange(20, dtype=np.int32), **columns})
    (batch,) = rows.to_batches()
    assert 3 * len(form(pa.int64()).payload(rows)) < batch.serialize().size


def test_an_end_has_rows_or_parts() -> None:
    rows = WHOLE + b"\n\n"
    for end in (BatchEnd(number=4, parts={}, rows=rows), BatchEnd(number=5, parts={"b0": 2})):
        assert BatchEnd.of_bytes(end.to_bytes()) == end
