"""What is called in the wrong order or given in the wrong form is refused, and harms nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine import Desk, Engine
from penstock.engine.declarations import declare_relation
from penstock.language.parser import parse
from penstock.registry.records import Source
from penstock.spark.sources import open_source
from penstock.vocabulary.errors import PenstockError

STREAM = Relation(name="t", kind="stream", schema=pa.schema([("n", pa.int64())]))
TEXT = "SELECT n FROM t WHERE n > :low"
ROWS = [{"id": "anna", "low": 1}, {"id": "bert", "low": 2}]


@pytest.fixture
def closed(tmp_path: Path) -> Engine:
    """Give an engine that was closed, and whose home another one has opened since."""
    engine = Engine(tmp_path / "home")
    declare_relation(engine.desk.registry, engine.desk.home, STREAM, Source(name="rate"))
    engine.subscribe(TEXT, name="low", each=ROWS)
    engine.close()
    return engine


CHANGES: dict[str, Callable[[Engine], Any]] = {
    "start": lambda engine: engine.start(),
    "subscribe": lambda engine: engine.subscribe(TEXT, each=ROWS),
    "add": lambda engine: engine.subscription("low").add([{"id": "carla", "low": 3}]),
    "drop": lambda engine: engine.subscription("low").drop(["anna"]),
    "sink": lambda engine: engine.subscription("low").to("found", name="found"),
    "undeclare": lambda engine: engine.undeclare("t"),
    "keep": lambda engine: engine.keep("7 days"),
    "sql": lambda engine: engine.sql("DROP SUBSCRIPTION low"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_closed_engine_changes_nothing(closed: Engine, change: str) -> None:
    with Engine(closed.desk.home.path) as other:
        version = other.desk.registry.version
        with pytest.raises(PenstockError, match=r"\[ENG-069\]"):
            CHANGES[change](closed)
        assert Desk(other.desk.home.path, read_only=True).registry.version == version
    assert len(closed.subscription("low")) == 2
    assert closed.subscription("low").read().num_rows == 0


def test_an_engine_may_be_closed_again(closed: Engine) -> None:
    with Engine(closed.desk.home.path):
        files = sorted(closed.desk.home.path.rglob("*"))
        closed.stop()
        closed.close()
        assert closed.wait(0)
        assert sorted(closed.desk.home.path.rglob("*")) == files


@pytest.mark.parametrize(
    "source", [pd.DataFrame({"n": [1]}), pa.table({"n": [1]}), Path("/data"), 5], ids=str
)
def test_what_is_no_stream_is_named(tmp_path: Path, source: Any) -> None:
    with (
        Engine(tmp_path / "home") as engine,
        pytest.raises(PenstockError, match=rf"\[SRC-013\].* is a {type(source).__name__}\."),
    ):
        engine.stream("t", source)


@pytest.mark.parametrize(
    "source", ["/data/trades", "./in", "~/in", "s3://bucket/in", "hdfs://host/in"]
)
def test_a_bare_path_is_told_what_it_lacks(source: str) -> None:
    with pytest.raises(PenstockError, match=r"\[SRC-001\].*'csv:/data/trades'"):
        open_source(None, source)  # type: ignore[arg-type]  # it is refused before Spark is asked


@pytest.mark.parametrize("odd", [{"spark": "local"}, {"host": "local"}, {"shards": 0}], ids=str)
def test_what_no_engine_can_run_on_makes_no_home(tmp_path: Path, odd: dict[str, Any]) -> None:
    with pytest.raises(PenstockError, match=r"\[ENG-070\]"):
        Engine(tmp_path / "home", **odd)
    assert not (tmp_path / "home").exists()


def test_a_file_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("text")
    with pytest.raises(PenstockError, match=r"\[ENG-003\].* is a file"):
        Engine(tmp_path / "home")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Give an engine with a stream."""
    with Engine(tmp_path / "home") as opened:
        declare_relation(opened.desk.registry, opened.desk.home, STREAM, Source(name="rate"))
        yield opened


