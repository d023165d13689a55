"""Processes that read results and explain while an engine writes, folds and puts files away."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.algebra.catalog import Relation
from penstock.delivery import retention
from penstock.lab.correctness.runs import DeskRun
from penstock.registry import folds
from tests.support.tables import EVENTS

READER = """
import json, sys
from penstock.engine import Desk
home, rounds = sys.argv[1], 0
reader = Desk(home, read_only=True)
print("open", flush=True)
while True:
    subscription = reader.subscription("above")
    whole = [change.row["x"] for change in subscription.changes(follow=False)]
    assert whole == sorted(whole) and whole == [float(n) for n in range(len(whole))], whole
    one = [change.row["x"] for change in subscription.changes(follow=False, ids=["a"])]
    assert one == [float(n) for n in range(len(one))] and len(one) >= len(whole)
    assert "standing" in reader.explain("above").text()
    assert len(reader.subscriptions()) >= 1
    rounds += 1
    if len(whole) >= int(sys.argv[2]):
        print(json.dumps({"rounds": rounds, "rows": len(whole)}))
        break
"""
"""Reads all of it again and again until it has seen so many rows, in their order."""


def test_processes_read_and_explain_while_files_are_folded_and_put_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folds, "VERSIONS_PER_BASE_MAX", 3)
    relation = Relation(name="t", kind="stream", schema=EVENTS, event_time="ts")
    batches, home = 40, tmp_path / "home"
    with DeskRun(home, relation, record=False) as run:
        run.desk.subscribe(
            "SELECT x FROM t WHERE x >= :l", name="above", each=[{"id": "a", "l": 0}]
        )
        command = [sys.executable, "-c", READER, str(home), str(batches)]
        readers = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "open\n"
        upkeep = retention.LogUpkeep(
            run.desk.log, retention.UpkeepPace(spare_batches=2, volume_batches=5)
        )
        for number in range(batches):
            run.desk.subscribe(f"SELECT x FROM t WHERE x = {number} + 0.5", name=f"q{number}")
            run.batch(t=[{"x": number}])
            if number % 3 == 0:
                run.desk.drop(f"q{number}")
            run.desk.registry.tidy(run.desk.registry.version)
            list(upkeep.steps(retention.KeepLimits(), 0.0))
        assert list((home / "results/volumes").iterdir())
        assert not (home / "registry/versions/000000000003").exists()
        for reader in readers:
            said, failed = reader.communicate(timeout=300)
            assert reader.returncode == 0, failed
            assert json.loads(said)["rows"] == batches
