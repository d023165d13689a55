"""A script that is run again on its home: what was edited in between is told, never passed over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine import Desk
from penstock.engine.scripts import execute
from tests.support.desk_runs import DeskRun

READINGS = Relation(
    name="readings",
    kind="stream",
    schema=pa.schema([("sensor", pa.string()), ("celsius", pa.float64())]),
)
TEXT = "SELECT celsius FROM readings WHERE sensor = :sensor AND celsius > :above"
ROWS = "id,sensor,above\nanna,s1,30\nbert,s2,31.5\n"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    run = DeskRun(tmp_path / "home", READINGS)
    yield run.desk
    run.desk.close()


def told(desk: Desk, path: Path) -> list[str]:
    """Run the script once more; give what it tells."""
    desk.notices.clear()
    execute(desk, f"SUBSCRIBE alerts TO {TEXT} FOR EACH ROW OF '{path}'")
    return [notice.text for notice in desk.notices]


def test_rows_that_were_edited_are_told_and_change_nothing(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "alerts.csv"
    path.write_text(ROWS)
    assert told(desk, path) == []
    assert told(desk, path) == [], "as it stands"
    version = desk.registry.version
    path.write_text(ROWS.replace("31.5", "32") + "carla,s3,\n")
    (text,) = told(desk, path)
    assert text.startswith(f"[REG-028] {path} has 2 rows that do not stand as queries of 'alerts'")
    assert "and 1 that stands is not in it" in text
    assert desk.registry.version == version
    desk.subscription("alerts").alter(each=[{"id": "bert", "sensor": "s2", "above": 32}])
    desk.subscription("alerts").add([{"id": "carla", "sensor": "s3", "above": None}])
    assert told(desk, path) == []


def test_a_file_that_is_gone_or_of_other_columns_is_told(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "alerts.parquet"
    table = pa.table({"id": [1, 2], "sensor": ["s1", "s2"], "above": [1.5, None]})
    pq.write_table(table, path)
    assert told(desk, path) == []
    pq.write_table(table.select(["id", "above"]), path)
    assert ["no column sensor any more" in text for text in told(desk, path)] == [True]
    path.unlink()
    (text,) = told(desk, path)
    assert "REG-028" in text
    assert "There is no file" in text
    assert len(desk.subscription("alerts")) == 2


def test_rows_without_ids_are_compared_by_their_values(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "ALERTS.CSV"
    path.write_text("sensor,above\ns1,30\ns1,30\n")
    assert told(desk, path) == []
    assert len(desk.subscription("alerts")) == 2
    assert told(desk, path) == []
    path.write_text("sensor,above\ns1,29\n")
    assert ["1 row that does not stand" in text for text in told(desk, path)] == [True]
