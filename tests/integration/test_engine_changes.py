"""Changes of tables through a home: broken lines, what is taken back, what is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from penstock.vocabulary.broken import marked
from penstock.vocabulary.losses import UNKNOWN_CHANGES, UNKNOWN_DELETES
from tests.support.desk_runs import DeskRun

SCHEMA = marked(
    pa.schema([("id", pa.int64()), ("op", pa.string()), ("_corrupt", pa.string())]), "_corrupt"
)
TABLE = Relation(name="t", kind="table", schema=SCHEMA, change_column="op")


def row(id_: int | None, op: str | None, line: str | None = None) -> dict[str, Any]:
    return {"id": id_, "op": op, "_corrupt": line}


def told(run: DeskRun, name: str) -> list[Any]:
    changes = run.desk.subscription(name).changes(follow=False)
    return sorted((c.batch, c.sign, *c.row.values()) for c in changes)


def test_broken_lines_of_a_table_are_seen_by_who_asks(tmp_path: Path) -> None:
    run = DeskRun(tmp_path / "home", TABLE)
    run.desk.subscribe("SELECT id FROM t WHERE id > 0 OR id IS NULL", name="rows")
    run.desk.subscribe("SELECT _corrupt FROM t WHERE _corrupt IS NOT NULL", name="lines")
    run.batch(t=[row(None, None, "a line"), row(1, "delete"), row(2, "insert"), row(3, None)])
    run.batch(t=[row(1, "insert"), row(2, "delete"), row(None, None, "a line")])
    assert told(run, "rows") == [(0, 1, 2), (1, -1, 2)]
    assert told(run, "lines") == [(0, 1, "a line"), (1, 1, "a line")]
    for verdict in verify(run.desk.registry, run.desk.log):
        assert verdict.equal and not verdict.failures, verdict
        assert verdict.found == 2
    run.desk.close()


def test_what_waits_for_its_row_is_taken_back_when_the_row_comes(tmp_path: Path) -> None:
    run = DeskRun(tmp_path / "home", TABLE)
    run.batch(t=[row(1, "delete"), row(2, "delete"), row(3, "what")])
    assert run.figures["t"][UNKNOWN_DELETES] == 2
    assert run.figures["t"][UNKNOWN_CHANGES] == 1
    run.restart()
    run.batch(t=[row(1, "insert")])
    assert run.figures["t"][UNKNOWN_DELETES] == -1
    assert UNKNOWN_CHANGES not in run.figures["t"]
    run.desk.close()


def test_the_word_of_a_change_is_its_rows_own(tmp_path: Path) -> None:
    table = Relation(name="t", kind="table", schema=SCHEMA, change_column="op", key=("id",))
    run = DeskRun(tmp_path / "home", table)
    run.desk.subscribe("SELECT id, op FROM t WHERE id > 0", name="all")
    run.desk.subscribe("SELECT id FROM t WHERE op = 'd'", name="gone")
    run.batch(t=[row(1, "c"), row(2, "r")])
    run.batch(t=[row(1, "d"), row(2, "u")])
    assert told(run, "all") == [(0, 1, 1, "c"), (0, 1, 2, "r"), (1, -1, 1, "d")]
    assert told(run, "gone") == [(1, -1, 1)]
    for verdict in verify(run.desk.registry, run.desk.log):
        assert verdict.equal and not verdict.failures, verdict
    run.desk.close()
