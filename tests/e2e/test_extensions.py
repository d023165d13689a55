"""A kind of queries from a package of its own, on both hosts, through the command line.

The toy under `tests/support/toy` is installed beside Penstock, for the command and for Spark's
workers, and nothing of Penstock knows its name.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.toys import install
from tests.tidy.tree import sources

ROOT = Path(__file__).parents[2]
HOSTS = ("embedded", "cluster")
SCRIPT = """
CREATE STREAM s (k VARCHAR, n BIGINT) FROM 'csv:{}';
SUBSCRIBE words TO SELECT DISTINCT k AS word FROM s;
SUBSCRIBE large TO SELECT k FROM s WHERE n > 97;
"""

pytestmark = pytest.mark.spark


def test_nothing_of_penstock_knows_the_toy() -> None:
    assert not [path for path in sources() if "penstock_distinct" in path.read_text()]


def test_a_kind_of_ones_own_through_the_command_line(tmp_path: Path) -> None:
    path = f"{install(tmp_path / 'site')}:{ROOT}:{os.environ.get('PYTHONPATH', '')}"
    feed = tmp_path / "feed"
    feed.mkdir()
    for number in range(3):
        lines = [f"w{(7 * n + number) % 25},{n}" for n in range(100)]
        (feed / f"{number}.csv").write_text("\n".join(lines))
    script = tmp_path / "app.sql"
    script.write_text(SCRIPT.format(feed))
    asked: list[list[str]] = []
    for host in HOSTS:
        home = str(tmp_path / host)
        asked += [
            ["run", str(script), "--once", "--record", "--host", host, "--home", home, "--json"],
            ["explain", str(script), "--home", home],
            ["verify", home, "--json"],
        ]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.commands"],
        input="\n".join(map(json.dumps, asked)),
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [answer[0] for answer in answers] == [0] * len(asked), answers
    said = iter(answer[1] for answer in answers)
    for _ in HOSTS:
        told, explained, verified = json.loads(next(said)), next(said), json.loads(next(said))
        assert told["events"] == 300
        assert "every value of k once" in explained
        assert "distinct on s" in explained
        assert verified["state"] == "equal", verified
        by_name = {each["name"]: each for each in verified["subscriptions"]}
        assert by_name["words"]["found"] == by_name["words"]["read"] == 25
        assert by_name["large"]["found"] == 6
        assert told["metrics"]["distinct_values"] == 25
