"""Keys of unlike scales, widths and units meet as DuckDB lets them meet, in every kind of join.

Whatever shard a row belongs to: who joins it is there too.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation
from penstock.kinds.binder import bind
from penstock.operators.catalogue import OPERATORS
from penstock.operators.protocol import Share
from penstock.vocabulary.batches import QueryChanges

NUMBERS = [
    *("0", "1", "-1", "2", "0.1", "0.3", "0.05", "1.5", "-12.34", "0.000001", "7.000007"),
    *("100", "127", "2147483647", "9007199254740993", "-9007199254740993", "90071992547409.93"),
    *("0.999999999999999999", "123456789012.345678", "999999999999999999", "4611686018427387904"),
    *("9223372036854775807", "-9223372036854775808", "18446744073709551615"),
]
EXACT = [
    pa.int8(), pa.int32(), pa.int64(), pa.uint64(), pa.decimal128(4, 0), pa.decimal128(6, 1),
    pa.decimal128(9, 2), pa.decimal128(12, 4), pa.decimal128(18, 0), pa.decimal128(18, 6),
    pa.decimal128(18, 18),
]  # fmt: skip
FLOATS = [pa.float32(), pa.float64()]
UNITS = [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
AT = pa.timestamp("us", "UTC")
WHOLE = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}


def held_by(type_: pa.DataType) -> list[Any]:
    """Give some values that a type holds exactly."""
    if pa.types.is_timestamp(type_):
        apart = [0, 1, 1_000, 1_500, 2_000_000, 90_000_000]
        return [NOON + timedelta(microseconds=n) for n in apart if n % WHOLE[type_.unit] == 0]
    if pa.types.is_floating(type_):
        return [0.0, -0.0, 0.5, 1.0, 1e10, pa.scalar(0.1, pa.float32()).as_py()]
    found = []
    for text in NUMBERS:
        value = Decimal(text)
        try:
            whole = value == value.to_integral_value()
            if pa.types.is_decimal(type_) or whole:
                number = value if pa.types.is_decimal(type_) else int(value)
                found.append(pa.scalar(number, type_).as_py())
        except (pa.ArrowInvalid, OverflowError):
            continue
    return found


def relations(kind: str, types: tuple[pa.DataType, pa.DataType]) -> dict[str, Relation]:
    """Give two relations with a key each, as a kind of join wants them."""
    found = {}
    for name, type_ in zip("ab", types, strict=True):
        columns = [("n", pa.int64()), ("k", type_)]
        if kind == "select":
            schema = pa.schema([*columns, ("op", pa.string())])
            found[name] = Relation(name=name, kind="table", schema=schema, change_column="op")
        else:
            schema = pa.schema([*columns, ("at", AT)])
            found[name] = Relation(name=name, kind="stream", schema=schema, event_time="at")
    return found


JOINED = {
    "select": "a JOIN b ON a.k = b.k",
    "window": "a JOIN b ON a.k = b.k WITHIN 1 HOUR",
    "multi": "a [RANGE 1 HOUR], b [RANGE 1 HOUR] WHERE b.k = a.k",
    "bounded": "a, b WHERE a.k = b.k MEMORY 300 ROWS",
    "shared": "a, b WHERE a.k = b.k MEMORY 300 ROWS SHARED BY b (k), a (k)",
}


def rows_of(kind: str, values: list[Any], type_: pa.DataType) -> pa.Table:
    """Make a relation's rows; of streams the last two are far ahead, and join nothing."""
    if kind == "select":
        times = {"op": ["+"] * len(values)}
    else:
        values = [*values, None, None]
        seconds = [*range(len(values) - 2), 10**5, 2 * 10**5]
        times = {"at": pa.array([NOON + timedelta(seconds=n) for n in seconds], AT)}
    return pa.table({"n": range(len(values)), "k": pa.array(values, type_), **times})


def met(kind: str, tables: dict[str, pa.Table], shards: int) -> Counter[tuple[int, int]]:
    """Give the pairs that a join finds, with all rows brought to all its shards."""
    types = (tables["a"].schema.field("k").type, tables["b"].schema.field("k").type)
    logical = bind(
        f"SELECT a.n AS one, b.n AS other FROM {JOINED[kind]}", relations(kind, types), None, {}
    )
    step = logical.step()
    operators = OPERATORS[step.kind]
    adds = operators.register(logical, step, pa.table({"_": [0]}).select([]), 0).adds
    found: Counter[tuple[int, int]] = Counter()
    for number in range(shards):
        operator = operators.build(step, None, Share(number, shards))
        operator.apply(QueryChanges(adds=adds))
        for result in operator.process(tables):
            assert result.rows is not None
            found.update((row["i0.n"], row["i1.n"]) for row in result.rows.to_pylist())
    return found


def expected(tables: dict[str, pa.Table]) -> Counter[tuple[int, int]]:
    with duckdb.connect(":memory:", config={"threads": 1}) as db:
        for name, table in tables.items():
            db.register(name, table)
        return Counter(db.sql("SELECT a.n, b.n FROM a JOIN b ON a.k = b.k").fetchall())


@st.composite
def drawn(draw: st.DrawFn) -> list[tuple[pa.DataType, list[Any]]]:
    """Draw two types whose values can be equal, and values of both."""
    family = draw(st.sampled_from([EXACT, EXACT, EXACT, FLOATS, UNITS]))
    types = [draw(st.sampled_from(family)) for _ in range(2)]
    values = [st.none() | st.sampled_from(held_by(type_)) for type_ in types]
    return [
        (type_, draw(st.lists(own, min_size=1, max_size=20)))
        for type_, own in zip(types, values, strict=True)
    ]


@pytest.mark.parametrize("kind", sorted(JOINED))
@settings(max_examples=25)
@given(drawn(), st.integers(1, 3))
def test_keys_meet_as_duckdb_says(kind: str, sides: Any, shards: int) -> None:
    tables = {
        name: rows_of(kind, values, type_)
        for name, (type_, values) in zip("ab", sides, strict=True)
    }
    assert met(kind, tables, shards) == expected(tables)


@pytest.mark.parametrize("kind", sorted(JOINED))
@pytest.mark.parametrize("shards", [1, 4])
def test_decimals_of_two_scales_meet(kind: str, shards: int) -> None:
    """All tenths from -50 to 50 are hundredths as well, whichever shard holds them."""
    tenths = [Decimal(n) / 10 for n in range(-500, 500, 7)]
    tables = {
        "a": rows_of(kind, tenths, pa.decimal128(6, 1)),
        "b": rows_of(kind, tenths, pa.decimal128(9, 2)),
    }
    assert met(kind, tables, shards) == Counter((n, n) for n in range(len(tenths)))
