"""The experiments on partitions run at their smallest size, and what they draw is a picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.lab.experiments import EXPERIMENTS


@pytest.mark.parametrize(
    "name", ["zipf-coverage", "maintenance", "interval-histograms", "hotspots"]
)
def test_experiment_at_tiny_size(name: str, tmp_path: Path) -> None:
    report = EXPERIMENTS[name].run("tiny")
    assert report.experiment == name
    facts = json.loads(json.dumps(report.to_json()))
    assert facts["checks"] and not report.broken
    assert facts["figures"]
    report.plot(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").stat().st_size > 1000 or not report.figures
