"""Golden texts of EXPLAIN: every kind, new, standing and asked what if; plans among them.

Costs are the built-in ones and the machine is one that the cases name, so that every machine gives
the same text. `PENSTOCK_UPDATE=1` rewrites the files; review reads the diff.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine.scripts import execute
from penstock.kinds.table import KINDS
from penstock.language.lookup_clauses import lookup_of, lookup_relation
from penstock.planning.constants import VARIABLE
from tests.support.desk_runs import DeskRun
from tests.support.golden import cases, hold

FOLDER = Path(__file__).parent / "explain"
TRADES = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("symbol", pa.string()), ("price", pa.float64())]
)
OFFERS = pa.schema(
    [("id", pa.int64()), ("product", pa.string()), ("price", pa.float64()), ("op", pa.string())]
)
JOBS = pa.schema([("ts", pa.timestamp("us", "UTC")), ("line", pa.int64()), ("machine", pa.int64())])


def _stream(name: str, schema: pa.Schema) -> Relation:
    return Relation(name=name, kind="stream", schema=schema, event_time="ts", lateness_us=0)


RELATIONS = (
    *(_stream(name, TRADES) for name in ("trades", "quotes")),
    *(_stream(name, JOBS) for name in ("alarms", "jobs", "readings")),
    *(
        Relation(name=name, kind="table", schema=OFFERS, change_column="op")
        for name in ("supply", "demand")
    ),
    lookup_relation(
        "companies", OFFERS, lookup_of("companies", "duckdb:none.duckdb", "product", 5000, "LRU")
    ),
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DeskRun]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    with DeskRun(tmp_path / "home", *RELATIONS) as made:
        yield made


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.sql")), ids=lambda path: path.stem)
def test_explain_says_what_it_said(path: Path, run: DeskRun) -> None:
    def show(script: str) -> list[str]:
        made = execute(run.desk, script).explanations
        # How groups are named is held by the golden nodes.
        texts = [re.sub(r"-[0-9a-f]{12}\b", "-…", each.text()) for each in made]
        return [line for text in texts for line in text.splitlines()]

    hold(path, show)


def test_every_kind_has_its_golden_text() -> None:
    shown = {path.stem for path in FOLDER.glob("*.sql")}
    assert shown >= {word for kind in KINDS.values() for word in kind.operators}
    assert all(cases(path.read_text()) for path in FOLDER.glob("*.sql"))
