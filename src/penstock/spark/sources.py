"""Sources: a short name and options in, a streaming DataFrame out.

`market:trades`, `marketplace:supply`, `coast_guard:units` and the like are made-up worlds (see
`penstock.worlds.catalogue`); `parquet:/dir`, `csv:/dir`, `json:/dir`, `orc:/dir` and `text:/dir`
are directories into which files are moved when complete; every other name is a Spark format
(`rate`, `kafka`, `delta`, …), told what to do by its options.

**Quotes.** A quote inside quotes is doubled in CSV files, as in those of parameters. Spark's own
rule, a backslash before it, is the option `escape`.

**Rows that do not parse.** A line of CSV or JSON that does not fit the declared columns is not
lost and does not stop the stream: it becomes a row with NULL in all columns, and the whole line in
the extra column `_corrupt`, which is NULL for every good row. The engine counts such rows and keeps
them from all queries but filters that ask for `_corrupt`. Who prefers otherwise says so with
Spark's own option:
`mode = FAILFAST` stops at the first bad line, `mode = DROPMALFORMED` drops it; then there is no
column `_corrupt`.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # Spark's own custom
from pyspark.sql.types import StringType, StructField, StructType

from penstock.spark.columns import (
    backticked,
    parquet_columns,
    refuse_nested,
    sound_lines,
    spark_schema,
)
from penstock.spark.failures import explain_failure
from penstock.spark.generated import FORMAT, GeneratedSource
from penstock.spark.paths import literal
from penstock.spark.sessions import check_workers
from penstock.spark.source_texts import CORRUPT, FILES, LINES, SourceText, data_files
from penstock.vocabulary.changes import POSITION
from penstock.vocabulary.errors import PenstockError
from penstock.worlds.catalogue import WORLDS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CORRUPT", "explain_failure", "open_source", "replay", "with_position"]


def open_source(
    spark: SparkSession,
    source: str,
    options: Mapping[str, object] | None = None,
    schema: pa.Schema | None = None,
    columns: Sequence[str] | None = None,
) -> DataFrame:
    """Open a stream.

    Parameters
    ----------
    spark
        The session that reads; see `penstock.spark.sessions`.
    source
        A name as the module describes, `format` or `format:path`.
    options
        Passed on to the format. Files take `maxFilesPerTrigger`, for example. `${NAME}` stands for
        a variable of the environment.
    schema
        The columns. CSV and JSON need them; Parquet and ORC files tell them.
    columns
        Which columns to keep; all if not given.

    It raises SRC-001 to SRC-010, SRC-014, SRC-015: what is wrong with the source, and what to do.
    """
    text = SourceText.of(source, options)
    text.check(schema is not None)
    try:
        if text.format in WORLDS:
            frame = _open_generated(spark, text.generated)
        elif text.format in FILES:
            frame = _open_files(spark, text, schema)
        else:
            frame = _open_format(spark, text, schema)
    except (PySparkException, Py4JError) as error:
        raise _about_option(explain_failure(error), text.options) from error
    return frame if columns is None else _keep(frame, columns, source)


def with_position(frame: DataFrame) -> DataFrame | None:
    """Add to the rows of files where they stood, in the columns `POSITION`.

    Spark tells a file's time and path, and where in it the part begins that a task reads; inside
    such a part rows come in their order. None: the rows are not of files.
    """
    told = ("file_modification_time", "file_path", "file_block_start")
    columns = [
        F.col(f"_metadata.{name}").alias(own) for name, (own, _) in zip(told, POSITION, strict=True)
    ]
    try:
        return frame.select("*", *columns)
    except PySparkException:
        return None


def replay(
    spark: SparkSession,
    table: pa.Table | pd.DataFrame,
    directory: str | Path,
    rows_per_batch: int,
) -> DataFrame:
    """Turn a table into a stream of micro-batches of `rows_per_batch` rows, in row order.

    The rows are written to Parquet files in `directory`, one per micro-batch, each complete from
    the moment it can be seen. Called again with the same table, it keeps the files that are
    there, so that a query goes on from its checkpoint.

    It raises SRC-011 if the directory holds other data, or nothing could be written.
    """
    if rows_per_batch < 1:
        raise PenstockError(
            "SRC-011",
            f"A replay of {rows_per_batch} rows per batch goes nowhere.",
            "Take 1 or more.",
        )
    rows = table if isinstance(table, pa.Table) else _table(table)
    home = Path(directory)
    home.mkdir(parents=True, exist_ok=True)
    starts = range(0, max(rows.num_rows, 1), rows_per_batch)
    names = [f"replay-{number:06d}.parquet" for number in range(len(starts))]
    strangers = {path.name for path in data_files(home)} - set(names)
    if strangers:
        raise _other_data(home, min(strangers))
    for number, (name, start) in enumerate(zip(names, starts, strict=True)):
        _put(home / name, rows.slice(start, rows_per_batch), number)
    return open_source(spark, f"parquet:{home}", {"maxFilesPerTrigger": 1})


def _about_option(error: PenstockError, options: Mapping[str, str]) -> PenstockError:
    """Say which option Spark refuses, where its text names it or quotes its value."""
    if error.code not in {"RUN-001", "SRC-012"}:
        return error
    for name, value in options.items():
        if re.search(rf"['\"](?:{re.escape(name)}|{re.escape(value)})['\"]", error.fact, re.I):
            reason = error.fact.partition(": ")[2]
            fact = f"Spark refuses the option {name} = {value!r}: {reason}"
            return PenstockError("SRC-012", fact, "Correct the option.", option=name.lower())
    return error


def _open_generated(spark: SparkSession, asked: dict[str, str]) -> DataFrame:
    check_workers(spark)
    # Spark asks the calling thread's active session whether the name is taken, not the session
    # that registers; a new thread has none.
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(spark.dataSource.register, GeneratedSource).result()
    return spark.readStream.format(FORMAT).options(**asked).load()


def _open_format(spark: SparkSession, text: SourceText, schema: pa.Schema | None) -> DataFrame:
    reader = spark.readStream.format(text.format).options(**text.options)
    if schema is not None:
        reader = reader.schema(spark_schema(spark, schema))
    return reader.load(text.path) if text.path else reader.load()


def _open_files(spark: SparkSession, text: SourceText, schema: pa.Schema | None) -> DataFrame:
    name, path, options, home = text.format, text.path, text.options, text.directory()
    columns = None if schema is None else spark_schema(spark, schema)
    if columns is None and name == "text":
        columns = StructType([StructField("value", StringType())])
    if home is not None:
        path = literal(home.absolute())
    if name == "parquet":
        columns = parquet_columns(spark, path, options, columns)
    elif columns is None:
        columns = spark.read.format(name).options(**options).load(path).schema
    # By default Spark passes over files a week older than the newest, and `mv` and `rsync -t` keep
    # old times: rows would be lost without a word.
    options = {"maxFileAge": "3650d", **options}
    if name in LINES:
        return _open_lines(spark, name, path, options, columns)
    return spark.readStream.format(name).schema(columns).options(**options).load(path)


def _open_lines(
    spark: SparkSession, name: str, path: str, options: dict[str, str], columns: StructType
) -> DataFrame:
    """Open files of lines, with a column for those that do not parse, unless asked otherwise."""
    asked = {key.lower(): value for key, value in options.items()}
    if name == "csv":
        refuse_nested(columns)
        if "escape" not in asked:
            # A quote inside quotes is doubled, as others write it; Spark expects a backslash.
            options = {"escape": '"', **options}
        if asked.get("header", "false").lower() == "true":
            # Spark would otherwise take columns by position and read a header in another order
            # wrong.
            options = {"enforceSchema": "false", **options}
    mode = asked.get("mode", "PERMISSIVE").upper()
    if mode == "PERMISSIVE":
        if CORRUPT not in columns.names:
            columns = StructType([*columns.fields, StructField(CORRUPT, StringType())])
        options = {**options, "mode": mode, "columnNameOfCorruptRecord": CORRUPT}
    frame = spark.readStream.format(name).schema(columns).options(**options).load(path)
    return sound_lines(frame, CORRUPT, mode)


def _keep(frame: DataFrame, columns: Sequence[str], source: str) -> DataFrame:
    known = frame.columns
    for column in columns:
        if column not in known:
            raise PenstockError(
                "SRC-009",
                f"The source {source!r} has no column {column!r}.",
                f"Choose from: {', '.join(known)}.",
            )
    return frame.select(*(backticked(column) for column in columns))


def _table(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, AttributeError) as error:
        raise PenstockError(
            "SRC-011", f"The rows to replay are not a table: {error}.", "Give an Arrow table."
        ) from error


def _put(path: Path, rows: pa.Table, number: int) -> None:
    """Write one file in one step; a file that is there already must hold the same rows."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".replay-", delete=False) as file:
        # Spark reads microseconds; pandas writes nanoseconds.
        pq.write_table(rows, file, coerce_timestamps="us", allow_truncated_timestamps=True)
    written = Path(file.name)
    if path.exists():
        same = pq.read_table(path).equals(pq.read_table(written))
        written.unlink()
        if not same:
            raise _other_data(path.parent, path.name)
        return
    # Spark takes files in the order of their times: make it the order of the rows.
    time_ns = written.stat().st_mtime_ns // 1_000_000 * 1_000_000 + number * 1_000_000
    os.utime(written, ns=(time_ns, time_ns))
    written.replace(path)


def _other_data(home: Path, name: str) -> PenstockError:
    return PenstockError(
        "SRC-011",
        f"The directory {home} already holds other data ({name}).",
        "Replay into a new directory.",
    )
