"""The examples run as they stand: changes come, DuckDB agrees, a second run goes on."""

from __future__ import annotations

import json
import os
import runpy
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from penstock.cli.main import app

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "marketplace": ("copper", {"deals", "affected", "copper"}),
    "coast_guard": ("submarines", {"orders", "submarines"}),
    "offers": ("copper", {"lowest", "copper", "lows"}),
    "vessels": ("close", {"close", "lines"}),
}

pytestmark = pytest.mark.spark


def penstock(*arguments: str | Path) -> Result:
    """Run a command in this process, on the Spark that is there."""
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])
    finally:
        os.chdir(here)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs_and_is_right(example: str, spark: SparkSession, tmp_path: Path) -> None:
    script, home = f"examples/{example}.sql", tmp_path / "home"
    shown, names = EXAMPLES[example]
    signs: set[str] = set()
    for _ in range(2):  # the second run deletes and moves rows that the first one loaded
        ran = penstock("run", script, "--once", "--record", "--home", home, "--print", shown)
        assert ran.exit_code == 0, ran.output
        signs = {line[0] for line in ran.stdout.splitlines() if f" {shown} {shown} {{" in line}
        assert "+" in signs
    assert "-" in signs
    verified = penstock("verify", home, "--json")
    assert verified.exit_code == 0, verified.output
    facts = json.loads(verified.stdout)
    assert facts["equal"]
    assert {each["name"] for each in facts["subscriptions"]} == names


def test_the_factory_runs_and_is_right(spark: SparkSession, tmp_path: Path) -> None:
    script, home = "examples/factory.sql", tmp_path / "home"
    for _ in range(2):
        ran = penstock("run", script, "--once", "--record", "--home", home, "--print", "together")
        assert ran.exit_code == 0, ran.output
        assert "together together {" in ran.stdout
    verified = penstock("verify", home, "--json")
    assert verified.exit_code == 0, verified.output
    facts = json.loads(verified.stdout)
    assert facts["equal"]
    assert {each["name"] for each in facts["subscriptions"]} == {"together", "overheated"}


def test_the_factory_is_judged_before_it_starts(spark: SparkSession) -> None:
    result = penstock("explain", "examples/factory.sql", "--json")
    assert result.exit_code == 0, result.output
    plain, slow, fast = (each["plan"] for each in json.loads(result.stdout)["explanations"])
    assert plain["verdict"] == "ABUNDANT"
    assert plain["output_rate"] == pytest.approx(1000)
    assert plain["tree"]["left"]["left"]["origins"]["rate"] == "declared"
    assert slow["verdict"] == "INSUFFICIENT"
    assert slow["plan"] == "(a ⋈ j) ⋈ r"
    assert slow["shedding"]["output"] == pytest.approx(916.67, abs=0.01)
    assert fast["what_if"]
    assert fast["processors"] == 2


def test_averages_cross_and_are_right(spark: SparkSession, tmp_path: Path) -> None:
    script, home = "examples/macd.sql", tmp_path / "home"
    for _ in range(2):
        ran = penstock("run", script, "--once", "--record", "--home", home, "--print", "rising")
        assert ran.exit_code == 0, ran.output
        assert "rising rising {" in ran.stdout and "rows per segment" in ran.stdout
    verified = penstock("verify", home, "--json")
    assert verified.exit_code == 0, verified.output
    facts = json.loads(verified.stdout)
    assert facts["equal"]
    assert {each["name"] for each in facts["subscriptions"]} == {"rising", "dearest"}


def test_real_aircraft_come_near_each_other(spark: SparkSession, tmp_path: Path) -> None:
    script, home = "examples/airspace.sql", tmp_path / "home"
    ran = penstock("run", script, "--once", "--record", "--home", home, "--print", "near")
    assert ran.exit_code == 0, ran.output
    told = [line for line in ran.stdout.splitlines() if " near near {" in line]
    assert {line[0] for line in told} == {"+", "-"}
    assert any("expected" in line for line in told)
    verified = penstock("verify", home, "--json")
    assert verified.exit_code == 0, verified.output
    facts = json.loads(verified.stdout)
    assert facts["equal"] and facts["input_rows_counted"] == ["positions"]
    assert {each["name"] for each in facts["subscriptions"]} == {"near", "low"}


