"""The select-join experiments run at their smallest size: all strategies agree, all report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.lab.experiments import EXPERIMENTS

NAMES = ("select-join-scaling", "select-join-groups", "select-join-rates", "hotspot-coverage")


@pytest.mark.parametrize("name", NAMES)
def test_select_joins_at_tiny_size(name: str, tmp_path: Path) -> None:
    report = EXPERIMENTS[name].run("tiny")
    facts = json.loads(json.dumps(report.to_json()))
    assert facts["experiment"] == name
    assert facts["checks"][0]["name"] == "answers that differ" and len(facts["checks"]) > 1
    assert report.checks and not report.broken
    report.plot(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000
