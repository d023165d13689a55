"""Columns may be called anything: what is ours inside is never in their way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from penstock.expressions.quotation import quoted
from penstock.language.lookup_clauses import lookup_of, lookup_relation
from penstock.operators.lookup import describe
from penstock.vocabulary.errors import PenstockError
from tests.support.desk_runs import DeskRun
from tests.support.names import KEYWORDS, NAMES

CHUNKS = [NAMES[start : start + 25] for start in range(0, len(NAMES), 25)]
FIELDS = [("k", pa.int64()), *((name, pa.int64()) for name in NAMES)]
STREAM = pa.schema([*FIELDS, ("ts", pa.timestamp("us", "UTC"))])
TABLE = pa.schema([*FIELDS, ("op", pa.string())])


def event(number: int, k: int) -> dict[str, Any]:
    return {"k": k, "ts": number * 1_000_000, **dict.fromkeys(NAMES, number)}


def change(number: int, k: int) -> dict[str, Any]:
    return {"k": k, "op": "insert", **dict.fromkeys(NAMES, number)}


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Iterator[DeskRun]:
    with duckdb.connect(str(tmp_path / "looked.duckdb")) as db:
        columns = ", ".join(f"{quoted(name)} BIGINT" for name in ("k", *NAMES))
        db.execute(f"CREATE TABLE looked ({columns})")
        for k in (1, 2):
            db.execute(f"INSERT INTO looked VALUES ({', '.join([str(k)] * (1 + len(NAMES)))})")
    lookup = lookup_of("looked", f"duckdb:{tmp_path / 'looked.duckdb'}", "k", 10)
    streams = (
        Relation(name=name, kind="stream", schema=STREAM, event_time="ts", lateness_us=0)
        for name in ("s", "z")
    )
    tables = (
        Relation(name=name, kind="table", schema=TABLE, change_column="op") for name in ("t", "w")
    )
    looked = lookup_relation("looked", describe(lookup), lookup)
    made = DeskRun(tmp_path / "home", *streams, *tables, looked)
    yield made
    made.desk.close()


def feed(run: DeskRun) -> None:
    for turn in range(0, 6, 2):
        run.batch(
            s=[event(turn, 1), event(turn + 1, 2)],
            z=[event(turn, 1), event(turn + 1, 2)],
            t=[change(turn, 1), change(turn + 1, 2)],
            w=[change(turn, 1)],
        )
    run.restart()
    run.batch(s=[event(10, 1)], z=[event(10, 1)], t=[change(10, 1)], w=[change(10, 2)])


def checked(run: DeskRun) -> None:
    verdicts = verify(run.desk.registry, run.desk.log)
    wrong = [verdict for verdict in verdicts if not verdict.equal or not verdict.found]
    assert not wrong, (wrong[0].subscription, wrong[0].failures, wrong[0].examples)


def changes(run: DeskRun, subscription: str) -> list[dict[str, Any]]:
    return [change.row for change in run.desk.subscription(subscription).changes(follow=False)]


def test_filters(run: DeskRun) -> None:
    for number, names in enumerate(CHUNKS):
        columns = [quoted(name) for name in names]
        indexed = " AND ".join(f"{column} > 2" for column in columns)
        asked = " AND ".join(f"s.{column} % 2 = 1" for column in columns)
        computed = ", ".join(f"{column} + 1 AS {column}" for column in columns)
        run.desk.subscribe(
            f"SELECT {', '.join(columns)} FROM s WHERE {indexed}", name=f"plain{number}"
        )
        run.desk.subscribe(f"SELECT {computed} FROM s WHERE {asked}", name=f"computed{number}")
    run.desk.subscribe("SELECT * FROM s", name="star")
    feed(run)
    # What the table holds already is told with whatever names, and so is what comes then.
    everything = ", ".join(f"t.{quoted(name)} + 0 AS {quoted(name)}" for name in NAMES)
    for name, outputs in (("told", "*"), ("told_computed", everything)):
        asked = "t.x % 2 = 1 AND " + " AND ".join(f"{quoted(each)} >= 3" for each in NAMES[:40])
        text = f"SELECT {outputs} FROM t WHERE {asked}"
        run.desk.subscribe(text, name=name, options={"snapshot": True})
    run.batch(t=[change(3, 2) | {"op": "delete"}, change(13, 2)])
    for name in ("told", "told_computed"):
        found = list(run.desk.subscription(name).changes(follow=False))
        told = sorted((each.row["_sign"], each.sign) for each in found)
        assert told == [(3, -1), (3, 1), (5, 1), (13, 1)], name
    for number, names in enumerate(CHUNKS):
        plain, computed_ = (changes(run, f"{kind}{number}") for kind in ("plain", "computed"))
        for name in names:
            assert [row[name] for row in plain] == [3, 4, 5, 10], name
            assert [row[name] for row in computed_] == [2, 4, 6], name
        assert run.desk.subscription(f"plain{number}").read().num_rows == 4
    read = run.desk.subscription("star").read()
    assert read["_id"].to_pylist() == ["star"] * 7 and len(set(read.column_names)) == 7 + len(NAMES)
    assert read["_id_1"].to_pylist() == read["_batch_1"].to_pylist() == read["x"].to_pylist()
    checked(run)


def test_parameters(run: DeskRun) -> None:
    words = [name for name in NAMES if name.isidentifier() and name.isascii()]
    words = [name for name in words if name not in KEYWORDS]
    indexed = " AND ".join(f"x >= :{name}" for name in words[:40])
    asked = " AND ".join(f"x % 2 + :{name} > 0" for name in words[40:])
    each = pa.table({"key": ["a", "b"], **{name: [3, 5] for name in words}})
    sub = run.desk.subscribe(
        f"SELECT x FROM s WHERE {indexed} AND {asked}", name="q", each=each, key="key"
    )
    feed(run)
    assert sorted(sub.read()["_id"].to_pylist()) == ["a", "a", "a", "a", "b", "b"]
    checked(run)


@pytest.mark.parametrize("key", ["_id", "query", "silent", "p_x", 'a"b', "ä b"])
def test_ids_in_columns_of_any_name(run: DeskRun, key: str) -> None:
    each = pa.table({key: ["a", "b"], "least": [3, 5]})
    sub = run.desk.subscribe("SELECT k FROM s WHERE x >= :least", name="q", each=each, key=key)
    feed(run)
    assert set(sub.read()["_id"].to_pylist()) == {"a", "b"}
    checked(run)


FROMS = {
    "select": "FROM t a JOIN w b ON a.k = b.k WHERE",
    "band": "FROM t a, w b WHERE abs(a.k - b.k) <= 3 AND",
    "window": "FROM s a JOIN z b ON a.k = b.k WITHIN 5 SECONDS WHERE",
    "multi": "FROM s a [ROWS 5], z b [RANGE 5 SECONDS], t c WHERE a.k = b.k AND b.k = c.k AND",
    "looked": "FROM s a JOIN looked b ON a.k = b.k WHERE",
}


@pytest.mark.parametrize("kind", FROMS)
def test_joins(run: DeskRun, kind: str) -> None:
    for number, names in enumerate(CHUNKS):
        outputs = ", ".join(f"a.{quoted(name)}" for name in names)
        total = " + ".join(f"a.{quoted(name)} - b.{quoted(name)}" for name in names)
        terms = " AND ".join(f"a.{quoted(name)} >= 1" for name in names)
        run.desk.subscribe(
            f"SELECT {outputs}, {total} AS total {FROMS[kind]} {terms} AND {total} < 100000",
            name=f"{kind}{number}",
        )
    if kind == "window":
        join = "FROM s a JOIN z b ON a.k = b.k WITHIN 5 SECONDS"
        run.desk.subscribe(f"SELECT a.*, b.x AS y2 {join} MEMORY 100 ROWS", name="bounded")
        shared = "MEMORY 100 ROWS SHARED BY s (_sign), z (_sign) [ROWS 9]"
        shares = f"FROM s JOIN z ON s._sign = z._sign {shared}"
        run.desk.subscribe(f"SELECT s.*, z.x AS y2 {shares}", name="shared")
    if kind == "select":
        star = "SELECT * FROM t a JOIN w b USING (k)"
        run.desk.subscribe(star, name="star")
        run.desk.subscribe(star, name="told", options={"snapshot": True})
    feed(run)
    for name in run.desk.registry.names():
        assert run.desk.subscription(name).read().num_rows, name
    checked(run)


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("a", "A"), "CAT-013"),
        (("a", "a"), "CAT-013"),
        (("Ä", "ä"), "CAT-013"),
        (("",), "CAT-014"),
        (("a\0b",), "CAT-014"),
        (("\x01row",), "CAT-014"),
    ],
)
def test_names_that_cannot_be_used_are_refused(names: tuple[str, ...], code: str) -> None:
    schema = pa.schema([(name, pa.int64()) for name in names])
    with pytest.raises(PenstockError, match=code):
        Relation(name="t", kind="stream", schema=schema)
