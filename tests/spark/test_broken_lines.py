"""Lines that do not parse: whatever breaks them, nothing of them is left but the line itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.spark.columns import arrow_schema
from penstock.spark.sources import CORRUPT, open_source
from penstock.vocabulary.broken import broken_column
from tests.spark.conftest import Drain

COLUMNS = pa.schema(
    [
        ("n", pa.int32()),
        ("x", pa.float64()),
        ("d", pa.decimal128(5, 2)),
        ("t", pa.timestamp("us", "UTC")),
        ("b", pa.bool_()),
        ("s", pa.string()),
    ]
)
GOOD = {"n": 1, "x": 1.5, "b": True, "s": "a"}
GOOD_CSV = "1,1.5,2.25,2024-01-01T00:00:00Z,true,a"
BROKEN_CSV = {
    "missing": "1,1.5",
    "extra": "1,1.5,2.25,2024-01-01T00:00:00Z,true,a,b",
    "whole number": "many,1.5,2.25,2024-01-01T00:00:00Z,true,a",
    "number out of range": "3000000000,1.5,2.25,2024-01-01T00:00:00Z,true,a",
    "float": "1,one,2.25,2024-01-01T00:00:00Z,true,a",
    "decimal": "1,1.5,two,2024-01-01T00:00:00Z,true,a",
    "decimal out of range": "1,1.5,123456.25,2024-01-01T00:00:00Z,true,a",
    "timestamp": "1,1.5,2.25,soon,true,a",
    "boolean": "1,1.5,2.25,2024-01-01T00:00:00Z,maybe,a",
    "header": "n,x,d,t,b,s",
    "other text": "hello",
    "long": "x" * 200_000,
}
BROKEN_JSON = {
    "truncated": '{"n": 1, "x": 1.5, "s": "a',
    "no object": "17",
    "wrong type": '{"n": "many", "x": 1.5, "s": "a"}',
    "number out of range": '{"n": 3000000000, "x": 1.5, "s": "a"}',
    "fraction": '{"n": 1.5, "x": 1.5, "s": "a"}',
    "timestamp": '{"n": 1, "x": 1.5, "t": "soon", "s": "a"}',
    "other text": "hello",
    "long": '{"n": 1, "s": "' + "x" * 200_000,
}


def put(tmp_path: Path, text: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one").write_text(text, encoding="utf-8")


def read(spark: SparkSession, drain: Drain, kind: str, directory: Path, **options: Any) -> pa.Table:
    frame = open_source(spark, f"{kind}:{directory}", options, COLUMNS)
    assert broken_column(arrow_schema(frame)) == (CORRUPT if CORRUPT in frame.columns else None)
    (batch,) = drain(frame)
    return batch


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_nothing_of_a_broken_line_leaks(
    spark: SparkSession, drain: Drain, tmp_path: Path, kind: str
) -> None:
    good = GOOD_CSV if kind == "csv" else json.dumps(GOOD)
    broken = BROKEN_CSV if kind == "csv" else BROKEN_JSON
    lines = [good, *broken.values(), "", good]
    put(tmp_path, "\n".join(lines) + "\n")
    rows = read(spark, drain, kind, tmp_path / "in").to_pylist()
    whole = [row for row in rows if row[CORRUPT] is None]
    assert [{name: row[name] for name in GOOD} for row in whole] == [GOOD, GOOD]
    told = {row[CORRUPT] for row in rows} - {None}
    names = {line: name for name, line in broken.items()}
    assert {names.get(line, line) for line in told} == set(broken)
    for row in rows:
        if row[CORRUPT] is not None:
            assert all(row[name] is None for name in COLUMNS.names), names[row[CORRUPT]]


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_dropped_lines_are_gone(
    spark: SparkSession, drain: Drain, tmp_path: Path, kind: str
) -> None:
    good = GOOD_CSV if kind == "csv" else json.dumps(GOOD)
    broken = BROKEN_CSV if kind == "csv" else BROKEN_JSON
    put(tmp_path, "\n".join([good, *broken.values(), good]) + "\n")
    table = read(spark, drain, kind, tmp_path / "in", mode="DROPMALFORMED")
    assert table.column_names == COLUMNS.names
    assert table["n"].to_pylist() == [1, 1]


def test_marks_at_the_beginning_and_quotes(
    spark: SparkSession, drain: Drain, tmp_path: Path
) -> None:
    lines = [
        "\ufeff" + GOOD_CSV,
        GOOD_CSV.replace(",a", ',"a, ""b"""'),
        GOOD_CSV.replace("a", '"a'),
    ]
    put(tmp_path, "\n".join(lines) + "\n")
    rows = read(spark, drain, "csv", tmp_path / "in").to_pylist()
    assert [row["s"] for row in rows if row[CORRUPT] is None][:1] == ["a"], rows
