"""Plots: what a picture of a subscription shows is what was recorded and told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.lines import Line2D
from typer.testing import CliRunner, Result

from penstock.algebra.catalog import Relation
from penstock.cli.main import app
from penstock.cli.plotting import drawn
from penstock.engine.plots import plot
from penstock.kinds.pictures import Picture
from penstock.vocabulary.errors import PenstockError
from tests.support.desk_runs import DeskRun

TICKS = Relation(
    name="ticks", kind="stream", event_time="ts", lateness_us=0,
    schema=pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("x", pa.float64()),
                      ("v", pa.float64())]),
)  # fmt: skip
SECOND = 1_000_000
MODEL = "MODEL x = x + v * t KEY k"
TEXTS = {
    "above": f"SELECT k, starts, ends, x, status FROM ticks {MODEL} WHERE x > :limit "
    "ERROR WITHIN 1 HORIZON 20 SECONDS",
    "apart": "SELECT a.k, b.k AS other, starts, ends, status "
    f"FROM ticks a {MODEL} JOIN ticks b {MODEL} ON a.k <> b.k AND a.x - b.x > 12 "
    "ERROR WITHIN 1 HORIZON 20 SECONDS",
    "mean": "SELECT k, at, avg(x) AS mean FROM ticks [SIZE 4 SECONDS ADVANCE 1 SECOND] "
    f"{MODEL} GROUP BY k HAVING avg(x) > 3 ERROR WITHIN 1",
    "top": f"SELECT starts, ends, max(x) AS top FROM ticks {MODEL} ERROR WITHIN 1",
    "rows": "SELECT k FROM ticks WHERE x > 5",
}
EACH = [{"id": "ten", "limit": 10.0}, {"id": "fifteen", "limit": 15.0}]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    """A home in which x rises by one per second to 12, then falls; y rests at 0."""
    with DeskRun(tmp_path / "home", TICKS) as made:
        for name, text in TEXTS.items():
            made.desk.subscribe(text, name, EACH if ":limit" in text else None)
        for second in range(20):
            x, v = (float(second), 1.0) if second <= 12 else (24.0 - second, -1.0)
            made.batch(ticks=[{"ts": second * SECOND, "k": "x", "x": x, "v": v},
                              {"ts": second * SECOND, "k": "y", "x": 0.0, "v": 0.0}])  # fmt: skip
        yield made


def seconds(times: object) -> list[float]:
    return (np.asarray(times).astype(np.int64) / SECOND).tolist()


def shown(run: DeskRun, name: str, *key: str, id_: str | None = None) -> Picture:
    return plot(run.desk, name, key, id_, None)


def test_the_time_before_the_newest_row_fills_the_picture(run: DeskRun) -> None:
    """A segment that began earlier is drawn, and makes no room for what was not asked."""
    picture = plot(run.desk, "above", ("x",), "ten", 4 * SECOND)
    assert picture.since == np.datetime64(15, "s"), picture.since
    begin, _ = drawn(picture).axes[0].get_xlim()
    assert abs(begin - 15 / 86_400) < 1e-9
    assert plot(run.desk, "above", ("x",), "ten", None).since is None


def test_keys_are_named_as_the_query_names_them(run: DeskRun) -> None:
    picture = shown(run, "apart")
    assert picture.title.startswith("apart: k ") and ", other " in picture.title
    labels = drawn(picture).axes[0].get_legend_handles_labels()
    expected = next(each for each, text in zip(*labels, strict=True) if "expected" in text)
    assert isinstance(expected, Line2D)
    assert expected.get_marker() == "None", "expectations are lines here, and told as such"


def test_a_key_is_shown_with_its_segments_and_what_became_of_expectations(run: DeskRun) -> None:
    picture = shown(run, "above", "x", id_="ten")
    (panel,) = picture.panels
    (strand,) = panel.strands
    assert (picture.title, panel.name, panel.limits) == ("above: k x", "x", [10.0])
    assert len(strand.at) == 20 and strand.value.max() == 12
    # One line up, broken by the turn: what it said of the time behind that is withdrawn.
    assert [seconds(own.at) for own in strand.segments] == [[0, 13], [13, 19]]
    assert [seconds(own.at) for own in strand.withdrawn] == [[13, 20]]
    assert [seconds(own.at) for own in strand.ahead] == [[19, 33]]
    assert strand.segments[0].value.tolist() == [0, 13]
    assert {float(each) for own in strand.segments for each in own.allowed} == {1.0}
    (ten,) = panel.crossings
    assert (seconds([ten.at]), ten.value, ten.state) == ([10], 10.0, "confirmed")
    (held,) = picture.held
    assert seconds(held) == [10, 14]
    # At fifteen an answer was expected for the fifteenth second, and never came.
    (fifteen,) = shown(run, "above", "x", id_="fifteen").panels[0].crossings
    assert (seconds([fifteen.at]), fifteen.value, fifteen.state) == ([15], 15.0, "withdrawn")
    assert not shown(run, "above", "x", id_="fifteen").held


def test_the_end_alone_may_be_shown(run: DeskRun) -> None:
    picture = plot(run.desk, "above", ("x",), "ten", 4 * SECOND)
    assert len(picture.panels[0].strands[0].at) == 5
    assert len(picture.panels[0].strands[0].segments) == 1


def test_rows_before_1970_are_drawn(tmp_path: Path) -> None:
    with DeskRun(tmp_path / "home", TICKS) as run:
        run.desk.subscribe(TEXTS["above"], "above", EACH)
        for second in range(9):
            run.batch(
                ticks=[{"ts": (second - 100) * SECOND, "k": "x", "x": 9.0 + second, "v": 1.0}]
            )
        (panel,) = shown(run, "above", "x", id_="ten").panels
        assert len(panel.strands[0].at) == 9
        assert [seconds(own.at) for own in panel.strands[0].segments] == [[-100, -92]]
        assert [(seconds([own.at]), own.state) for own in panel.crossings] == [([-99], "confirmed")]
        assert [seconds(own) for own in shown(run, "above", "x", id_="ten").held] == [[-99, -92]]


def test_what_a_query_puts_together_is_shown_together(run: DeskRun) -> None:
    apart = shown(run, "apart", "x", "y")
    assert [own.name for own in apart.panels[0].strands] == ["k x", "k y"]
    assert seconds(apart.held[0]) == [12, 13]
    assert {own.value for own in apart.panels[0].crossings} == {None}
    assert [own.name for own in shown(run, "top").panels[0].strands] == ["k x", "k y"]
    assert shown(run, "mean", "x").held
    # Without a key, that is shown which was told most about; of a key that was never told, rows.
    assert shown(run, "apart").title == "apart: k x, other y"
    assert len(shown(run, "above", "y", id_="ten").panels[0].strands[0].at) == 20


def penstock(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_pictures_are_drawn_from_a_home(run: DeskRun, tmp_path: Path) -> None:
    out = tmp_path / "above.svg"
    result = penstock("plot", run.desk.home.path, "above", "--id", "ten", "--key", "x", "--out",
                      out, "--json")  # fmt: skip
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert (facts["rows"], facts["segments"], facts["answers"]) == (20, 2, 1)
    assert facts["expectations"] == {"confirmed": 1, "withdrawn": 0, "expected": 0}
    assert "</svg>" in out.read_text()
    axes = drawn(shown(run, "apart", "x", "y")).axes
    legend = axes[0].get_legend()
    assert legend is not None
    texts = [each.get_text() for each in legend.get_texts()]
    assert "20 rows: k x" in texts and any("it came" in each for each in texts)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["rows"], "PLT-001"),
        (["above", "--key", "z"], "PLT-003"),
        (["above", "--key", "x,y"], "PLT-003"),
        (["above", "--id", "none"], "PLT-003"),
        (["above", "--out", "above.txt"], "PLT-004"),
        (["above", "--out", "no/such/above.svg"], "PLT-004"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said(arguments: list[str], code: str, run: DeskRun) -> None:
    result = penstock("plot", run.desk.home.path, *arguments)
    assert (result.exit_code, code in result.output) == (2, True), result.output


def test_a_home_without_records_cannot_be_drawn(tmp_path: Path) -> None:
    with DeskRun(tmp_path / "home", TICKS, record=False) as run:
        run.desk.subscribe(TEXTS["top"], "top")
        with pytest.raises(PenstockError, match="PLT-002"):
            plot(run.desk, "top", (), None, None)
