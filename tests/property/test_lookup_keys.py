"""Keys of every pair of types meet as DuckDB lets them meet."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from penstock.algebra.crossings import Crossing
from penstock.algebra.inputs import InputShape
from penstock.algebra.lookups import LookupJoinStep
from penstock.algebra.memories import Lookup, Memory
from penstock.algebra.physical import BranchShape
from penstock.operators.lookup import LookupJoinOperator
from penstock.operators.lookup.figures import FAILURES
from penstock.vocabulary.batches import QueryChanges

NUMBERS = [0, 1, 2, 100, -1, 127, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**62]
FLOATS = [
    0.0,
    -0.0,
    1.0,
    1.5,
    0.1,
    100.0,
    -1.0,
    2.0**31,
    2.0**53,
    1e300,
    float("inf"),
    float("nan"),
]
DECIMALS = [Decimal(text) for text in ("0", "1", "1.50", "100", "-1", "127.25")]
DAYS = [dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(1900, 1, 1)]
TIMES = [dt.datetime(1970, 1, 1), dt.datetime(2024, 2, 29), dt.datetime(2024, 2, 29, 1)]  # noqa: DTZ001
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int8": (pa.int8(), [n for n in NUMBERS if -128 <= n < 128]),
    "int32": (pa.int32(), [n for n in NUMBERS if n < 2**31]),
    "int64": (pa.int64(), NUMBERS),
    "uint64": (pa.uint64(), [n for n in [*NUMBERS, 2**63 + 5] if n >= 0]),
    "float": (pa.float64(), FLOATS),
    "single": (pa.float32(), [0.0, 0.1, 1.0, 1.5]),
    "decimal": (pa.decimal128(10, 2), DECIMALS),
    "fine": (pa.decimal128(18, 6), DECIMALS),
    "long": (pa.decimal128(24, 4), DECIMALS),
    "bool": (pa.bool_(), [True, False]),
    "date": (pa.date32(), DAYS),
    "time": (pa.timestamp("us"), TIMES),
    "seconds": (pa.timestamp("s"), TIMES),
    "text": (pa.string(), ["", "a", "A", "ä", "a" * 50, "\0", "'", "1"]),
    "large": (pa.large_string(), ["", "a", "1", "ä"]),
}
PAIRS = [
    *((one, other) for one in ("int8", "int32", "int64") for other in ("int8", "int32", "int64")),
    ("uint64", "uint64"), ("float", "float"), ("float", "single"), ("single", "float"),
    ("int32", "float"), ("float", "int32"),
    ("int8", "decimal"), ("decimal", "int8"), ("decimal", "decimal"), ("long", "long"),
    ("int64", "decimal"), ("decimal", "int64"), ("decimal", "fine"), ("fine", "decimal"),
    ("fine", "int64"), ("uint64", "int64"), ("int64", "uint64"), ("uint64", "fine"),
    ("bool", "bool"), ("date", "date"), ("time", "time"), ("seconds", "time"), ("time", "date"),
    ("date", "time"),
    ("time", "seconds"), ("text", "large"), ("large", "text"), ("text", "text"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_keys_meet_as_duckdb_says(one: str, other: str, tmp_path: Path) -> None:
    (type_, values), (own, held) = VALUES[one], VALUES[other]
    stream = pa.table({"k": pa.array([*values, None], type_)})
    stream = stream.append_column("n", pa.array(range(stream.num_rows)))
    # Equal values that a type writes in two ways are one key.
    distinct = [v for at, v in enumerate(held) if v not in held[:at]]
    looked = pa.table({"k": pa.array([*distinct, None], own)})
    looked = looked.append_column("n", pa.array(range(looked.num_rows)))
    path = tmp_path / "keys.duckdb"
    with duckdb.connect(str(path)) as db:
        db.register("given", looked)
        db.register("stream", stream)
        db.execute("CREATE TABLE u AS SELECT * FROM given")
        expected = db.sql(
            "SELECT s.n, u.n FROM stream s JOIN u ON s.k = u.k WHERE s.k::VARCHAR <> 'nan'"
        ).fetchall()
    shapes = [
        InputShape(
            relation=name,
            columns=(("k", key), ("n", pa.int64())),
            window=None,
            branch=BranchShape(),
        )
        for name, key in (("s", type_), ("u", own))
    ]
    crossing = Crossing(equalities=(((0, "k"), (1, "k")),))
    memory = Memory(rows=2, policy="LRU")
    lookup = Lookup(source=f"duckdb:{path}", table="u", key="k", memory=memory)
    step = LookupJoinStep(inputs=tuple(shapes), crossing=crossing, lookup=lookup, looked_up=1)
    operator = LookupJoinOperator(step)
    operator.apply(QueryChanges(adds={"queries": pa.table({"query": [0]})}))
    for _ in range(2):
        found = [
            (row["i0.n"], row["i1.n"])
            for result in operator.process({"s": stream})
            if result.rows is not None
            for row in result.rows.to_pylist()
        ]
        assert sorted(found) == sorted(expected)
    assert expected
    assert operator.counts()[FAILURES] == 0
