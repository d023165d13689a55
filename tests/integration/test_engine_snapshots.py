"""WITH SNAPSHOT: an answer begins with what its tables hold, once, whatever happens on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine import Subscription
from penstock.engine.verification import verify
from penstock.language.parser import parse
from penstock.language.statements import Subscribe
from penstock.spark.embedded import restored
from penstock.spark.hosts import run_batch
from penstock.storage.state import StateLog
from penstock.vocabulary.errors import PenstockError
from tests.support.desk_runs import DeskRun

TABLE = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("x", pa.float64()), ("op", pa.string())])
STREAM = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
SNAPSHOT = {"snapshot": True}
TEXTS = {
    "filter": "SELECT n, x * 2 AS twice FROM u WHERE k = :k AND x >= 2",
    "all": "SELECT * EXCLUDE (op) FROM u WHERE k <= :k",
    "select join": "SELECT u.n AS a, v.n AS b FROM u JOIN v ON u.k = v.k WHERE u.x >= :k",
    "band join": "SELECT u.n AS a, v.n AS b FROM u JOIN v ON v.n - u.n BETWEEN -1 AND :k",
    "join with itself": "SELECT a.n AS a, b.n AS b FROM u a JOIN u b ON a.k = b.k WHERE a.x <= :k",
}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    tables = (Relation(name=n, kind="table", schema=TABLE, change_column="op") for n in "uv")
    stream = Relation(name="s", kind="stream", schema=STREAM, event_time="ts")
    other = Relation(name="r", kind="stream", schema=STREAM, event_time="ts")
    keyed = Relation(name="w", kind="table", schema=TABLE, change_column="op", key=("k",))
    made = DeskRun(tmp_path / "home", *tables, stream, other, keyed)
    yield made
    made.desk.close()


class Tables:
    """Draws changes of u and v that delete only what is there; knows what they hold."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.held: dict[str, list[dict[str, Any]]] = {"u": [], "v": []}

    def batch(self) -> dict[str, list[dict[str, Any]]]:
        found = {}
        for name, held in self.held.items():
            changes = []
            for _ in range(int(self.chance.integers(3, 9))):
                if held and self.chance.random() < 0.35:
                    changes.append(
                        {**held.pop(int(self.chance.integers(len(held)))), "op": "delete"}
                    )
                else:
                    k, n, x = (int(i) for i in self.chance.integers(0, 4, 3))
                    held.append({"k": k, "n": n, "x": None if x == 0 else float(x)})
                    changes.append({**held[-1], "op": "insert"})
            found[name] = changes
        return found

    def ask(self, text: str, k: int) -> Counter[tuple[Any, ...]]:
        """Ask DuckDB what the answer is now."""
        with duckdb.connect(":memory:") as db:
            for name, held in self.held.items():
                db.register(name, pa.Table.from_pylist([{**r, "op": ""} for r in held], TABLE))
            return Counter(db.execute(text.replace(":k", str(k))).fetchall())


def answer(sub: Subscription, id_: int) -> Counter[tuple[Any, ...]]:
    """Add up what one standing query was told."""
    found: Counter[tuple[Any, ...]] = Counter()
    for change in sub.changes(follow=False):
        if change.id == id_:
            found[tuple(change.row.values())] += change.sign
    return Counter({row: number for row, number in found.items() if number})


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_what_is_told_adds_up_to_what_duckdb_says_of_the_tables(
    run: DeskRun, kind: str, seed: int
) -> None:
    tables, text = Tables(seed), TEXTS[kind]
    ks = [1, 2, 3]
    sub = run.desk.subscribe(text, name="s", each=[{"id": 1, "k": ks[0]}], options=SNAPSHOT)
    run.batch(**tables.batch())
    run.batch(**tables.batch())
    sub.add([{"id": 2, "k": ks[1]}])  # to a group that stands
    run.batch(**tables.batch())
    run.restart()
    sub.add([{"id": 3, "k": ks[2]}])
    wanted = tables.ask(text, ks[2])
    run.batch()
    assert answer(sub, 3) == wanted, "a batch without rows tells what was there"
    for id_, k in enumerate(ks, 1):
        assert answer(sub, id_) == tables.ask(text, k)
    run.batch(**tables.batch())
    for id_, k in enumerate(ks, 1):
        assert answer(sub, id_) == tables.ask(text, k)
    for verdict in verify(run.desk.registry, run.desk.log):
        assert verdict.equal, verdict
        assert verdict.found


def test_a_shard_that_is_restored_tells_it_once(run: DeskRun) -> None:
    run.batch(u=[{"k": 1, "n": 7, "x": 3.0, "op": "insert"}])
    sub = run.desk.subscribe(TEXTS["filter"], name="s", each=[{"id": 1, "k": 1}], options=SNAPSHOT)
    for _ in range(5):
        run.batch()
        run.restart()
    assert [(c.batch, c.sign, *c.row.values()) for c in sub.changes(follow=False)] == [
        (1, 1, 7, 6.0)
    ]


def test_a_batch_that_is_run_again_tells_the_same(run: DeskRun, seed: int) -> None:
    """Spark hands over again what it did not commit: the state is that before the batch."""
    tables = Tables(seed)
    run.desk.subscribe(TEXTS["all"], name="old", each=[{"id": 1, "k": 2}], options=SNAPSHOT)
    run.batch(**tables.batch())
    run.batch(**tables.batch())
    run.desk.subscribe(TEXTS["select join"], name="new", each=[{"id": 1, "k": 1}], options=SNAPSHOT)
    batch = {
        name: pa.Table.from_pylist(rows, schema=TABLE) for name, rows in tables.batch().items()
    }
    run.batch(**batch)
    states = StateLog(run.desk.home.path / "state")
    again = run_batch(
        restored(run.desk.registry.reader, states, run.batches - 2), batch,
        run.desk.registry.version, record=True,
    )  # fmt: skip
    logged = run.desk.log.read(run.batches - 1)
    assert logged is not None
    told = {section.relation: section for section in again.sections}
    assert sum(section.relation in told for section in logged.sections) == len(told) >= 4
    for section in logged.sections:
        assert section.events().equals(told[section.relation].events)


