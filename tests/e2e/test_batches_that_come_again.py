"""A batch that Spark runs again, since it died before its own commit: its results stay."""

from __future__ import annotations

from pathlib import Path

from penstock.engine.home_check import check_home
from penstock.spark.provenance import sums_file
from tests.e2e.conftest import Open
from tests.support.tables import Feeder, events


def test_results_that_readers_may_have_seen_are_not_written_anew(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    """A token counts within a batch: another order of its rows would lose one and double another.

    What shards keep is made again: pairs of both batches are found.
    """
    feeder = Feeder(tmp_path / "in")
    feeder.put(events(seed, 20))
    engine = open_engine()
    engine.stream("t", f"parquet:{feeder.directory}", event_time="ts")
    pairs = "SELECT a.n AS n, b.n AS m FROM t a JOIN t b ON a.k = b.k WITHIN 1 HOUR"
    engine.subscribe(pairs, name="pairs")
    engine.run_available()
    before = engine.subscription("pairs").read()
    engine.close()
    home = tmp_path / "home"
    parts = sorted((home / "results").rglob("*.parquet"))
    written = [(path, path.stat().st_ino, path.stat().st_mtime_ns) for path in parts]
    assert before.num_rows and parts
    commit = home / "checkpoint" / "commits" / "0"
    for file in (commit, sums_file(commit)):
        file.unlink(missing_ok=True)

    engine = open_engine()
    engine.run_available()
    assert written == [(path, path.stat().st_ino, path.stat().st_mtime_ns) for path in parts]
    assert engine.subscription("pairs").read().equals(before)
    assert engine.figures().losses == {}
    feeder.put(events(seed + 1, 20, first=20))
    engine.run_available()
    rows = feeder.rows.to_pylist()
    found = engine.subscription("pairs").read()
    across = sum(a["k"] == b["k"] for a in rows for b in rows)
    assert found.num_rows == across
    assert engine.verify().state == "equal"
    engine.close()
    assert check_home(home).flaws == []
