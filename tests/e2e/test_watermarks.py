"""Late rows on a real Spark, both hosts: files of one batch lose nothing, what is late is told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from tests.e2e.conftest import Open
from tests.support.tables import BEGIN, Feeder

SCHEMA = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
PAIRS = "SELECT a.n AS a, b.n AS b FROM a [RANGE 1 HOUR], b [RANGE 1 HOUR] WHERE a.k = b.k"
FILES = 8


def rows(seconds: list[int]) -> pa.Table:
    times = [BEGIN + timedelta(seconds=second) for second in seconds]
    columns = [[1] * len(seconds), seconds, times]
    arrays = [pa.array(own, field.type) for own, field in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def test_files_that_spark_finds_at_once_lose_nothing(open_engine: Open, tmp_path: Path) -> None:
    engine = open_engine()
    feeders = {name: Feeder(tmp_path / name) for name in ("a", "b")}
    for name, feeder in feeders.items():
        for file in range(FILES):
            # The newest file is the largest: Spark reads it first.
            feeder.put(rows([100 * file + i for i in range(1 + file)]))
        engine.stream(name, f"parquet:{feeder.directory}", event_time="ts", lateness=0)
    pairs = engine.subscribe(PAIRS, name="pairs", options={"shedding": "off"})
    engine.run_available()
    assert not engine.figures().losses
    feeders["a"].put(rows([0, 100 * FILES]))
    feeders["b"].put(rows([100 * FILES]))
    engine.run_available()
    assert engine.figures().losses["pairs"] == {"late_rows": 1}
    each = [100 * file + i for file in range(FILES) for i in range(1 + file)]
    found = sorted((c.row["a"], c.row["b"]) for c in pairs.changes(follow=False))
    known = [pair for pair in found if max(pair) < 100 * FILES]
    assert known == sorted((a, b) for a in each for b in each)
    (verdict,) = engine.verify().answers
    assert verdict.equal
    assert verdict.late == 1
