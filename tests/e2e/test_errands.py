"""Another process changes what a running engine asks, and where its answers go."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

from tests.e2e.conftest import Open
from tests.support.hosts import above_hosts
from tests.support.serving import ServedOrders, followed, next_numbers
from tests.support.tables import Feeder, events
from tests.support.waiting import until_events


@above_hosts
def test_another_process_subscribes_and_drops_while_the_engine_runs(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    engine, feeder = open_engine(), Feeder(tmp_path / "in")
    feeder.put(events(seed, 6))
    engine.stream("t", f"parquet:{feeder.directory}")
    engine.subscribe("SELECT n FROM t WHERE y >= -100", name="first")
    home = str(engine.desk.home.path)

    def penstock(*words: str) -> None:
        command = [sys.executable, "-m", "penstock", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    engine.start()
    until_events(engine, 6)
    penstock("sql", home, "SUBSCRIBE second TO SELECT n FROM t WHERE y >= -100 INTO 'out' AS files")
    penstock("drop", home, "first")
    with ServedOrders(Path(home)) as served, served.client() as client:
        asked = {"name": "third", "sql": "SELECT n FROM t WHERE y >= -100"}
        assert client.post("/subscriptions", json=asked).status_code == 201
        engine.wait_for_version(engine.desk.registry.version)
        with followed(client, "third", after="now") as found:
            feeder.put(events(seed + 1, 4, first=6))
            assert sorted(next_numbers(found, 4)) == [6, 7, 8, 9]
        assert client.delete("/subscriptions/third").status_code == 200
    until_events(engine, 10)
    engine.stop()
    assert [each.name for each in engine.subscriptions()] == ["second"]
    assert pq.read_table(tmp_path / "out")["n"].to_pylist() == [6, 7, 8, 9]
    (sink,) = engine.subscription("second").sinks()
    assert (sink.name, sink.address) == ("files", str(tmp_path / "out"))
