"""State of shards that is missing, damaged or of another time: it is named, and nothing is run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from penstock.engine.home_check import check_home
from penstock.vocabulary.errors import PenstockError
from tests.e2e.conftest import Open
from tests.support.tables import Feeder, events

BATCHES = 3
ROWS = 20


@pytest.mark.parametrize("host", ["cluster"])
def test_a_store_that_is_not_that_of_the_newest_batch_is_refused(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    feeder, home = Feeder(tmp_path / "in"), tmp_path / "home"
    engine = open_engine()
    for batch in range(BATCHES):
        feeder.put(events(seed + batch, ROWS, first=ROWS * batch))
        if not batch:
            engine.stream("t", f"parquet:{feeder.directory}", event_time="ts")
            pairs = "SELECT a.n AS n, b.n AS m FROM t a JOIN t b ON a.k = b.k WITHIN 1 HOUR"
            engine.subscribe(pairs, name="pairs")
        engine.run_available()
    engine.close()
    assert check_home(home).flaws == []
    kept = tmp_path / "kept"
    shutil.copytree(home, kept)
    feeder.put(events(seed + BATCHES, ROWS, first=ROWS * BATCHES))
    newest, before = f"{BATCHES}.changelog", f"{BATCHES - 1}.changelog"
    stores = sorted(path.parent for path in (home / "checkpoint" / "state").rglob(newest))
    assert stores

    for store in stores:  # with Hadoop's sums, as whoever brings older files back
        for name in ("{}", ".{}.crc"):
            if (store / name.format(before)).exists():
                shutil.copy(store / name.format(before), store / name.format(newest))
    said = {flaw.finding.file for flaw in check_home(home).flaws if flaw.remedy}
    assert said == {store / newest for store in stores}
    _refused(open_engine)
    for store in stores:
        for path in (store / newest, store / f".{newest}.crc"):
            path.unlink(missing_ok=True)
    assert {flaw.finding.code for flaw in check_home(home).flaws} == {"RUN-016"}
    _refused(open_engine)

    shutil.rmtree(home)
    shutil.copytree(kept, home)
    engine = open_engine()
    engine.run_available()
    rows = feeder.rows.to_pylist()
    found = engine.subscription("pairs").read()
    assert found.num_rows == sum(a["k"] == b["k"] for a in rows for b in rows)
    assert check_home(kept).flaws == []


def _refused(open_engine: Open) -> None:
    engine = open_engine()
    with pytest.raises(PenstockError, match=r"\[RUN-016\]"):
        engine.run_available()
    engine.close()