def test_what_is_no_query_no_sink_no_token_and_no_name(engine: Engine) -> None:
    low = engine.subscribe(TEXT, name="low", each=ROWS)
    with pytest.raises(PenstockError, match=r"\[SQL-002\].* a int\."):
        engine.subscribe(5)  # type: ignore[arg-type]
    with pytest.raises(PenstockError, match=r"\[DEL-014\]"):
        low.to(5)  # type: ignore[arg-type]
    with pytest.raises(PenstockError, match=r"\[SQL-002\].* a NoneType\."):
        engine.explain(None)  # type: ignore[arg-type]
    with pytest.raises(PenstockError, match=r"\[SQL-007\].* a str\."):
        engine.subscribe(TEXT, each=ROWS, options="snapshot")  # type: ignore[arg-type]
    with pytest.raises(PenstockError, match=r"\[ENG-017\].* a int\."):
        low.explain_tuple("t", 5)  # type: ignore[arg-type]
    with pytest.raises(PenstockError, match=r"\[REG-001\]"):
        engine.subscription(None)  # type: ignore[arg-type]
    with pytest.raises(PenstockError, match=r"\[DEL-001\]"):
        list(low.changes(since=5, follow=False))  # type: ignore[arg-type]
    with pytest.raises(PenstockError, match=r"\[VER-001\]"):
        engine.verify()
    with pytest.raises(PenstockError, match=r"\[REG-001\].*Did you mean 'low'\?"):
        engine.explain("lo")
    with pytest.raises(PenstockError, match=r"\[REG-001\].*Did you mean 'low'\?"):
        engine.sql("EXPLAIN SUBSCRIPTION lo")


@pytest.mark.parametrize("key", [None, "id"])
def test_ids_are_found_without_regard_to_case(
    engine: Engine, tmp_path: Path, key: str | None
) -> None:
    path = tmp_path / "alerts.csv"
    path.write_text("ID,Low\n007,1\n008,2\n")
    low = engine.subscribe(TEXT, name="low", each=path, key=key)
    receipt = low.add([{"Id": "009", "low": 3}, {"Id": "008", "low": 3}])
    assert receipt.accepted == 1
    assert receipt.refused["code"].to_pylist() == ["REG-003"]
    low.drop(["007"])
    blocks = engine.desk.registry.blocks["low"]
    assert {name for b in blocks for name in b.table["id"].to_pylist()} == {"007", "008", "009"}


def test_rows_with_other_separators_are_told(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "alerts.csv"
    path.write_text("id;low\n1;1\n")
    with pytest.raises(PenstockError, match=r"\[REG-010\].*separated by commas.*'id;low'"):
        engine.subscribe(TEXT, each=path)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("ALTER SUBSCRIPTION a AS SELECT 1", "DROP SUBSCRIPTION"),
        ("UNSUBSCRIBE a", "DROP SUBSCRIPTION name"),
        ("SHOW TABLES", "penstock list"),
        ("SUBSCRIBE my-alert TO SELECT n FROM t", "is quoted"),
        ("SUBSCRIBE select TO SELECT n FROM t", "is quoted"),
        ("CREATE STREAM t FROM csv:in", "in quotes: 'csv:"),
    ],
)
def test_words_of_others_are_answered_with_ours(text: str, remedy: str) -> None:
    with pytest.raises(PenstockError) as refused:
        parse(text)
    assert remedy in refused.value.remedy


@pytest.mark.parametrize("name", [5, "", "  ", b"low", "a\0b"])
def test_names_are_texts_that_can_be_seen(engine: Engine, name: Any) -> None:
    """A number stood as a name, and from then on no name that was misspelt could be told."""
    with pytest.raises(PenstockError, match=r"\[REG-029\]"):
        engine.subscribe("SELECT n FROM t", name=name)
    with pytest.raises(PenstockError, match=r"\[CAT-014\]"):
        engine.stream(name, "market:trades")
    assert engine.subscriptions() == []


def test_no_rows_are_added(engine: Engine) -> None:
    low = engine.subscribe(TEXT, name="low", each=ROWS)
    assert low.receipt is not None
    receipt = low.add([])
    assert (receipt.accepted, receipt.refused.num_rows) == (0, 0)
    assert (receipt.version, len(low)) == (low.receipt.version, 2)
