"""Experiments with sharing at their smallest size."""

from __future__ import annotations

import pytest

from tests.lab.conftest import TinyRun


@pytest.mark.parametrize("name", ["sharing-crossover", "sharing-risk", "adaptation"])
def test_experiments_at_tiny_size(name: str, tiny: TinyRun) -> None:
    report, facts = tiny(name)
    assert report.figures
    if name == "sharing-risk":
        winners = next(each for each in facts["checks"] if "Published winners" in each["name"])
        assert winners["value"] == 9
