"""The end-to-end experiment with joins runs, at its smallest size: every side agrees."""

from __future__ import annotations

import json

import pytest

from penstock.lab.experiments import EXPERIMENTS
from penstock.lab.joins import peers_pathway

pytestmark = pytest.mark.spark


def test_joins_end_to_end_at_tiny_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers_pathway, "PYTHON", peers_pathway.PYTHON / "absent")
    facts = json.loads(json.dumps(EXPERIMENTS["joins-end-to-end"].run("tiny").to_json()))
    assert [check["name"] for check in facts["checks"]] == [
        "results that a side counts differently"
    ]
    assert facts["passed"]
    tables = list(facts["figures"].values())
    assert [row["side"] for row in tables[0]] == ["kernels", "embedded", "cluster"]
    assert tables[0][0]["affected_per_row"] > 0
    assert {row["side"] for row in tables[1]} == {"embedded", "duckdb"}
    assert {row["side"] for row in tables[2]} == {"embedded", "spark"}
    assert [row["side"] for row in tables[3]] == ["pathway: not installed: make peers"]
