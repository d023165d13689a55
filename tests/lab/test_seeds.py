"""All chance of an experiment comes from its seed: the same seed, the same data; another, other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.lab import draws
from penstock.lab.experiments import EXPERIMENTS
from penstock.lab.joins.pipeline_data import demand, queries, supply
from tests.lab.conftest import EXACT, SPARK, UNJUDGED, UNTIMED

IN_PIECES = {"fuzz"}
"""Tests take it apart."""
LAB = Path(draws.__file__).parent


def test_every_experiment_is_run_by_a_test() -> None:
    """Nearly all by `tiny`, which watches what they draw."""
    assert set(EXPERIMENTS) >= SPARK | EXACT | UNTIMED | UNJUDGED
    told = " ".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert not [name for name in set(EXPERIMENTS) - IN_PIECES if f'"{name}"' not in told]


def test_the_data_of_spark_experiments_follow_the_seed() -> None:
    def data() -> list[Any]:
        tables = (queries(20).table(), demand(20), supply(0, 20, 20))
        return [table.to_pydict() for table in tables]

    with draws.seeded(1):
        one, again = data(), data()
    with draws.seeded(2):
        other = data()
    assert one == again
    assert all(a != b for a, b in zip(one, other, strict=True))


def test_nothing_in_the_lab_draws_past_the_seed() -> None:
    # Pieces of `correctness` are handed the seed, and name it.
    named = r"np\.random\.(?!Generator\b|default_rng\([(\[]seed, )"
    past = re.compile(rf"{named}|^import random|from random import", re.M)
    found = [
        path.name
        for path in LAB.rglob("*.py")
        if path.name != "draws.py" and past.search(path.read_text())
    ]
    assert not found


def test_the_command_takes_a_seed_and_tells_it() -> None:
    run = CliRunner().invoke(app, ["lab", "hotspots", "--size", "tiny", "--seed", "3", "--json"])
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["seed"] == 3
    default = CliRunner().invoke(app, ["lab", "hotspots", "--size", "tiny"])
    assert f"seed: {draws.DEFAULT_SEED}" in default.stdout
