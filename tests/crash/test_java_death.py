"""Java dies under a running engine: everybody is told with a code, and the home goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.crash, pytest.mark.spark]

SCRIPT = """
import json, os, signal, sys
import penstock as ps
from pyspark import SparkContext

def opened():
    engine = ps.Engine(sys.argv[1], record=True)
    paced = {"rows": 6_000, "rows_per_second": 500, "rows_per_batch": 1_000}
    engine.stream("trades", "market:trades", event_time="ts", **paced)
    return engine

def code_of(ask):
    try:
        ask()
    except ps.PenstockError as error:
        return error.code

engine = opened()
every = engine.subscribe("SELECT price FROM trades WHERE price > 0", name="every")
engine.start()
engine.wait_for_version(every.receipt.version, timeout="5 minutes")
following = every.changes(timeout="5 minutes")
next(following)
os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
asked = (lambda: list(following), engine.wait, engine.stop, engine.close)
codes = [code_of(ask) for ask in asked]
engine = opened()  # in the same process: another Java is started
engine.run_available()
read = engine.subscription("every").read().num_rows
state = engine.verify().state
engine.close()
print(json.dumps({"codes": codes, "read": read, "state": state}))
"""


def test_a_dead_java_is_told_and_the_home_goes_on(tmp_path: Path) -> None:
    """Nothing is said on stderr, neither of the death nor by the Java that ends well."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "home")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"codes": ["RUN-012"] * 4, "read": 6_000, "state": "equal"}
    assert not done.stderr
