"""The experiments with band joins and window joins run, at their smallest size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.lab.experiments import EXPERIMENTS

TABLES = {"band-join-scaling": 1, "band-join-groups": 1, "window-joins": 2}


@pytest.mark.parametrize("name", TABLES)
def test_experiment_at_tiny_size(name: str, tmp_path: Path) -> None:
    report = EXPERIMENTS[name].run("tiny")
    assert report.experiment == name
    facts = json.loads(json.dumps(report.to_json()))
    assert facts["checks"] and not report.broken
    assert len(facts["figures"]) == TABLES[name]
    assert all(len(rows) == 2 for rows in facts["figures"].values())
    report.plot(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000
