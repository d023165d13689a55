"""A kind of queries that another package brings: found, bound, explained, run, read and verified.

It goes through everything from its own package alone; on Spark, see `tests/e2e/test_extensions.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine.losses import loss_words
from penstock.engine.verification import verify
from penstock.kinds import binder, table
from penstock.kinds.protocol import Kind
from penstock.operators import catalogue
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.extensions import brought, extensions
from tests.support.desk_runs import DeskRun
from tests.support.toys import install

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])
BATCHES = (["a", "b", "a"], ["b", None, "c"], ["c", "d", None])


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the toy, and let everybody look for packages anew."""
    for path in install(tmp_path / "site").split(":"):
        monkeypatch.syspath_prepend(path)
    extensions.cache_clear()
    kinds = table.KindTable()
    for module in (binder, table, sys.modules["penstock.engine.adaptation"]):
        monkeypatch.setattr(module, "KINDS", kinds)
    monkeypatch.setattr(catalogue.OPERATORS, "_loaded", dict(catalogue.OPERATORS._loaded))
    yield
    monkeypatch.undo()
    extensions.cache_clear()


def rows(values: Sequence[str | None]) -> pa.Table:
    return pa.table([pa.array(values), pa.array(range(len(values)))], schema=SCHEMA)


@pytest.mark.usefixtures("installed")
def test_a_kind_comes_from_its_own_package(tmp_path: Path) -> None:
    run = DeskRun(tmp_path / "home", Relation(name="s", kind="stream", schema=SCHEMA))
    text = "SELECT DISTINCT k AS word FROM s"
    assert "every value of k once" in run.desk.explain(text).text()
    words = run.desk.subscribe(text, name="words")
    assert words.group.startswith("distinct-")
    run.batch(s=rows(BATCHES[0]))
    later = run.desk.subscribe(text, name="later")
    for values in BATCHES[1:]:
        run.batch(s=rows(values))
    assert later.group == words.group
    assert sorted(map(str, words.read()["word"].to_pylist())) == ["None", "a", "b", "c", "d"]
    assert sorted(map(str, later.read()["word"].to_pylist())) == ["None", "b", "c", "d"]
    assert sorted(run.desk.readers.read_group(words.group)["_query"].to_pylist()).count(0) == 5
    declared = {figure.name: figure for figure in catalogue.OPERATORS["distinct"].figures}
    assert run.figures[words.group][declared["distinct_values"]] == 9
    for verdict in verify(run.desk.registry, run.desk.log):
        assert verdict.equal, verdict
        assert verdict.found == verdict.read > 0
    run.desk.close()


@pytest.mark.usefixtures("installed")
def test_what_has_no_room_is_counted_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = DeskRun(tmp_path / "home", Relation(name="s", kind="stream", schema=SCHEMA))
    run.desk.subscribe("SELECT DISTINCT k FROM s", name="words")
    operator = sys.modules["penstock_distinct.operator"]
    monkeypatch.setattr(operator, "VALUES_MAX", 3)
    for values in BATCHES:
        run.batch(s=rows(values))
        run.desk.left_out.take_figures(run.figures, 0)
    losses = run.desk.losses()
    assert losses["words"] == {"untold_values": 3}, "c twice, d once"
    (words,) = loss_words(losses)
    assert words.startswith("words: 3 times a value came that was not told")
    (verdict,) = verify(run.desk.registry, run.desk.log)
    assert verdict.equal and verdict.may_miss and verdict.missing == 2
    run.desk.close()


@pytest.mark.usefixtures("installed")
def test_its_verification_can_accuse_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = DeskRun(tmp_path / "home", Relation(name="s", kind="stream", schema=SCHEMA))
    run.desk.subscribe("SELECT DISTINCT k FROM s", name="words")
    operator = sys.modules["penstock_distinct.operator"]
    monkeypatch.setattr(operator.pc, "unique", lambda column: column.slice(0, 1).combine_chunks())
    run.batch(s=rows(BATCHES[0]))
    (verdict,) = verify(run.desk.registry, run.desk.log)
    assert verdict.missing == 1
    run.desk.close()


@pytest.mark.usefixtures("installed")
def test_the_others_claim_what_they_did(tmp_path: Path) -> None:
    catalog = {"s": Relation(name="s", kind="stream", schema=SCHEMA)}
    step = binder.bind("SELECT k FROM s WHERE n > 1", catalog).step()
    assert table.kind_of(step).name == "filter"
    assert next(iter(table.KINDS)) == "distinct"
    with pytest.raises(PenstockError, match="SQL-011"):
        binder.bind("SELECT k, count(*) FROM s GROUP BY k", catalog)


def test_without_the_package_its_words_and_its_groups_are_refused() -> None:
    catalog = {"s": Relation(name="s", kind="stream", schema=SCHEMA)}
    with pytest.raises(PenstockError, match="SQL-011"):
        binder.bind("SELECT DISTINCT k FROM s", catalog)
    with pytest.raises(PenstockError, match="ENG-054"):
        catalogue.OPERATORS["distinct"]
    assert "distinct" not in catalogue.OPERATORS
    assert catalogue.OPERATORS.get("distinct") is None


@pytest.mark.parametrize("value", ["no_such_package:KIND", "json:no_such_name", "json:dumps"])
def test_a_package_that_brings_something_else_is_named(value: str) -> None:
    point = EntryPoint(name="broken", value=value, group="penstock.kinds")
    with pytest.raises(PenstockError, match=f"ENG-051.*{value}"):
        brought(point, Kind)


@pytest.mark.usefixtures("installed")
def test_two_kinds_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "OWN", (*table.OWN, "filter"))
    with pytest.raises(PenstockError, match="ENG-055"):
        len(table.KindTable())
