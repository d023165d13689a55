"""What is wrong with a script is told before Spark starts, where it shows without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.cli import explanation, run
from penstock.cli.screen import Screen
from penstock.engine import Desk, relations
from penstock.engine.early_checks import check_early
from penstock.vocabulary.errors import PenstockError

ROOT = Path(__file__).parents[2]
TRADES = "CREATE STREAM trades FROM 'market:trades' OPTIONS (event_time = 'ts', {})"
LINES = "CREATE STREAM lines (k BIGINT, note VARCHAR) FROM 'csv:{}'"
STORED = "CREATE STREAM stored FROM 'parquet:{}'"
TABLES = """
CREATE TABLE supply FROM 'marketplace:supply' OPTIONS (changes = 'op');
CREATE TABLE demand FROM 'marketplace:demand' OPTIONS (changes = 'op');
"""


@pytest.fixture(name="desk")
def _desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "in").mkdir()
    (tmp_path / "rows").mkdir()
    pq.write_table(pa.table({"k": [1], "Price": [2.5]}), tmp_path / "rows" / "a.parquet")
    desk = Desk(tmp_path / "home")
    yield desk
    assert not desk.registry.version, "nothing is declared or registered"
    desk.close()


WRONG = {
    "an option of CSV": (
        f"{LINES} OPTIONS (headr = TRUE)", "SRC-015", "Did you mean header?", "headr",
    ),
    "one of Kafka": (
        "CREATE STREAM k FROM 'kafka' OPTIONS (subscribe = 'orders', startingOffset = 'earliest')",
        "SRC-015", "Did you mean startingOffsets?", "startingOffset",
    ),
    "one of a made-up world": (TRADES.format("symbls = 5"), "SRC-010", "symbols", "symbls"),
    "a directory": (LINES + "; " + LINES.replace("lines", "more").replace("{}", "{}n"),
        "SRC-002", "Did you mean", ""),
    "columns that are not told": ("CREATE STREAM l FROM 'json:{}'", "SRC-004", "Declare", ""),
    "an event time": (
        TRADES.format("rows = 5").replace("'ts'", "'tz'"), "CAT-002", "Choose one of", "event_time",
    ),
    "an event time that is none": (
        TRADES.format("rows = 5").replace("'ts'", "'price'"),
        "CAT-017", "Choose one of: ts.", "event_time",
    ),
    "one in a list of columns": (
        f"{LINES} OPTIONS (event_time = 'note')", "CAT-017", "TIMESTAMPTZ", "event_time",
    ),
    "a rate": (TRADES.format("rate = -1"), "ENG-031", "Give a number", "rate"),
    "a column of a made-up world": (
        f"{TRADES.format('rows = 5')}; SUBSCRIBE s TO SELECT prise FROM trades",
        "SQL-020", "price", "prise",
    ),
    "a column of Parquet files": (
        f"{STORED}; SUBSCRIBE s TO SELECT prise FROM stored", "SQL-020", "Price", "prise",
    ),
    "a stream": (f"{LINES}; SUBSCRIBE s TO SELECT k FROM line", "CAT-001", "lines", "line"),
    "what a view reads": (
        f"{TABLES} CREATE VIEW v REFRESH WITHIN 1 SECOND AS SELECT product, count(*) AS n "
        "FROM supply GROUP BY product; SUBSCRIBE s TO SELECT m FROM v",
        "SQL-020", "n", "m FROM v",
    ),
    "messages of a join": (
        f"{TABLES} SUBSCRIBE s TO SELECT s.product FROM supply s JOIN demand d "
        "ON s.product = d.product WHERE s.quantity < :lo OR d.quantity > :hi AS MESSAGES",
        "SQL-068", "Write a constant", "",
    ),
    "a file of parameters": (
        f"{LINES}; SUBSCRIBE s TO SELECT k FROM lines WHERE k > :lo FOR EACH ROW OF 'no.csv'",
        "REG-009", "Check the path", "",
    ),
    "an explained query": (f"{LINES}; EXPLAIN SELECT j FROM lines", "SQL-020", "k", "j FROM"),
}  # fmt: skip


def written(script: str, directory: Path) -> str:
    """Name files in a script: Parquet ones where it says so, else none yet."""
    place = directory / ("rows" if "parquet:" in script else "in")
    return script.replace("{}", str(place))


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_told_with_its_place(desk: Desk, tmp_path: Path, what: str) -> None:
    script, code, remedy, pointed = WRONG[what]
    script = written(script, tmp_path)
    with pytest.raises(PenstockError) as refused:
        check_early(desk, script)
    error = refused.value
    assert error.code == code and remedy in error.remedy
    if pointed:
        assert error.place is not None
        line = error.place.text.splitlines()[error.place.line - 1]
        assert line[error.place.column - 1 :].startswith(pointed)


@pytest.mark.parametrize(
    "script",
    [
        f"{LINES}; SUBSCRIBE s TO SELECT _corrupt FROM lines WHERE _corrupt IS NOT NULL",
        f"{STORED} OPTIONS (mergeSchema = TRUE); SUBSCRIBE s TO SELECT later FROM stored",
        "CREATE STREAM o FROM 'orc:{}'; SUBSCRIBE s TO SELECT x FROM o",
        "CREATE STREAM k FROM 'kafka' OPTIONS (subscribe = 'a', \"kafka.sasl.mechanism\" = 'b')",
        "CREATE STREAM k FROM 'format.of.others' OPTIONS (event_tme = 'c')",
        "CREATE TABLE t LOOKUP FROM 'duckdb:{}/x.db' KEY k CACHE 5 ROWS; "
        f"{LINES}; SUBSCRIBE s TO SELECT l.k, t.y FROM lines l JOIN t ON l.k = t.k",
    ],
)
def test_what_only_spark_can_tell_is_left_to_it(desk: Desk, tmp_path: Path, script: str) -> None:
    script = written(script.replace("'orc:{}'", f"'orc:{tmp_path / 'rows'}'"), tmp_path)
    check_early(desk, script)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.sql")), ids=lambda p: p.name)
def test_the_examples_are_right(desk: Desk, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.chdir(ROOT)
    check_early(desk, path.read_text())


def test_commands_tell_it_before_they_start_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "app.sql"
    script.write_text(TRADES.format("symbls = 5"))
    for command in (run, explanation):
        monkeypatch.setattr(command, "start_spark", lambda *_: pytest.fail("Spark was started"))
    with pytest.raises(PenstockError, match=r"SRC-010.*symbls"):
        run.run_script(script, run.RunOptions(home=tmp_path / "own"), Screen())
    with pytest.raises(PenstockError, match=r"SRC-010.*symbls"):
        explanation.explain_target(str(script), None, Screen())


def test_python_is_told_it_before_spark_starts_too(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relations, "local_session", lambda: pytest.fail("Spark was started"))
    declare = relations.Relations(desk).declare
    columns = {"at": "BIGINT", "day": "DATE"}
    for column in columns:
        with pytest.raises(PenstockError, match=rf"CAT-017.*'{column}'.*or leave event_time out"):
            declare("stream", "s", f"csv:{tmp_path / 'in'}", column, columns=columns)
    with pytest.raises(PenstockError, match=r"CAT-017.*'Price'.*double"):
        declare("stream", "s", f"parquet:{tmp_path / 'rows'}", "price")
