"""The command line, end to end: what people type, what they see, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.engine import Desk

ROOT = Path(__file__).parents[2]
EXAMPLE = "examples/market.sql"
COMMAND = [sys.executable, "-c", "from penstock.cli.entrance import main; main()"]

pytestmark = pytest.mark.spark


def penstock(*arguments: str | Path) -> Result:
    """Run a command in this process, on the Spark that is there."""
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])
    finally:
        os.chdir(here)


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """Run the example once, recorded; give its home and what was printed."""
    home = tmp_path_factory.mktemp("run") / "home"
    return home, penstock("run", EXAMPLE, "--once", "--record", "--home", home, "--print", "ibm")


def test_run_prints_changes_and_a_summary(ran: tuple[Path, Result]) -> None:
    _, result = ran
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert any(line.startswith('+ ibm ibm {"ts":') for line in lines)
    assert "30,000 events" in result.stdout
    assert "ibm, nvidia, limits" in result.stdout  # one group, three subscriptions
    assert "Starting Spark" in result.stderr
    assert "Starting Spark" not in result.stdout


def test_run_goes_on_where_it_stopped(ran: tuple[Path, Result]) -> None:
    home, _ = ran
    result = penstock("run", EXAMPLE, "--once", "--home", home, "--json", "--quiet")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["events"] == 30_000  # the next ones: the stream is endless
    assert facts["queries"] == 12
    assert len(facts["groups"]) == 3
    desk = Desk(home)
    assert desk.log.newest() == 1
    desk.close()


def test_verify_finds_the_run_equal(ran: tuple[Path, Result]) -> None:
    home, _ = ran
    result = penstock("verify", home)
    assert result.exit_code == 0, result.output
    assert "Equal: DuckDB finds the same" in result.stdout


def test_verify_of_a_script_finds_its_home_and_speaks_json(ran: tuple[Path, Result]) -> None:
    home, _ = ran
    result = penstock("verify", EXAMPLE, "--home", home, "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["equal"]
    assert {each["name"]: each["queries"] for each in facts["subscriptions"]}["limits"] == 8


def test_verify_ends_with_one_when_a_match_is_missing(ran: tuple[Path, Result]) -> None:
    home, _ = ran
    whole = Desk(home)
    first = whole.log.read(0)
    whole.close()
    assert first is not None
    section = next(each for each in first.sections if each.relation == "trades")
    path = Path(f"{section.path}-matches.parquet")
    kept = path.read_bytes()
    pairs = section.matches()
    try:
        pq.write_table(pairs.slice(1), path)
        result = penstock("verify", home)
    finally:
        path.write_bytes(kept)
    assert result.exit_code == 1, result.output
    assert "Different" in result.stdout
    assert "VER-004" in result.stdout
    assert path.name in result.stdout
    assert "Equal" not in result.stdout


def test_explain_tells_of_a_query_on_its_own(ran: tuple[Path, Result]) -> None:
    home, _ = ran
    query = "SELECT * FROM trades WHERE symbol = 'KO' AND price > 43"
    result = penstock("explain", query, "--home", home)
    assert result.exit_code == 0, result.output
    assert "grouped with 10 standing queries" in result.stdout
    slow = penstock("explain", "SELECT * FROM trades WHERE price * size > 9", "--home", home)
    assert "SLOW PATH" in slow.stdout


def test_explain_tells_of_every_subscription_of_a_script(spark: SparkSession) -> None:
    result = penstock("explain", EXAMPLE, "--json")
    assert result.exit_code == 0, result.output
    explained = json.loads(result.stdout)["explanations"]
    assert len(explained) == 5
    assert explained[0]["branches"][0]["partitioned_by"] == ["symbol"]


def test_the_demo_ends_by_itself_and_is_right(spark: SparkSession) -> None:
    result = penstock("demo", "--seconds", "5", "--queries", "2000", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["verification"]["equal"]
    assert facts["events"] > 0
    assert facts["matches"] > 0
    assert facts["version"] > 12  # queries came and went
    assert facts["stories"]


NOISE = ("Traceback", "WARNING", "ERROR", "Error", "java", "nanobind", "Python worker")


def test_ctrl_c_stops_cleanly(tmp_path: Path) -> None:
    """In a process of its own, since a signal is for a process; stderr holds our words alone."""
    with subprocess.Popen(
        [*COMMAND, "run", EXAMPLE, "--home", str(tmp_path / "home")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if "events/s" in line:
                process.send_signal(signal.SIGINT)
                break
        out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert "run again to go on" in out
    assert "Stopping after the batch in hand" in err
    assert not [word for word in NOISE if word in said + err], said + err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run", "nowhere.sql"), "CLI-001"),
        (("explain", "SELECT 1 FROM trades"), "CLI-005"),
        (("explain", "SELECT 1 FROM trades", "--home", "docs"), "CLI-003"),
        (("verify", "docs"), "CLI-003"),
        (("verify", EXAMPLE, "--home", "nowhere"), "CLI-003"),
        (("lab", "alchemy"), "LAB-001"),
    ],
    ids=str,
)
def test_an_error_is_one_message_and_exit_code_two(arguments: tuple[str, ...], code: str) -> None:
    result = penstock(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(code)
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_what_was_probably_meant_is_named(tmp_path: Path) -> None:
    """A home in the place of a query, a script without its suffix."""
    home = penstock("explain", tmp_path)
    assert home.stderr.startswith(f"CLI-005 {tmp_path} is a directory")
    assert "--home" in home.stderr
    (tmp_path / "alerts.sql").write_text("")
    script = penstock("run", tmp_path / "alerts")
    assert f"Did you mean '{tmp_path / 'alerts.sql'}'?" in script.stderr.replace("\n", " ")


def test_bad_sql_is_pointed_at(spark: SparkSession, tmp_path: Path) -> None:
    script = tmp_path / "bad.sql"
    script.write_text(
        "CREATE STREAM trades FROM 'market:trades';\n"
        "SUBSCRIBE a TO SELECT prise FROM trades WHERE price > 1;\n"
    )
    result = penstock("run", script, "--home", tmp_path / "home", "--quiet")
    assert result.exit_code == 2, result.output
    assert "prise" in result.stderr
    assert "'price'" in result.stderr


def test_a_home_that_was_not_recorded_says_so(spark: SparkSession, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert penstock("run", EXAMPLE, "--once", "--home", home, "--quiet").exit_code == 0
    result = penstock("verify", home)
    assert result.exit_code == 2
    assert result.stderr.startswith("VER-001")


def test_printing_what_does_not_stand_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    result = penstock("run", EXAMPLE, "--once", "--home", tmp_path / "home", "--print", "nobody")
    assert result.exit_code == 2
    assert "nobody" in result.stderr
