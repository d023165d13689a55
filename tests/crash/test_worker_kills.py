"""Python workers of Spark are killed (-9) while they work; the engine goes on as if nothing was."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.worlds import market
from tests.support.tables import bag
from tests.support.waiting import until_events

pytestmark = [pytest.mark.crash, pytest.mark.spark]

KILLS, ROWS = 4, 40


def workers() -> list[int]:
    """List the Python workers below this process: the children of Spark's Python daemons."""
    parents, forked = {}, set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int(
                (entry / "stat").read_text().rpartition(")")[2].split()[1]
            )
            command = (entry / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        # Java names the module too, in one of its settings.
        if b"penstock.spark.daemon" in command:
            forked.add(int(entry.name))

    def is_ours(pid: int) -> bool:
        while pid > 1:
            if pid == os.getpid():
                return True
            pid = parents.get(pid, 0)
        return False

    return sorted(pid for pid in forked if parents[pid] in forked and is_ours(pid))


@pytest.mark.parametrize("host", ["embedded", "cluster"])
def test_an_engine_outlives_its_workers(
    spark: SparkSession, host: str, tmp_path: Path, seed: int
) -> None:
    """The market source makes rows in Python workers, so the embedded host needs some too."""
    chance = np.random.default_rng(seed)
    options: dict[str, Any] = {"rows_per_batch": ROWS, "partitions": 2, "seed": 3}
    each = [{"id": i, "low": 20.0 * i, "high": 20.0 * i + 60} for i in range(20)]
    with ps.Engine(tmp_path / "home", spark=spark, host=host, record=True, shards=2) as engine:  # type: ignore[arg-type]
        engine.stream("trades", "market:trades", **options)
        text = "SELECT trade_id, price FROM trades WHERE price BETWEEN :low AND :high"
        many = engine.subscribe(text, name="many", each=each)
        killed: list[int] = []
        engine.start()
        while len(killed) < KILLS:
            # A batch apart, so that no task is killed as often as it is tried.
            until_events(engine, engine.runner.totals["events"] + 1)
            engine.wait(float(chance.random()) * 0.1)
            alive = workers()
            if alive:
                victim = int(chance.choice(alive))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)
        until_events(engine, engine.runner.totals["events"] + 2 * ROWS)
        engine.stop()
        read = ROWS * (engine.desk.log.newest() + 1)
        rows = pa.Table.from_batches([market.trades(0, read, seed=3)]).to_pylist()
        assert bag(many.read(), "_id", "trade_id") == Counter(
            (one["id"], row["trade_id"])
            for one in each
            for row in rows
            if one["low"] <= row["price"] <= one["high"]
        )
        assert all(verdict.equal for verdict in engine.verify().answers)
