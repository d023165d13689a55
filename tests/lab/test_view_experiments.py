"""Experiments with views in real stores, at their smallest size, and what they are made of."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.lab.maintenance.bounds import PUBLISHED, planned_bounds, published_bounds
from penstock.lab.maintenance.tpch import (
    PARTSUPP,
    SUPPLIER,
    cheapest_offer,
    generated,
    undone,
)
from penstock.lab.postgresql import missing
from penstock.views.maintenance.curves import CostCurve
from penstock.views.protocol import WEIGHT
from penstock.vocabulary.errors import PenstockError
from tests.lab.conftest import TinyRun


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cost-curves", "refresh-time", "fresh-view"])
def test_experiments_at_tiny_size(name: str, tiny: TinyRun) -> None:
    _, facts = tiny(name)
    told = str(facts["figures"])
    assert "duckdb" in told and ("postgresql" in told) == (missing() is None)


@pytest.mark.slow
@pytest.mark.skipif(missing() is not None, reason="PostgreSQL is not installed")
def test_one_index_is_followed_with_both_and_with_one(tiny: TinyRun) -> None:
    _, facts = tiny("one-index")
    told = str(facts["figures"])
    assert "both indexed" in told and "orders not indexed" in told


@pytest.mark.slow
@pytest.mark.spark
def test_changes_come_through_spark(tiny: TinyRun) -> None:
    _, facts = tiny("view-intake")
    assert [row["changes"] for row in facts["figures"]["Batches"]] == [1_002] * 3


def test_updates_are_deletes_and_inserts_that_can_be_taken_back() -> None:
    arrivals = np.full((31, 2), 2, np.int64)
    arrivals[0] = 0
    with generated("tiny") as offers:
        moments = offers.updates(np.random.default_rng(4), arrivals)
        again = offers.updates(np.random.default_rng(4), arrivals)
        assert all(
            one[number].equals(other[number])
            for one, other in zip(moments, again, strict=True)
            for number in (PARTSUPP, SUPPLIER)
        )
        state = offers.state()
        for changes in moments:
            for number, table in changes.items():
                assert sorted(table[WEIGHT].to_pylist()) == [-1, 1]
                value = table.column_names[-2]
                assert table[value][0] != table[value][1], "an update changes something"
                assert offers.tables[number].num_columns == table.num_columns - 1
            state.follow(changes)
        least = offers.state().least()
        for changes in reversed(moments):
            state.follow(undone([changes]))
        assert state.least() == least


def test_the_view_reads_what_it_must() -> None:
    definition = cheapest_offer("duckdb")
    assert [len(each.columns) for each in definition.inputs] == [2, 2, 2, 2]
    assert definition.schema.names == ["min_cost"]
    assert cheapest_offer("postgresql").conditions == definition.conditions


def test_without_the_generator_there_is_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("sysconfig.get_path", lambda _: "/nowhere")
    with pytest.raises(PenstockError, match="LAB-003"), generated("tiny"):
        pass


def test_bounds_are_told_by_how_long_naive_waits_under_them() -> None:
    curves = [CostCurve.linear(each=0.0001, fixed=0.05), CostCurve.linear(each=0.002, fixed=0.002)]
    plans = published_bounds(curves, 200)
    assert list(plans) == list(PUBLISHED)
    for moments, plan in plans.items():
        assert min(plan.naive.sets) == moments + 1, "at the bound it is not full yet"
        assert plan.floor <= plan.optimum.cost + 1e-9 <= plan.naive.cost
    assert plans[PUBLISHED[0]].gain >= 1.3
    swept = planned_bounds(curves, 200, 5)
    assert len(swept) == 5
    assert all(each.naive.is_valid and each.optimum.is_valid for each in swept)
