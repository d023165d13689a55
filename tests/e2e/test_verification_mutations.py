"""Homes that Spark ran: what its checkpoint and the sources say, verification holds the log to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
from typer.testing import CliRunner

import penstock as ps
from penstock.cli.main import app
from penstock.engine import Desk
from penstock.engine.home_verification import Outcome, inspect_home, verify_home
from tests.e2e.conftest import Open
from tests.support.falsified import NO_ANSWER, Forger, restored
from tests.support.tables import Feeder, events

FILES, ROWS = 3, 12
LINES = "n,x\n1,2.5\n\n2,3.5\nbad,zz\n"
MADE = 40


def run(engine: ps.Engine, root: Path) -> Path:
    """Run filters and a join over Parquet, CSV and made-up rows; give the home."""
    feeder = Feeder(root / "in")
    for number in range(FILES):
        feeder.put(events(number, ROWS, first=ROWS * number))
    (root / "lines").mkdir()
    for number in range(FILES):
        (root / "lines" / f"{number}.csv").write_text(LINES)
    engine.stream("t", f"parquet:{feeder.directory}", event_time="ts", maxFilesPerTrigger=1)
    columns = pa.schema([("n", pa.int64()), ("x", pa.float64())])
    options: dict[str, Any] = {"header": True, "maxFilesPerTrigger": 1}
    engine._relations.declare(
        "stream", "c", f"csv:{root / 'lines'}", columns=columns, options=options
    )
    engine.stream("m", "market:trades", rows=MADE, rows_per_batch=MADE // 2)
    each = [{"id": n, "low": 10.0 * n, "high": 10.0 * n + 25} for n in range(6)]
    engine.subscribe("SELECT n, x * 2 AS d FROM t WHERE x BETWEEN :low AND :high", "some", each)
    engine.subscribe("SELECT * FROM c WHERE x > 1", "lines")
    engine.subscribe("SELECT symbol FROM m WHERE price > 0", "trades")
    near = "SELECT a.n, b.n AS m FROM t a JOIN t b ON a.k = b.k WITHIN 9 SECONDS WHERE b.x > 20"
    engine.subscribe(near, "near")
    engine.run_available()
    home = engine.desk.home.path
    engine.close()
    return home


def judged(home: Path) -> Outcome:
    desk = Desk(home)
    try:
        return verify_home(desk)
    finally:
        desk.close()


def inspected(home: Path) -> Outcome:
    desk = Desk(home)
    try:
        return inspect_home(desk)[0]
    finally:
        desk.close()


def codes(outcome: Outcome) -> set[str]:
    return {finding.code for finding in outcome.findings}


def test_the_log_is_held_to_what_spark_committed(open_engine: Open, tmp_path: Path) -> None:
    home = run(open_engine(), tmp_path)
    outcome = judged(home)
    assert outcome.state == "equal", outcome
    assert sorted(outcome.completeness.counted) == ["c", "m", "t"]
    assert outcome.rows == FILES * ROWS + FILES * 3 + MADE
    assert outcome.losses["c"]["corrupt_rows"] == FILES
    assert all(answer.read for answer in outcome.answers)
    newest = outcome.batches - 1
    assert outcome.completeness.committed == newest
    check_command(home)
    check_missing_batches(home, newest)
    check_lost_rows(home, newest)
    check_without_checkpoint(home, tmp_path)
    check_damage(home)


def check_command(home: Path) -> None:
    result = CliRunner().invoke(app, ["verify", str(home), "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["equal"]
    assert told["input_rows_not_counted"] == {}
    assert told["committed"] == told["batches"] - 1
    assert told["losses"]["c"] == {"corrupt_rows": FILES}


def check_missing_batches(home: Path, newest: int) -> None:
    results = home / "results" / "000000000"
    for last in (newest, newest - 1):
        with restored(home):
            for path in results.iterdir():
                if int(path.name[:12]) >= last:
                    path.unlink()
            outcome = inspected(home)
            assert codes(outcome) == {"VER-002"}
            assert f"no batch {newest}" in str(outcome.findings[-1])
    with restored(home):
        (results / f"{newest:012d}.json").unlink()
        assert codes(inspected(home)) == {"VER-002"}
    with restored(home):
        (home / "checkpoint" / "commits" / "1").unlink()
        assert codes(inspected(home)) == {"VER-009"}
    # Spark did not come to commit its last batch: it is there, and whole.
    with restored(home):
        (home / "checkpoint" / "commits" / str(newest)).unlink()
        assert inspected(home).state == "equal"


def check_lost_rows(home: Path, newest: int) -> None:
    """A batch without its input is right in itself; its source remembers."""

    def empty(manifest: dict[str, Any]) -> None:
        for part in manifest["parts"]:
            part.update(sections=[], rows_in=0)

    for batch in (0, newest):
        with restored(home):
            forger = Forger(home)
            for section in forger.sections(batch):
                for suffix in ("events", "matches"):
                    name = f"{section['stem']}-{suffix}.parquet"
                    (home / "results" / "000000000" / name).unlink()
            forger.change_manifest(batch, empty)
            assert codes(inspected(home)) == {"VER-008"}


def check_without_checkpoint(home: Path, root: Path) -> None:
    with restored(home):
        shutil.rmtree(home / "checkpoint")
        outcome = judged(home)
        assert outcome.state == "equal"
        assert "Completeness was not checked" in " ".join(outcome.words())
    gone = root / "in" / "000001.parquet"
    data = gone.read_bytes()
    gone.unlink()
    outcome = inspected(home)
    gone.write_bytes(data)
    assert outcome.state == "equal"
    assert outcome.completeness.uncounted == {"t": f"{gone} is no longer there"}
    assert "counted for 2 of 3 relations" in " ".join(outcome.words())


def check_damage(home: Path) -> None:
    """Every file that holds an answer is named when it is damaged, on either host."""
    for path in sorted(home.rglob("*")):
        place = path.relative_to(home).parts[0]
        if not path.is_file() or place != "results":
            assert place in {*NO_ANSWER, "registry", "penstock.json", "results"}
            continue
        data = path.read_bytes()
        path.write_bytes(data[:-7] + bytes([data[-7] ^ 1]) + data[-6:])
        assert path.name in "\n".join(map(str, inspected(home).findings))
        path.write_bytes(data)
