"""The select-join experiments run at their smallest size: all strategies agree, all report."""

from __future__ import annotations

import pytest

from tests.lab.conftest import TinyRun

NAMES = ("select-join-scaling", "select-join-groups", "select-join-rates", "hotspot-coverage")


@pytest.mark.parametrize("name", NAMES)
def test_select_joins_at_tiny_size(name: str, tiny: TinyRun) -> None:
    _, facts = tiny(name)
    assert facts["checks"][0]["name"] == "answers that differ" and len(facts["checks"]) > 1
