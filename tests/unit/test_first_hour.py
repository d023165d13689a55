"""What users meet first: frames of other libraries, Prometheus, logs, objects' own words."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.engine import Desk
from penstock.engine.budgets import Budgets
from penstock.engine.parameters import load_parameters
from penstock.engine.selections import selection_of_group
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.exposition import prometheus_text
from penstock.vocabulary.figure_tables import FigureRow
from penstock.vocabulary.figures import Figure
from tests.support.desks import desk_with_events


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = desk_with_events(tmp_path / "home")
    yield desk
    desk.close()


class Capsule:
    """A frame of a library that only speaks Arrow's C interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def test_parameters_come_from_whatever_hands_out_arrow(desk: Desk) -> None:
    table = pa.table({"id": ["a", "b"], "limit": [1.0, 2.0]})
    assert load_parameters(Capsule(table)).table.equals(table)
    with duckdb.connect() as db:
        relation = db.sql("SELECT 'a' AS id, 1.5::DOUBLE AS \"limit\" UNION ALL SELECT 'b', 2.5")
        made = desk.subscribe("SELECT x FROM t WHERE x > :limit", name="above", each=relation)
    assert made.receipt is not None
    assert made.receipt.accepted == 2


def test_prometheus_reads_the_figures() -> None:
    late = Figure("late_rows", 'Rows "too late".', "rows", labels=("cause",))
    held = Figure("rows", "Rows\nheld.", "rows", "gauge")
    planned = Figure("boxes", "For planners.", "rows", "gauge", labels=("box",), is_exposed=False)
    text = prometheus_text(
        [
            FigureRow(figure=late, group="g", labels={"cause": 'a"b\\c'}, value=2),
            FigureRow(figure=held, group="", labels={}, value=3),
            FigureRow(figure=late, group="h\n", labels={"cause": "d"}, value=4),
            FigureRow(figure=planned, group="g", labels={"box": "1:2"}, value=5),
        ]
    )
    found = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found == {
        ("penstock_late_rows_total", (("cause", 'a"b\\c'), ("group", "g"))): 2,
        ("penstock_late_rows_total", (("cause", "d"), ("group", "h\n"))): 4,
        ("penstock_rows", ()): 3,
    }


def test_notices_are_logged(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    made = desk.subscribe("SELECT x FROM t WHERE x > 1", name="above")
    with caplog.at_level(logging.WARNING, logger="penstock"):
        desk.watcher.tell(made.group, 7, "something was left out.")
    assert [record.name for record in caplog.records] == ["penstock.notices"]
    assert caplog.messages == ["Batch 7: Standing query above: something was left out."]


def test_what_is_no_sql_is_said_before_anything_is_made(tmp_path: Path) -> None:
    script = tmp_path / "bad.sql"
    script.write_text("CREATE STREAM trades FROM 'market:trades';\nSUBSCRIBE TO WHERE;\n")
    told = CliRunner().invoke(app, ["run", str(script), "--home", str(tmp_path / "home")])
    assert told.exit_code == 2
    assert told.stderr.startswith("SQL-")
    assert "Spark" not in told.output
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("where", ["NOT (x < 3 OR k IS )", "(x < 3 is)", "x < (y word)"])
def test_a_name_inside_a_condition_is_refused_with_a_code(desk: Desk, where: str) -> None:
    with pytest.raises(PenstockError, match="SQL-032"):
        desk.subscribe(f"SELECT n FROM t WHERE x > 5 AND {where}")


def test_objects_say_what_they_are(desk: Desk, tmp_path: Path) -> None:
    made = desk.subscribe("SELECT x FROM t WHERE x < 1 AND k = '<b>'", name="below")
    assert repr(desk) == f"Desk({str(tmp_path / 'home')!r}, 1 standing query of 1 subscription)"
    explained = desk.explain("below")
    assert str(explained) == explained.text() == made.explain()
    assert explained._repr_html_().startswith("<pre>SELECT x FROM t WHERE x &lt; 1")


def test_a_subscription_of_which_no_query_stands_harms_nobody(desk: Desk) -> None:
    text = "SELECT x FROM t WHERE x > :limit"
    made = desk.subscribe(text, name="above", each=[{"id": 1, "limit": 1.0}])
    kept = desk.subscribe("SELECT x FROM t WHERE k = 'IBM'", name="kept")
    made.drop([1])
    with pytest.raises(PenstockError, match=r"REG-027.*'above'"):
        desk.explain("above")
    with pytest.raises(PenstockError, match="DEL-002"):
        selection_of_group(desk.registry, made.group)
    assert desk.explain("kept").group == kept.group
    assert Budgets(desk.registry).groups == {}
    assert desk.explain(text, each=[{"id": 2, "limit": 1.0}]).is_new
    assert list(desk.kept.examine(desk.log, {})) == []
    assert made.add([{"id": 2, "limit": 3.0}]).accepted == 1
    assert desk.explain("above").group == made.group
