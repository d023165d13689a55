"""Homes of an older format go on after their migration, and the next batches are right."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.engine.verification import verify
from penstock.storage.state import OLDER
from tests.support.older_homes import grow, told, unpacked
from tests.support.tables import bag


@pytest.mark.parametrize("name", ["home-2-embedded", "home-2-cluster"])
def test_the_next_batches_of_a_migrated_home_are_right(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    home = unpacked(name, tmp_path)
    grow(tmp_path, 0)
    with ps.Engine(home, spark=spark, record=True) as engine:
        before = engine.desk.log.newest()
        engine.run_available()
        assert engine.desk.log.newest() > before
        found = {each.subscription: each for each in verify(engine.desk.registry, engine.desk.log)}
        for name_, rows in told(tmp_path).items():
            assert found[name_].equal or name_ == "rows", found[name_]
            assert found[name_].found > len(rows), "the new files bring more of every answer"


def test_what_was_not_recorded_goes_on_with_its_tables(spark: SparkSession, tmp_path: Path) -> None:
    home = unpacked("home-2-plain", tmp_path)
    grow(tmp_path, 0)
    with ps.Engine(home, spark=spark, host="embedded") as engine:
        engine.run_available()
        for name, rows in told(tmp_path).items():
            assert engine.subscription(name).read().num_rows > len(rows)


EXACT = ("filtered", "rows", "joined", "banded", "near", "chain", "table", "named", "begun")
"""What does not depend on how many shards there are, as the rows do that a budget keeps."""


def test_all_that_was_kept_in_format_3_goes_on_on_both_hosts(
    spark: SparkSession, tmp_path: Path
) -> None:
    """DuckDB agrees with the recorded one; that on a cluster, not recorded, says the same."""
    found = []
    for name in ("home-3-embedded", "home-3-cluster"):
        place = tmp_path / name
        home = unpacked(name, place)
        grow(place, 0)
        with ps.Engine(home, spark=spark) as engine:
            engine.run_available()
            if engine.desk.home.facts["record"]:
                assert all(each.equal for each in engine.verify().answers)
            found.append({each: bag(engine.subscription(each).read()) for each in EXACT})
            before = told(place)
            for each in engine.desk.registry.subscriptions:
                assert engine.subscription(each).read().num_rows > len(before[each]), each
    assert found[0] == found[1]


def test_a_cluster_home_that_never_ran_begins(spark: SparkSession, tmp_path: Path) -> None:
    home = unpacked("home-3-new", tmp_path)
    with ps.Engine(home, spark=spark, host="cluster", shards=2) as engine:
        assert not (home / OLDER).exists()
        engine.run_available()
        for name in told(tmp_path):
            assert engine.subscription(name).read().num_rows, name
