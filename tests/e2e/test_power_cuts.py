"""Power cuts: results are flushed, Spark's own files are not, and may be gone, cut or older."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.e2e.conftest import Open
from tests.support.tables import Feeder, events

ROWS = 50


def test_rows_of_a_batch_whose_offsets_vanished_are_not_lost(
    open_engine: Open, tmp_path: Path
) -> None:
    feeder = Feeder(tmp_path / "in")

    def put(files: int) -> None:
        for _ in range(files):
            number = len(feeder.tables)
            feeder.put(events(number, ROWS, first=ROWS * number))

    put(3)
    engine = open_engine()
    engine.stream("t", f"parquet:{feeder.directory}", event_time="ts", maxFilesPerTrigger=1)
    every = engine.subscribe("SELECT n FROM t WHERE x >= 0", name="every")
    engine.run_available()
    engine.close()
    checkpoint = tmp_path / "home" / "checkpoint"
    for name in ("offsets/2", "offsets/.2.crc", "commits/.2.crc", "metadata"):
        (checkpoint / name).unlink()
    for name in ("commits/2", "sources/1/2", "sources/1/.1.crc"):
        (checkpoint / name).write_bytes(b"")
    put(9)
    engine = open_engine()
    every = engine.desk.subscription("every")
    engine.run_available()
    assert Counter(every.read()["n"].to_pylist()) == Counter(range(ROWS * 12))
    assert engine.verify().state == "equal"
