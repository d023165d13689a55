"""Types that Spark does not have: read rightly, or refused by name when a source is opened."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.columns import arrow_schema
from penstock.spark.layout import TAG, Layout
from penstock.spark.sources import CORRUPT, explain_failure, open_source, replay
from penstock.vocabulary.errors import PenstockError

Read = Callable[[DataFrame], pa.Table]

UNSIGNED = pa.schema(
    [("a", pa.uint8()), ("b", pa.uint16()), ("c", pa.uint32()), ("d", pa.uint64())]
)
LARGEST = {"a": 2**8 - 1, "b": 2**16 - 1, "c": 2**32 - 1, "d": 2**64 - 1}


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Run a stream to its end; give its rows as operators see them."""

    def run(frame: DataFrame) -> pa.Table:
        layout = Layout(("t",), (arrow_schema(frame),))
        names = {old: f"c0_{number}" for number, old in enumerate(frame.columns)}
        found: list[pa.Table] = []

        def take(batch: DataFrame, _number: int) -> None:
            flat = batch.toArrow().rename_columns(names)
            tags = pa.array([0] * flat.num_rows, pa.int64())
            tables, _ = layout.split(flat.append_column(TAG, tags).to_batches())
            found.extend(tables.values())

        writer = frame.writeStream.foreachBatch(take).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
        return pa.concat_tables(found)

    return run


def parquet(tmp_path: Path, sql: str) -> Path:
    (tmp_path / "in").mkdir()
    duckdb.sql(f"COPY ({sql}) TO '{tmp_path / 'in' / 'one.parquet'}'")
    return tmp_path / "in"


@pytest.mark.parametrize("declared", [None, UNSIGNED], ids=["told", "declared"])
def test_unsigned_numbers_in_parquet_stay_unsigned(
    spark: SparkSession, read: Read, tmp_path: Path, declared: pa.Schema | None
) -> None:
    rows = pa.Table.from_pylist([LARGEST, dict.fromkeys(LARGEST, 0), {}], schema=UNSIGNED)
    replay(spark, rows, tmp_path / "in", 10)
    frame = open_source(spark, f"parquet:{tmp_path / 'in'}", schema=declared)
    assert arrow_schema(frame) == UNSIGNED
    assert read(frame).equals(rows)


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_unsigned_numbers_in_lines_are_checked(
    spark: SparkSession, read: Read, tmp_path: Path, kind: str
) -> None:
    good = [LARGEST, dict.fromkeys(LARGEST, 0)]
    bad = [{**LARGEST, "a": 256}, {**LARGEST, "d": 2**64}, {**LARGEST, "d": -1}]
    (tmp_path / "in").mkdir()
    lines = [
        json.dumps(row) if kind == "json" else ",".join(map(str, row.values()))
        for row in (*good, *bad)
    ]
    (tmp_path / "in" / "one").write_text("\n".join(lines))
    source = f"{kind}:{tmp_path / 'in'}"
    found = read(open_source(spark, source, schema=UNSIGNED))
    assert found.schema.names == [*UNSIGNED.names, CORRUPT]
    assert found.select(UNSIGNED.names).schema == UNSIGNED
    assert found.slice(0, 2).drop_columns([CORRUPT]).to_pylist() == good
    told = found[CORRUPT].to_pylist()
    assert told[:2] == [None, None]
    assert [json.loads(row) for row in told[2:]] == bad
    (tmp_path / "checkpoint").rename(tmp_path / "before")
    dropped = open_source(spark, source, {"mode": "DROPMALFORMED"}, UNSIGNED)
    assert read(dropped).to_pylist() == good
    (tmp_path / "checkpoint").rename(tmp_path / "before-too")
    with pytest.raises(Exception, match="STREAM_FAILED") as failed:
        read(open_source(spark, source, {"mode": "FAILFAST"}, UNSIGNED))
    assert explain_failure(failed.value).code == "SRC-005"


def test_unsigned_numbers_inside_others_are_decimals(
    spark: SparkSession, read: Read, tmp_path: Path
) -> None:
    home = parquet(tmp_path, f"SELECT [{2**64 - 1}::UBIGINT] AS l, {{'x': 5::UINTEGER}} AS s")
    schema = pa.schema([("l", pa.list_(pa.uint64())), ("s", pa.struct([("x", pa.uint32())]))])
    told = read(open_source(spark, f"parquet:{home}"))
    assert told.to_pylist() == [{"l": [2**64 - 1], "s": {"x": 5}}]
    declared = open_source(spark, f"parquet:{home}", schema=schema)
    assert arrow_schema(declared).types == told.schema.types


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("uuid()", "UUID"),
        ("TIME '12:00:00'", "TIME"),
        ("INTERVAL 1 DAY", "INTERVAL"),
        ("TIMESTAMP_NS '2026-01-01 00:00:00'", "TIMESTAMP_NS"),
        ("{'x': uuid()}", "UUID inside"),
    ],
)
def test_what_spark_cannot_read_in_parquet_is_refused_by_name(
    spark: SparkSession, tmp_path: Path, value: str, shown: str
) -> None:
    home = parquet(tmp_path, f"SELECT 1 AS a, {value} AS odd")
    with pytest.raises(PenstockError) as refused:
        open_source(spark, f"parquet:{home}")
    assert refused.value.code == "SRC-014"
    assert refused.value.fact.startswith(f"Column 'odd' in {home} is {shown}, which")
    assert "without it" in refused.value.remedy
    without = pa.schema([("a", pa.int32())])
    assert open_source(spark, f"parquet:{home}", schema=without).columns == ["a"]
    with pytest.raises(PenstockError, match="SRC-014"):
        open_source(spark, f"parquet:{home}", schema=pa.schema([("odd", pa.string())]))


@pytest.mark.parametrize(
    ("type_", "declared", "takes"),
    [
        ("UBIGINT", pa.int64(), False),
        ("UINTEGER", pa.int32(), False),
        ("UINTEGER", pa.int64(), True),
        ("UTINYINT", pa.int8(), False),
        ("UTINYINT", pa.int32(), True),
    ],
)
def test_unsigned_numbers_never_become_negative(
    spark: SparkSession, tmp_path: Path, type_: str, declared: pa.DataType, takes: bool
) -> None:
    home = parquet(tmp_path, f"SELECT 1::{type_} AS n")
    schema = pa.schema([("n", declared)])
    if takes:
        assert arrow_schema(open_source(spark, f"parquet:{home}", schema=schema)) == schema
        return
    with pytest.raises(PenstockError, match=f"SRC-014.*'n'.*Declare it as {type_}"):
        open_source(spark, f"parquet:{home}", schema=schema)


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("json", pa.time64("us")),
        ("csv", pa.month_day_nano_interval()),
        ("parquet", pa.list_(pa.time64("us"))),
        ("csv", pa.list_(pa.int32())),
    ],
    ids=str,
)
def test_types_that_no_file_can_bring_are_refused_by_name(
    spark: SparkSession, tmp_path: Path, kind: str, type_: pa.DataType
) -> None:
    schema = pa.schema([("a", pa.int64()), ("odd", type_)])
    with pytest.raises(PenstockError, match=r"SRC-014.*Column 'odd'.*CAST\(odd AS"):
        open_source(spark, f"{kind}:{tmp_path}", schema=schema)