def test_the_fresh_view_runs_and_is_right(spark: SparkSession, tmp_path: Path) -> None:
    script, home = "examples/fresh_view.sql", tmp_path / "home"
    for _ in range(2):
        ran = penstock("run", script, "--once", "--record", "--home", home, "--print", "cheapest")
        assert ran.exit_code == 0, ran.output
    verified = penstock("verify", home, "--json")
    assert verified.exit_code == 0, verified.output
    facts = json.loads(verified.stdout)
    assert facts["equal"]
    assert {each["name"] for each in facts["subscriptions"]} == {"cheapest", "cheap", "spread"}
    read = penstock("query", home, "SELECT * FROM cheapest ORDER BY low", "--fresh", "--json")
    assert read.exit_code == 0, read.output
    lows = [row["low"] for row in json.loads(read.stdout)["rows"]]
    assert lows and lows == sorted(lows)
    explained = penstock("explain", script)
    assert explained.exit_code == 0 and "maintained by" in explained.output, explained.output


def test_pairs_keep_to_their_memory(spark: SparkSession, tmp_path: Path) -> None:
    script, home = "examples/pairs.sql", tmp_path / "home"
    ran = penstock("run", script, "--once", "--record", "--home", home, "--json")
    assert ran.exit_code == 0, ran.output
    groups = json.loads(ran.stdout)["groups"]
    told = {name: each["memory"] for each in groups for name in each["subscriptions"]}
    assert told["pairs"]["budget"] == 200
    assert sum(told["pairs"]["held"].values()) <= 200
    assert 0.1 < told["pairs"]["recall"] < 1.0
    verified = penstock("verify", home, "--json")
    assert verified.exit_code == 0, verified.output
    facts = {each["name"]: each for each in json.loads(verified.stdout)["subscriptions"]}
    assert facts["pairs"]["recall"] == pytest.approx(told["pairs"]["recall"], abs=0.03)
    # Two joins in one memory: it tells of both together, and each has its own truth.
    assert told["asks"]["held"] == told["printed"]["held"]
    assert set(told["asks"]["held"]) == {"prints", "quotes", "trades"}
    assert sum(told["asks"]["held"].values()) <= told["asks"]["budget"] == 100
    found, there = (
        sum(facts[name][of] for name in ("asks", "printed")) for of in ("found", "expected")
    )
    assert 0 < found < there
    for name in ("asks", "printed"):
        assert facts[name]["recall"] == pytest.approx(told[name]["recall"], abs=0.03)


def test_companies_are_looked_up(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "companies.py"))["main"](Path("companies.duckdb"))
    script, home = str(ROOT / "examples" / "companies.sql"), str(tmp_path / "home")
    arguments = ["run", script, "--once", "--record", "--home", home, "--print", "chips"]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 0, ran.output
    assert "chips chips {" in ran.stdout
    assert "of 100 rows" in ran.stdout
    verified = CliRunner().invoke(app, ["verify", home, "--json"])
    assert verified.exit_code == 0, verified.output
    facts = json.loads(verified.stdout)
    assert facts["equal"]
    assert not any(each["missing"] or each["waiting"] for each in facts["subscriptions"])


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_explained(example: str, spark: SparkSession) -> None:
    result = penstock("explain", f"examples/{example}.sql", "--json")
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["explanations"]) == len(EXAMPLES[example][1])


def test_parameters_are_those_that_the_script_makes() -> None:
    made = runpy.run_path(str(ROOT / "examples" / "parameters.py"))
    for name, maker, rows in (("merchants", "merchants", 400), ("orders", "orders", 200)):
        kept = pd.read_csv(ROOT / "examples" / f"{name}.csv")
        pd.testing.assert_frame_equal(made[maker](rows), kept)
