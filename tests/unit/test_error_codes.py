"""Errors that no other test meets: each with its code, where it is raised."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from penstock.algebra.catalog import Relation
from penstock.cli.demo import _refuse_used_home
from penstock.cli.main import app
from penstock.cli.scripts import read_script
from penstock.engine import Desk
from penstock.engine.declarations import declare_relation
from penstock.engine.home_verification import verify_home
from penstock.engine.scripts import execute
from penstock.engine.tuple_explanation import ask_shard
from penstock.kinds.filter import KIND as FILTERS
from penstock.kinds.protocol import AnswerComparison
from penstock.operators.shard import Shard
from penstock.planning.model import InputModel
from penstock.registry.records import Source
from penstock.registry.versions import read_draft
from penstock.spark.failures import explain_failure
from penstock.vocabulary.errors import PenstockError
from tests.support.desk_runs import DeskRun

TABLE = Relation(
    name="t",
    kind="table",
    schema=pa.schema([("x", pa.int64()), ("op", pa.string()), ("kind", pa.string())]),
    change_column="op",
)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    with DeskRun(tmp_path / "home", TABLE) as made:
        made.desk.subscribe("SELECT x FROM t WHERE x > 1", name="s")
        made.batch(t=[{"x": 2, "op": "insert"}])
        yield made


def code_of(failed: pytest.ExceptionInfo[PenstockError]) -> str:
    return failed.value.code


def test_a_script_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "app.sql").write_bytes(b"\xff\xfe\x00SELECT")
    with pytest.raises(PenstockError) as failed:
        read_script(tmp_path / "app.sql")
    assert code_of(failed) == "CLI-002"


def test_a_demo_in_a_used_home(run: DeskRun, tmp_path: Path) -> None:
    with pytest.raises(PenstockError) as failed:
        _refuse_used_home(run.desk, tmp_path / "home")
    assert code_of(failed) == "CLI-006"


def test_a_plot_without_what_draws_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    asked = ["lab", "zipf-coverage", "--size", "tiny", "--plot", str(tmp_path / "a.svg")]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 2 and result.stderr.startswith("LAB-002")
    assert not (tmp_path / "a.svg").exists()


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("SELECT x FROM t", "ENG-013"),
        ("SUBSCRIBE a TO SELECT x FROM t WHERE x = :n FOR EACH ROW OF clients", "ENG-014"),
    ],
)
def test_scripts_that_say_too_little(run: DeskRun, script: str, code: str) -> None:
    with pytest.raises(PenstockError) as failed:
        execute(run.desk, script)
    assert code_of(failed) == code


def test_a_group_that_is_not_in_force(run: DeskRun) -> None:
    with pytest.raises(PenstockError) as failed:
        ask_shard(Shard(run.desk.registry.reader), "none", lambda operator: operator)
    assert code_of(failed) == "ENG-018"


def test_a_table_declared_with_another_key(run: DeskRun, tmp_path: Path) -> None:
    other = replace(TABLE, change_column="kind")
    with pytest.raises(PenstockError) as failed:
        declare_relation(run.desk.registry, run.desk.home, other, Source())
    assert code_of(failed) == "ENG-049"


@pytest.mark.parametrize(
    ("rate", "rows", "minimum", "code"),
    [(0.0, 5, 0.0, "PLN-001"), (1.0, 0, 0.0, "PLN-002"), (1.0, 5, 1.5, "PLN-003")],
)
def test_models_of_inputs_that_cannot_be(rate: float, rows: int, minimum: float, code: str) -> None:
    with pytest.raises(PenstockError) as failed:
        InputModel(name="a", rate=rate, rows=rows, minimum=minimum)
    assert code_of(failed) == code


def test_a_damaged_version_of_the_registry(run: DeskRun, tmp_path: Path) -> None:
    manifest = max((tmp_path / "home").rglob("manifest.json"))
    manifest.write_text(manifest.read_text().replace("{", "{ ", 1).replace("1", "7"))
    with pytest.raises(PenstockError) as failed:
        read_draft(manifest.parent)
    assert code_of(failed) == "REG-022"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", "RUN-002"),
        ("java.lang.OutOfMemoryError: Java heap space", "RUN-003"),
        ("There are [2] sources in the checkpoint offsets and now there are [1]", "RUN-004"),
        ("[FAILED_READ_FILE.FILE_NOT_EXIST] Cannot read the file /data/a.parquet. It", "SRC-007"),
    ],
)
def test_failures_of_spark_by_their_words(text: str, code: str) -> None:
    assert explain_failure(RuntimeError(text)).code == code


def found_in(home: Path) -> set[str]:
    with closing(Desk(home)) as desk:
        outcome = verify_home(desk)
    found = {finding.code for finding in outcome.findings}
    return found | {failure.code for each in outcome.answers for failure in each.failures}


def test_files_and_manifests_that_do_not_fit(run: DeskRun, tmp_path: Path) -> None:
    run.desk.close()
    home = tmp_path / "home"
    file = next(path for path in home.rglob("*.parquet") if "-" in path.name)
    stray = file.with_name(file.name.replace("000000000000", "000000000000", 1) + ".parquet")
    stray.write_bytes(file.read_bytes())
    assert "VER-006" in found_in(home)
    stray.unlink()
    manifest = file.with_name("000000000000.json")
    manifest.rename(file.with_name("000000000001.json"))
    assert "VER-005" in found_in(home)


def test_one_verification_that_fails_is_told(
    run: DeskRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(asked: AnswerComparison) -> None:
        raise KeyError("x")

    run.desk.close()
    monkeypatch.setattr(FILTERS, "verify", fails)
    assert "VER-011" in found_in(tmp_path / "home")