def test_a_query_that_goes_before_its_first_batch_is_told_nothing(run: DeskRun) -> None:
    run.batch(u=[{"k": 1, "n": 7, "x": 3.0, "op": "insert"}])
    each = [{"id": 1, "k": 1}, {"id": 2, "k": 1}]
    sub = run.desk.subscribe(TEXTS["filter"], name="s", each=each, options=SNAPSHOT)
    sub.drop([1])
    run.batch()
    assert [c.id for c in sub.changes(follow=False)] == [2]


def test_a_table_with_a_key_shows_the_newest_row_of_each(run: DeskRun) -> None:
    def changes(*given: tuple[int, int, str]) -> list[dict[str, Any]]:
        return [{"k": k, "n": n, "x": 1.0, "op": op} for k, n, op in given]

    run.batch(w=changes((1, 10, "c"), (2, 20, "c"), (3, 30, "c")))
    run.batch(w=changes((1, 11, "u"), (2, 0, "d")))
    texts = {
        "filter": "SELECT k, n FROM w WHERE n >= 5",
        "join": "SELECT w.n AS a, o.n AS b FROM w JOIN w o ON w.k = o.k",
    }
    for name, text in texts.items():
        run.desk.subscribe(text, name=name, options=SNAPSHOT)
    run.batch(w=changes((3, 31, "u")))
    run.batch(w=changes((1, 12, "u")))
    told = {
        name: [
            (c.batch, c.sign, *c.row.values())
            for c in run.desk.subscription(name).changes(follow=False)
        ]
        for name in texts
    }
    assert sorted(told["filter"]) == [
        (2, -1, 3, 30), (2, 1, 1, 11), (2, 1, 3, 30), (2, 1, 3, 31), (3, -1, 1, 11), (3, 1, 1, 12),
    ]  # fmt: skip
    net: Counter[tuple[int, int]] = Counter()
    for _, sign, a, b in told["join"]:
        net[a, b] += sign
    assert +net == Counter({(12, 12): 1, (31, 31): 1})
    assert all(verdict.equal for verdict in verify(run.desk.registry, run.desk.log))
    assert run.desk.explain("filter").text()


def test_without_it_a_query_is_told_changes_from_now_on(run: DeskRun) -> None:
    run.batch(u=[{"k": 1, "n": 7, "x": 3.0, "op": "insert"}])
    plain = run.desk.subscribe(TEXTS["filter"], name="plain", each=[{"id": 1, "k": 1}])
    first = run.desk.subscribe(
        TEXTS["filter"], name="first", each=[{"id": 1, "k": 1}], options=SNAPSHOT
    )
    run.batch(u=[{"k": 1, "n": 8, "x": 3.0, "op": "insert"}])
    assert plain.group != first.group
    assert [c.row["n"] for c in plain.changes(follow=False)] == [8]
    assert [c.row["n"] for c in first.changes(follow=False)] == [7, 8]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("SELECT k FROM s WHERE k = 1", {}),
        ("SELECT s.k FROM s JOIN r ON s.k = r.k WITHIN 5 SECONDS", {}),
        ("SELECT s.k FROM s [ROWS 5], u WHERE s.k = u.k", {}),
        ("SELECT s.k FROM s JOIN r ON s.k = r.k MEMORY 10 ROWS", {}),
        ("SELECT u.n FROM u JOIN v ON u.k = v.k", {"mode": "identify"}),
    ],
)
def test_what_has_nothing_to_show_is_refused(
    run: DeskRun, text: str, options: dict[str, Any]
) -> None:
    with pytest.raises(PenstockError, match=r"\[SQL-073\] WITH SNAPSHOT has nothing to show"):
        run.desk.subscribe(text, name="q", options={**options, **SNAPSHOT})
    with pytest.raises(PenstockError, match=r"\[SQL-071\]"):
        run.desk.subscribe(TEXTS["all"], name="q", options={"snapshot": "yes"})


@pytest.mark.parametrize(
    "text",
    [
        "SUBSCRIBE q TO SELECT n FROM u WITH SNAPSHOT",
        "SUBSCRIBE q TO SELECT n FROM u WHERE k = 1 WITH SNAPSHOT",
        "SUBSCRIBE q TO SELECT u.n FROM u JOIN v ON u.k = v.k with snapshot",
        "SUBSCRIBE q TO SELECT n FROM u WHERE k = :k FOR EACH ROW OF 'a.csv' KEY id WITH SNAPSHOT",
        "SUBSCRIBE q TO SELECT n FROM u WHERE k = :k WITH SNAPSHOT FOR EACH ROW OF 'a.csv' KEY id",
        "SUBSCRIBE q TO SELECT n FROM u OPTIONS (snapshot = TRUE)",
    ],
)
def test_scripts_ask_for_it(text: str) -> None:
    (statement,) = parse(text)
    assert isinstance(statement, Subscribe)
    assert statement.options == SNAPSHOT
    assert "SNAPSHOT" not in statement.select.text.upper()


def test_it_is_said_once() -> None:
    with pytest.raises(PenstockError, match=r"\[SQL-006\] WITH SNAPSHOT is given twice"):
        parse("SUBSCRIBE q TO SELECT n FROM u WITH SNAPSHOT OPTIONS (snapshot = TRUE)")
