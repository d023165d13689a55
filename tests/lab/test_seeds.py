"""All chance of an experiment comes from its seed: the same seed, the same data; another, other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.lab import draws
from penstock.lab.experiments import EXPERIMENTS
from penstock.lab.joins.pipeline_data import demand, queries, supply
from penstock.operators.join.routing.constants import VARIABLE as ROUTER
from penstock.planning.constants import VARIABLE as PLANNER

SPARK = {
    "filters",
    "joins-end-to-end",
    "window-joins-end-to-end",
    "bounded-joins-end-to-end",
}
"""They start Spark, and run in tests of their own; what they draw is drawn as by the others."""
PIECES = {"correctness", "fuzz"}
"""They hand the seed to processes that draw for themselves, and have tests of their own."""
EXACT = {"zipf-coverage", "h1-curves", "benefit-curves", "window-plans"}
"""They draw nothing: every figure is computed."""
UNTIMED = {
    "hotspots",
    "shedding-throughput",
    "join-cache-compare",
    "join-cache-sweep",
    "join-cache-lifetimes",
    "look-ahead",
    "histogram-policy",
    "memory-allocation",
    "temperature-cache",
    "cache-peers",
    "memory-curve",
    "policy-contest",
    "maintenance-plans",
    "unstable-streams",
}
"""No clock decides any of their figures."""
TIMED = set(EXPERIMENTS) - SPARK - PIECES - EXACT - UNTIMED
LAB = Path(draws.__file__).parent


def figures(name: str, seed: int) -> dict[str, Any]:
    report = EXPERIMENTS[name].run("tiny", seed)
    facts: dict[str, Any] = json.loads(json.dumps(report.to_json()))
    assert facts["seed"] == seed
    found: dict[str, Any] = facts["figures"]
    return found


@pytest.fixture(autouse=True)
def no_stored_constants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (ROUTER, PLANNER):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_the_sets_name_experiments_that_there_are() -> None:
    assert set(EXPERIMENTS) >= SPARK | EXACT | UNTIMED


@pytest.mark.parametrize("name", sorted(EXACT))
def test_what_is_computed_knows_no_seed(name: str) -> None:
    assert figures(name, 1) == figures(name, 2)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Watch which seeds are drawn from."""
    make = np.random.default_rng
    seen: list[tuple[int, ...]] = []

    def watched(seed: Any = None) -> np.random.Generator:
        if isinstance(seed, np.random.SeedSequence):
            seen.append(tuple(seed.spawn_key))
        return make(seed)

    monkeypatch.setattr(np.random, "default_rng", watched)
    return seen


@pytest.mark.parametrize("name", sorted(UNTIMED))
def test_figures_follow_the_seed(name: str, drawn: list[tuple[int, ...]]) -> None:
    """Another seed gives other figures because every draw is of it: a third run is not needed."""
    assert figures(name, 1) == figures(name, 1)
    assert drawn and set(drawn) == {(1,)}


@pytest.mark.parametrize("name", sorted(TIMED))
def test_all_draws_of_what_is_timed_come_from_the_seed(
    name: str, drawn: list[tuple[int, ...]]
) -> None:
    EXPERIMENTS[name].run("tiny", 7)
    assert drawn and set(drawn) == {(7,)}


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
