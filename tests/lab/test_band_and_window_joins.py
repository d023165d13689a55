"""The experiments with band joins and window joins run, at their smallest size."""

from __future__ import annotations

import pytest

from tests.lab.conftest import TinyRun

TABLES = {"band-join-scaling": 1, "band-join-groups": 1, "window-joins": 2}


@pytest.mark.parametrize("name", TABLES)
def test_experiment_at_tiny_size(name: str, tiny: TinyRun) -> None:
    _, facts = tiny(name)
    assert len(facts["figures"]) == TABLES[name]
    assert all(len(rows) == 2 for rows in facts["figures"].values())
