"""The routing experiments run, at their smallest size; constants are kept where they are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.lab.joins import calibrate
from penstock.lab.joins.calibrate import GRIDS, WHOLES
from penstock.lab.report import Report
from penstock.operators.join.routing import load_constants
from penstock.operators.join.routing.constants import VARIABLE
from tests.lab.conftest import TinyRun

NAMES = ("calibrate", "routing", "routing-join-rate", "routing-selection-rate")


@pytest.mark.parametrize("name", NAMES)
def test_experiments_at_tiny_size(name: str, tiny: TinyRun) -> None:
    tiny(name)


def test_calibration_stores_what_the_router_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "constants.json"
    monkeypatch.setenv(VARIABLE, str(path))
    monkeypatch.setitem(GRIDS, "small", GRIDS["tiny"])
    monkeypatch.setitem(WHOLES, "small", WHOLES["tiny"])
    report = Report.of("calibrate", "small", calibrate.run("small"))
    assert report.facts["stored in"] == str(path)
    constants = load_constants()
    assert "calibrate" in constants.source and constants.hot.call > 0
