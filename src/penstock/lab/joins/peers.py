"""Peers of standing joins: the same question asked of DuckDB and of Spark, batch by batch.

Each joins the micro-batch with demand and the result with the table of parameters, and gives the
affected queries: distinct pairs of a row and a query.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import duckdb
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.lab.file_streams import batch_seconds, file_stream, query_batches
from penstock.lab.joins.bench import JoinBench
from penstock.lab.report import Findings, Table, at_least
from penstock.lab.timing import say

Engine = Callable[[int, int], float]
"""Seconds of the engine for a micro-batch of so many rows under so many queries."""

BETWEEN = "s_quantity BETWEEN s_lo AND s_hi AND d_quantity BETWEEN d_lo AND d_hi"
DUCKDB_SQL = f"""
    SELECT DISTINCT number, id
    FROM (SELECT s.number, s.quantity AS s_quantity, d.quantity AS d_quantity
          FROM supply s JOIN demand d ON s.product = d.product) JOIN queries ON {BETWEEN}
"""
COLUMNS = ("batch", "side", "batch_ms", "time_over_engine")


def beside_duckdb(bench: JoinBench, engine: Engine, gates: bool) -> Findings:
    """DuckDB, two threads, tables of its own; loading the micro-batch is not counted.

    Judged at the largest micro-batch. At small ones Spark's own time for any batch is most of the
    engine's, and DuckDB may well be faster: the table shows it.
    """
    count, lines = len(bench.queries), []
    with duckdb.connect(":memory:", config={"threads": 2}) as db:
        _load(db, "demand", bench.demand)
        _load(db, "queries", bench.queries.table())
        for rows in bench.sizes.duckdb_batches:
            say(f"joins: DuckDB, a micro-batch of {rows:,} rows")
            _load(db, "supply", bench.batch(rows))
            started = perf_counter()
            bench.found["duckdb", rows, count] = db.sql(DUCKDB_SQL).to_arrow_table().num_rows
            seconds = perf_counter() - started
            own = engine(rows, count)
            lines += [(rows, "embedded", 1000 * own, 1.0)]
            lines += [(rows, "duckdb", 1000 * seconds, seconds / own)]
            if gates and rows == max(bench.sizes.duckdb_batches):
                name = f"engine over DuckDB, micro-batches of {rows}"
                yield at_least(name, seconds / own, 20, timed=True)
    yield Table(f"end to end beside DuckDB, {count} select-joins", COLUMNS, lines)


def _load(db: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    db.register("given", table)
    db.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM given")
    db.unregister("given")


def beside_spark(bench: JoinBench, engine: Engine, gates: bool) -> Findings:
    """Plain Spark: the stream joined to the table joined to the parameters, to parquet files."""
    rows, count = bench.sizes.spark_batch, len(bench.queries)
    say(f"joins: Spark, a micro-batch of {rows:,} rows")
    seconds = _spark_run(bench, rows)
    own = engine(rows, count)
    lines = [(rows, "embedded", 1000 * own, 1.0), (rows, "spark", 1000 * seconds, seconds / own)]
    yield Table(f"end to end beside plain Spark, {count} select-joins", COLUMNS, lines)
    if gates:
        name = f"engine over plain Spark, micro-batches of {rows}"
        yield at_least(name, seconds / own, 50, timed=True)


def _spark_run(bench: JoinBench, rows: int) -> float:
    """Run the plain query on a small batch to warm up, then on the measured one."""
    spark, directory = bench.spark, bench.fresh()
    demand = spark.createDataFrame(bench.demand).withColumnRenamed("quantity", "d_quantity").cache()
    queries = spark.createDataFrame(bench.queries.table()).cache()
    frames = (demand, queries)
    for frame in frames:
        frame.count()
    batch = bench.batch(rows)
    files = bench.files(f"spark-{rows}", [batch.slice(0, 10), batch])

    def affected(supply: DataFrame, number: int) -> None:
        arrived = supply.withColumnRenamed("quantity", "s_quantity")
        joined = arrived.join(demand, "product").join(queries, F.expr(BETWEEN))
        pairs = joined.select("number", "id").distinct()
        pairs.write.parquet(str(directory / f"out-{number}"))

    writer = file_stream(spark, files).writeStream.foreachBatch(affected)
    progress = query_batches(writer, directory / "checkpoint")
    assert [each["numInputRows"] for each in progress] == [min(10, rows), rows]
    pairs = spark.read.parquet(str(directory / "out-1"))
    bench.found["spark", rows, len(bench.queries)] = pairs.count()
    for frame in frames:
        frame.unpersist()
    return batch_seconds(progress[-1])
