"""The experiments with plans run at their smallest size; what is exact is judged there too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.lab.experiments import EXPERIMENTS
from penstock.lab.planner.shedding_throughput import study

TABLES = {
    "window-plans": 3,
    "shedding-throughput": 4,
    "plan-search": 4,
    "maintenance-plans": 5,
    "unstable-streams": 1,
}


@pytest.mark.parametrize("name", TABLES)
def test_experiment_at_tiny_size(name: str, tmp_path: Path) -> None:
    report = EXPERIMENTS[name].run("tiny")
    assert report.experiment == name
    facts = json.loads(json.dumps(report.to_json()))
    assert facts["checks"] and not report.broken
    assert len(facts["figures"]) == TABLES[name]
    assert all(facts["figures"].values())
    report.plot(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000


def test_the_cheapest_plan_is_beaten_more_often_the_less_there_is() -> None:
    found = {each.share: each for each in study(3, 60)}
    assert found[0.9].beaten < found[0.5].beaten < found[0.05].beaten
    assert found[0.9].quality > found[0.5].quality > found[0.05].quality > 0.4
