"""Homes of an older format go on after their migration, and the next batches are right."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.engine.verification import verify
from tests.support.older_homes import grow, told, unpacked


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
