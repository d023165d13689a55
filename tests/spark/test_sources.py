"""Sources on a real Spark: the right rows, replay, restart, and clear refusals."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.spark import sessions
from penstock.spark.columns import arrow_schema, spark_schema
from penstock.spark.source_options import LISTED
from penstock.spark.source_texts import SourceText
from penstock.spark.sources import CORRUPT, explain_failure, open_source, replay
from penstock.vocabulary.errors import PenstockError
from penstock.worlds import market
from penstock.worlds.catalogue import WORLDS, GeneratedOptions
from tests.spark.conftest import Drain

PAIRS = pa.schema([("a", pa.int64()), ("b", pa.string())])


def lines(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / name).mkdir()
    (tmp_path / name / "one").write_text(text)
    return tmp_path / name


@pytest.mark.parametrize("stream", ["trades", "quotes"])
def test_market_gives_the_generated_rows(spark: SparkSession, drain: Drain, stream: str) -> None:
    options = {"rows": 2_500, "rows_per_batch": 1_000, "partitions": 3, "seed": 5}
    frame = open_source(spark, f"market:{stream}", options)
    schema, make = market.STREAMS[stream]
    assert arrow_schema(frame) == schema
    batches = drain(frame)
    assert [batch.num_rows for batch in batches] == [1_000, 1_000, 500]
    expected = pa.Table.from_batches([make(0, 2_500, seed=5)])
    assert pa.concat_tables(batches).combine_chunks().equals(expected)


@pytest.mark.parametrize("source", ["marketplace:supply", "coast_guard:targets"])
def test_tables_give_the_generated_changes(spark: SparkSession, drain: Drain, source: str) -> None:
    options = {"rows": 900, "rows_per_batch": 400, "partitions": 2, "stock": 100}
    frame = open_source(spark, source, options)
    world, stream = source.split(":")
    asked = {name: str(value) for name, value in options.items()}
    chosen = GeneratedOptions.parse({"world": world, "stream": stream, **asked})
    assert arrow_schema(frame) == chosen.schema
    batches = drain(frame)
    assert [batch.num_rows for batch in batches] == [400, 400, 100]
    expected = pa.Table.from_batches(chosen.make(0, 900))
    assert pa.concat_tables(batches).combine_chunks().equals(expected)


def test_market_reads_as_a_batch_too(spark: SparkSession) -> None:
    open_source(spark, "market:trades")
    options = {"world": "market", "stream": "trades", "rows": "700", "partitions": "2"}
    frame = spark.read.format("penstock_generated").options(**options)
    expected = pa.Table.from_batches([market.trades(0, 700)])
    assert frame.load().toArrow().combine_chunks().equals(expected)


def test_a_restarted_market_goes_on_where_it_was(spark: SparkSession, drain: Drain) -> None:
    options = {"rows_per_batch": 400}
    seen = [
        batch["trade_id"].to_pylist()
        for _ in range(3)
        for batch in drain(open_source(spark, "market:trades", options))
    ]
    assert [(ids[0], ids[-1]) for ids in seen] == [(0, 399), (400, 799), (800, 1_199)]


def test_a_paced_market_follows_the_clock(spark: SparkSession, tmp_path: Path) -> None:
    """It is never ahead of the clock; how far it is behind, the machine decides."""
    counts: list[int] = []
    frame = open_source(spark, "market:trades", {"pace": True, "rows_per_second": 2_000})
    writer = frame.writeStream.foreachBatch(lambda batch, _: counts.append(batch.count()))
    begun_s = time.monotonic()
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    while sum(count > 0 for count in counts) < 3:
        assert query.isActive, query.exception()
        time.sleep(0.02)
    query.stop()
    assert 0 < sum(counts) <= 2_000 * (time.monotonic() - begun_s)


def test_replay_gives_the_rows_in_order(spark: SparkSession, drain: Drain, tmp_path: Path) -> None:
    table = pa.Table.from_batches([market.trades(0, 1_050)])
    frame = replay(spark, table, tmp_path / "rows", 100)
    batches = drain(frame)
    assert [batch.num_rows for batch in batches] == [100] * 10 + [50]
    assert pa.concat_tables(batches).combine_chunks().equals(table)
    again = replay(spark, table.to_pandas(), tmp_path / "rows", 100)
    assert drain(again) == []
    with pytest.raises(PenstockError, match="SRC-011"):
        replay(spark, table.slice(1), tmp_path / "rows", 100)
    with pytest.raises(PenstockError, match="SRC-011"):
        replay(spark, table.slice(0, 100), tmp_path / "rows", 100)


def test_parquet_tells_its_own_columns(spark: SparkSession, drain: Drain, tmp_path: Path) -> None:
    home = tmp_path / "in"
    home.mkdir()
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", None]}), home / "one.parquet")
    frame = open_source(spark, f"parquet:{home}", columns=["b"])
    assert drain(frame)[0].to_pydict() == {"b": ["x", None]}
    with pytest.raises(PenstockError, match="SRC-009"):
        open_source(spark, f"parquet:{home}", columns=["c"])


@pytest.mark.parametrize(
    ("source", "options", "text"),
    [
        ("csv", {"header": True}, "a,b\n1,x\nfoo,y\n3,z,9\n"),
        ("json", {}, '{"a":1,"b":"x"}\n{"a":"foo","b":"y"}\n{"a":3,\n'),
    ],
)
def test_lines_that_do_not_parse_are_kept_apart(
    spark: SparkSession,
    drain: Drain,
    tmp_path: Path,
    source: str,
    options: dict[str, object],
    text: str,
) -> None:
    home = lines(tmp_path, source, text)
    (batch,) = drain(open_source(spark, f"{source}:{home}", options, PAIRS))
    bad = text.splitlines()[-2:]
    assert batch[CORRUPT].to_pylist() == [None, *bad]
    assert batch.slice(0, 1).select(["a", "b"]).to_pylist() == [{"a": 1, "b": "x"}]
    strict = open_source(spark, f"{source}:{home}", {**options, "mode": "FAILFAST"}, PAIRS)
    assert CORRUPT not in strict.columns
    with pytest.raises(Exception, match="STREAM_FAILED") as failed:
        drain(strict, "strict")
    assert explain_failure(failed.value).code == "SRC-005"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("", "SRC-001"),
        ("nonsense", "SRC-001"),
        ("kafka", "SRC-001"),
        ("parquet:", "SRC-002"),
        ("parquet:{home}/absent", "SRC-002"),
        ("parquet:{home}/file", "SRC-002"),
        ("parquet:{home}/empty", "SRC-003"),
        ("csv:{home}/empty", "SRC-004"),
        ("json:file://{home}/empty", "SRC-004"),
        ("parquet:{home}/text", "SRC-005"),
        ("jdbc", "SRC-008"),
        ("market:bonds", "SRC-010"),
    ],
)
def test_bad_sources_are_refused(
    spark: SparkSession, tmp_path: Path, source: str, code: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    (lines(tmp_path, "text", "not Parquet at all") / "one").rename(tmp_path / "text/a.parquet")
    with pytest.raises(PenstockError) as refused:
        open_source(spark, source.format(home=tmp_path))
    assert refused.value.code == code
    assert refused.value.remedy


@pytest.mark.parametrize("name", ["csv", "json", "orc", "parquet", "text"])
def test_options_that_no_reader_has_are_refused(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    with pytest.raises(PenstockError, match=r"SRC-015.*maxFilesPerTrigger"):
        open_source(spark, f"{name}:{tmp_path}", {"maxFilesPerTriger": 1}, PAIRS)
    with pytest.raises(PenstockError, match=r"SRC-015.*Did you mean event_time\?"):
        open_source(spark, f"{name}:{tmp_path}", {"event_tme": "at"}, PAIRS)


def test_the_lists_of_options_are_those_of_spark(spark: SparkSession) -> None:
    sql = spark._jvm.org.apache.spark.sql  # type: ignore[union-attr]
    readers = {
        "csv": sql.catalyst.csv.CSVOptions,
        "json": sql.catalyst.json.JSONOptions,
        "orc": sql.execution.datasources.orc.OrcOptions,
        "parquet": sql.execution.datasources.parquet.ParquetOptions,
        "text": sql.execution.datasources.text.TextOptions,
    }
    for name, reader in readers.items():
        own = set(str(reader.getAllOptions().mkString(",")).split(","))
        assert set(LISTED[name].split()) == own, name


DECLARED = pa.schema(
    [("n", pa.uint32()), ("d", pa.decimal128(9, 2)), ("at", pa.timestamp("us")),
     ("on", pa.date32()), ("zone", pa.timestamp("us", "UTC")), ("is", pa.bool_())]
)  # fmt: skip


def test_columns_are_told_without_spark_as_spark_finds_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    stored = tmp_path / "stored"
    stored.mkdir()
    rows = [pa.field("s", pa.large_string()), pa.field("ms", pa.timestamp("ms")), *DECLARED]
    pq.write_table(pa.schema(rows).empty_table(), stored / "a.parquet")
    worlds = [f"{name}:{stream}" for name, world in WORLDS.items() for stream in world.streams]
    cases: list[tuple[str, dict[str, object], pa.Schema | None]] = [
        (f"parquet:{stored}", {"maxFilesPerTrigger": 1}, None),
        (f"csv:{tmp_path}", {"header": True}, DECLARED),
        (f"json:{tmp_path}", {"mode": "FAILFAST"}, DECLARED),
        *((world, {}, None) for world in worlds if world != "aircraft:positions"),
    ]
    for source, options, declared in cases:
        told = SourceText.of(source, options).columns(declared)
        found = arrow_schema(open_source(spark, source, options, declared))
        assert told is not None and told.types == found.types and told.names == found.names
        assert [field.metadata for field in told] == [field.metadata for field in found], source


def test_a_directory_that_is_misspelt_is_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "readings").mkdir()
    with pytest.raises(PenstockError, match=r"SRC-002.*Did you mean .*/readings\?"):
        open_source(spark, f"csv:{tmp_path}/readngs", {}, PAIRS)


def write_text(path: Path) -> None:
    path.write_text("this is not Parquet at all")


def write_other_types(path: Path) -> None:
    pq.write_table(pa.table({"a": ["one"], "b": [1]}), path)


@pytest.mark.parametrize(
    ("write", "code"), [(write_text, "SRC-005"), (write_other_types, "SRC-006")]
)
def test_a_bad_file_at_run_time_is_explained(
    spark: SparkSession,
    drain: Drain,
    tmp_path: Path,
    write: Callable[[Path], None],
    code: str,
) -> None:
    home = tmp_path / "in"
    home.mkdir()
    write(home / "bad.parquet")
    with pytest.raises(Exception, match="STREAM_FAILED") as failed:
        drain(open_source(spark, f"parquet:{home}", schema=PAIRS))
    explained = explain_failure(failed.value)
    assert explained.code == code
    assert f"{home}/bad.parquet" in explained.fact
    assert code != "SRC-006" or "column 'a'" in explained.fact


def test_a_header_in_another_order_is_refused(
    spark: SparkSession, drain: Drain, tmp_path: Path
) -> None:
    home = lines(tmp_path, "csv", "b,a\nx,1\n")
    with pytest.raises(Exception, match="STREAM_FAILED") as failed:
        drain(open_source(spark, f"csv:{home}", {"header": "true"}, PAIRS))
    assert explain_failure(failed.value).code == "SRC-009"


@pytest.mark.parametrize("header", ["a;b", "a,b,c"])
def test_a_header_of_more_or_fewer_names_says_how_many(
    spark: SparkSession, drain: Drain, tmp_path: Path, header: str
) -> None:
    home = lines(tmp_path, "csv", f"{header}\n1;x\n")
    with pytest.raises(Exception, match="STREAM_FAILED") as failed:
        drain(open_source(spark, f"csv:{home}", {"header": "true"}, PAIRS))
    explained = explain_failure(failed.value)
    assert explained.code == "SRC-009"
    assert f"a line of {len(header.split(','))} names, but 2 columns" in explained.fact
    assert "sep = ';'" in explained.remedy


def test_quotes_are_doubled_unless_it_is_said_otherwise(
    spark: SparkSession, drain: Drain, tmp_path: Path
) -> None:
    """As Python, Excel and databases write CSV, and as files of parameters are read."""
    home = lines(tmp_path, "csv", '1,"5"" pipe, ""grey"""\n2,"a\\b"\n')
    found = pa.concat_tables(drain(open_source(spark, f"csv:{home}", schema=PAIRS)))
    assert found["b"].to_pylist() == ['5" pipe, "grey"', "a\\b"]
    (tmp_path / "sparks").mkdir()
    other = lines(tmp_path / "sparks", "csv", '1,"5\\" pipe"\n')
    frame = open_source(spark, f"csv:{other}", {"ESCAPE": "\\"}, PAIRS)
    found = pa.concat_tables(drain(frame, "sparks"))
    assert found["b"].to_pylist() == ['5" pipe']


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PenstockError("REG-004", "Range is empty.", "Swap."), "[REG-004] Range is empty. Swap."),
        (ValueError("own bug"), "[RUN-001] Spark failed: ValueError: own bug."),
    ],
)
def test_what_a_micro_batch_raises_comes_back(
    spark: SparkSession, tmp_path: Path, error: Exception, says: str
) -> None:
    def fail(_batch: DataFrame, _batch_id: int) -> None:
        raise error

    frame = open_source(spark, "rate-micro-batch", {"rowsPerBatch": 1})
    query = (
        frame.writeStream.foreachBatch(fail)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    with pytest.raises(Exception, match="STREAM_FAILED") as failed:
        query.awaitTermination()
    assert str(explain_failure(failed.value)).startswith(says)


def test_arrow_schema_is_what_to_arrow_gives(spark: SparkSession) -> None:
    columns = (
        "a tinyint, b smallint, c int, d bigint, e float, f double, g string, h binary, i boolean,"
        "j date, k timestamp, l timestamp_ntz, m decimal(12, 3), n bigint not null"
    )
    for ddl in (columns, columns + ", o array<int>, p struct<x: int>"):
        frame = spark.createDataFrame([], ddl)
        assert arrow_schema(frame) == frame.toArrow().schema


def test_schemas_go_to_spark_and_back(spark: SparkSession) -> None:
    for schema in (market.TRADES, market.QUOTES, PAIRS):
        empty = spark.createDataFrame([], spark_schema(spark, schema))
        assert arrow_schema(empty) == schema


def test_a_prepared_session_leaves_the_users_alone(
    spark: SparkSession, drain: Drain, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = spark.newSession()
    theirs.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    ours = sessions.prepared(theirs, shuffle_partitions=3)
    assert ours.conf.get("spark.sql.session.timeZone") == "UTC"
    assert ours.conf.get("spark.sql.shuffle.partitions") == "3"
    assert theirs.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    both = open_source(ours, "market:trades", {"rows": 10}).union(
        open_source(theirs, "market:trades", {"rows": 20})
    )
    assert sum(batch.num_rows for batch in drain(both)) == 30
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/usr/bin/false")
    sessions.prepared(theirs)  # files on the embedded host need no Python of Spark's
    with pytest.raises(PenstockError, match="ENG-002"):
        open_source(theirs, "market:trades", {"rows": 20})


def test_java_is_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PenstockError, match=r"ENG-001.*There is no Java"):
        sessions.check_java()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    with pytest.raises(PenstockError, match=r"ENG-001.*version 8"):
        sessions.check_java()
