"""The filter experiment runs, at its smallest size: every side agrees, every part reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.lab.experiments import EXPERIMENTS

pytestmark = pytest.mark.spark


def test_filters_at_tiny_size(tmp_path: Path) -> None:
    report = EXPERIMENTS["filters"].run("tiny")
    facts = json.loads(json.dumps(report.to_json()))
    assert facts["checks"] and not report.broken
    assert {"name", "value", "bound", "pass"} == set(facts["checks"][0])
    assert len(facts["figures"]) == 11
    sides = {row["side"] for row in facts["figures"]["kernel, one thread"]}
    assert sides == {"penstock", "ncls", "superintervals", "duckdb inequality join"}
    report.plot(tmp_path / "filters.svg")
    assert (tmp_path / "filters.svg").stat().st_size > 1000
