"""The experiments with plans run at their smallest size; what is exact is judged there too."""

from __future__ import annotations

import pytest

from penstock.lab.planner.shedding_throughput import study
from tests.lab.conftest import TinyRun

TABLES = {
    "window-plans": 3,
    "shedding-throughput": 4,
    "plan-search": 4,
    "maintenance-plans": 5,
    "unstable-streams": 1,
}


@pytest.mark.parametrize("name", TABLES)
def test_experiment_at_tiny_size(name: str, tiny: TinyRun) -> None:
    _, facts = tiny(name)
    assert len(facts["figures"]) == TABLES[name]


def test_the_cheapest_plan_is_beaten_more_often_the_less_there_is() -> None:
    found = {each.share: each for each in study(3, 60)}
    assert found[0.9].beaten < found[0.5].beaten < found[0.05].beaten
    assert found[0.9].quality > found[0.5].quality > found[0.05].quality > 0.4
