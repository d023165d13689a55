"""Policies that users wrote, on a real Spark, both hosts: one file, in joins and lookups."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.algebra.memories import OWN_POLICIES
from tests.e2e.conftest import Open
from tests.support.bounded_streams import Asking, Moving
from tests.support.own_policies import HOME
from tests.support.tables import bag

PAIRS = "SELECT r.n AS r, s.n AS s FROM r JOIN s ON r.k = s.k WITHIN 3 SECONDS MEMORY 12 ROWS"
PRICED = "SELECT a.n, p.price FROM asks a JOIN prices p ON a.k = p.id"

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def shipped(spark: SparkSession, tmp_path: Path) -> Iterator[None]:
    """Send the files to Spark's workers, which put them onto their Python path, as here."""
    archive = tmp_path / "policies.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.write(HOME / OWN_POLICIES, OWN_POLICIES)
        for file in HOME.rglob("*.py"):
            made.write(file, file.relative_to(HOME))
    before = list(sys.path)
    sys.modules.pop(OWN_POLICIES, None)
    spark.sparkContext.addPyFile(str(archive))
    yield
    sys.path[:] = before
    sys.modules.pop(OWN_POLICIES, None)


def judged(engine: ps.Engine) -> None:
    for verdict in engine.verify().answers:
        assert verdict.equal, verdict
        assert verdict.found > 20, f"too few to prove anything: {verdict}"


def test_joins_run_under_them(open_engine: Open, tmp_path: Path, seed: int) -> None:
    streams = Moving(tmp_path, seed)
    streams.put(3)
    engine = open_engine()
    engine.sql(streams.script("recent", f"{PAIRS} USING recent"))
    for name in ("swift", "frequent"):
        engine.subscribe(f"{PAIRS} USING {name}", name=name)
    engine.subscribe(f"{PAIRS} USING LRU", name="lru")
    engine.run_available()
    engine.close()
    streams.put(3)
    engine = open_engine()
    engine.run_available()
    judged(engine)
    told = engine.figures().memory
    for name in ("recent", "swift", "frequent"):
        assert told[name].policy == name.upper()
        assert 0 < sum(told[name].held.values()) <= 12
        assert 0.0 < (told[name].recall or 0.0) < 1.0
    one, other = (engine.subscription(name).read() for name in ("swift", "lru"))
    assert bag(one, "r", "s") == bag(other, "r", "s")
    shown = engine.explain("recent").text()
    assert "penstock_policies/recent.py, in Python: slow" in shown
    assert "penstock_policies/swift.py, compiled" in engine.explain("swift").text()


def test_lookups_run_under_them(open_engine: Open, tmp_path: Path, seed: int) -> None:
    asking = Asking(tmp_path, seed)
    asking.put(4)
    rates = []
    for policy in ("LRU", "recent"):
        engine = open_engine(f"home-{policy}")
        source = f"parquet:{asking.feeder.directory}"
        engine.stream("asks", source, event_time="ts", maxFilesPerTrigger=1)
        engine.lookup("prices", f"duckdb:{asking.file}", key="id", cache=8, using=policy)
        engine.subscribe(PRICED, name="priced")
        engine.run_available()
        judged(engine)
        rates.append(engine.figures().memory["priced"].hit_rate or 0.0)
        engine.close()
    assert rates[0] == rates[1] > 0.0
