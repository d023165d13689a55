"""The time zone is UTC in conditions and in outputs, wherever the machine stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from tests.support.desk_runs import DeskRun

schema = pa.schema([("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
run = DeskRun(Path(sys.argv[1]), Relation(name="t", kind="stream", schema=schema, event_time="ts"))
hours = "SELECT hour(ts) AS h, CAST(ts AS VARCHAR) AS s, CAST(ts AS TIMESTAMP) AS l, " \
    "date_trunc('day', ts) AS d, strftime(ts, '%H') AS f FROM t WHERE "
one = run.desk.subscribe(hours + "hour(ts) = 3", name="residual")
two = run.desk.subscribe(hours + "ts = '2024-07-01 03:00:00'", name="index")
run.batch(t=[{"n": 1, "ts": datetime(2024, 7, 1, 3, tzinfo=UTC)}])
for each in (one, two):
    print([str(v) for row in each.changes(follow=False) for v in row.row.values()])
print(all(verdict.equal for verdict in verify(run.desk.registry, run.desk.log)))
run.desk.close()
"""


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_outputs_and_conditions_are_utc(zone: str, tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "home")],
        env={**os.environ, "TZ": zone, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert told.returncode == 0, told.stderr
    row = (
        "['3', '2024-07-01 03:00:00+00', '2024-07-01 03:00:00', '2024-07-01 00:00:00+00:00', '03']"
    )
    assert told.stdout.splitlines() == [row, row, "True"]
