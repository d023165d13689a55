"""Run a little of all that tests ask of Spark: `python -m tests.support.archiving`.

Java keeps the classes that such a run loaded (`-XX:ArchiveClassesAtExit`), and later runs start
from that archive.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark import SparkContext

import penstock as ps
from penstock.spark.sessions import local_session
from tests.support.tables import Feeder, events

FILES, ROWS = 3, 10
TEXT = "SELECT n, x FROM t WHERE x BETWEEN :low AND :high"


def main() -> None:
    """Run filters on both hosts, then wait until Java has ended."""
    spark = local_session("penstock-archiving", cores=2, shuffle_partitions=2)
    with tempfile.TemporaryDirectory() as place:
        feeder = Feeder(Path(place) / "in")
        for number in range(FILES):
            feeder.put(events(number, ROWS, first=ROWS * number))
        for host in ("embedded", "cluster"):
            with ps.Engine(Path(place) / host, spark=spark, host=host, shards=2) as engine:
                engine.stream("t", f"parquet:{feeder.directory}", maxFilesPerTrigger=1)
                engine.subscribe(TEXT, name="some", each=[{"id": 1, "low": 0.0, "high": 50.0}])
                engine.run_available()
                assert engine.runner.totals["events"] == FILES * ROWS
    gateway = SparkContext._gateway
    assert gateway is not None
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    main()
