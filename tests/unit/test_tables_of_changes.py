"""What `read` gives: one table, with the same columns whether there is something in it or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.vocabulary.errors import PenstockError
from tests.support.desk_runs import DeskRun
from tests.support.tables import EVENTS, events

OFFERS = pa.schema([("id", pa.int64()), ("price", pa.decimal128(10, 2)), ("op", pa.string())])
TEXTS = {
    "filter": "SELECT n, x * 2 AS twice, k, ts FROM t WHERE x > 10",
    "table": "SELECT * FROM offers WHERE price > 1",
    "join": "SELECT a.n, b.x FROM t a JOIN t b ON a.k = b.k WITHIN 1 SECOND",
    "many": "SELECT a.n, o.price FROM t a [ROWS 5], offers o WHERE a.n = o.id",
    "aggregate": "SELECT MIN(price) AS low, COUNT(*) AS many FROM offers WHERE id > 0",
    "model": "SELECT k, starts, x FROM t MODEL x KEY k WHERE x > 0 ERROR WITHIN 1",
}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    """Give a home with a stream and a table, and no Spark."""
    stream = Relation(name="t", kind="stream", schema=EVENTS, event_time="ts", lateness_us=0)
    table = Relation(name="offers", kind="table", schema=OFFERS, change_column="op")
    with DeskRun(tmp_path / "home", stream, table) as opened:
        yield opened


@pytest.mark.parametrize("kind", TEXTS)
def test_no_changes_have_the_columns_of_changes(run: DeskRun, kind: str) -> None:
    """Columns of no type fit no other table: a reader who goes on by tokens had them."""
    options = {"snapshot": True} if kind == "table" else {}
    one = run.desk.subscribe(TEXTS[kind], name="one", options=options)
    before = one.read()
    rows = [{"id": n, "price": n + 1, "op": "insert"} for n in range(20)]
    for seed in range(2):
        run.batch(t=events(seed, 100, first=100 * seed), offers=[] if seed else rows)
    after = one.read()
    assert (before.num_rows, after.num_rows > 0) == (0, True)
    assert before.schema.equals(after.schema)
    (last,) = one.changes(since=one.before_last(1), follow=False)
    nothing = one.read(since=last.token)
    assert pa.concat_tables([after, nothing]).num_rows == after.num_rows
    assert run.desk.readers.read_group(one.group, last.token).num_rows == 0


def test_ids_without_changes_have_the_columns_too(run: DeskRun) -> None:
    rows = [{"id": 1, "x": 1.0}, {"id": 2, "x": 1e9}]
    both = run.desk.subscribe("SELECT n FROM t WHERE x > :x", name="both", each=rows)
    run.batch(t=events(1, 50))
    assert both.read(ids=[1]).num_rows > both.read(ids=[2]).num_rows == 0
    assert both.read(ids=[2]).schema.equals(both.read().schema)


def test_outputs_whose_type_was_altered_are_named(run: DeskRun) -> None:
    """No table holds both, and Arrow's own error said so without a way out."""
    one = run.desk.subscribe("SELECT n, x AS what FROM t WHERE x > 10", name="one")
    run.batch(t=events(1, 50))
    one.alter("SELECT n, k AS what FROM t WHERE x > 10")
    run.batch(t=events(2, 50))
    with pytest.raises(PenstockError, match=r"\[DEL-016\] 'what' was double, and is string"):
        one.read()
    assert one.read(since="1:0").schema.field("what").type == pa.string()
    values = {type(change.row["what"]) for change in one.changes(follow=False)}
    assert values >= {float, str}


@pytest.mark.parametrize("token", ["2:0", "1:3", "7:12"])
def test_a_token_ahead_of_the_log_is_refused(run: DeskRun, token: str) -> None:
    """It is of another home, and batches up to it would be passed over in silence."""
    one = run.desk.subscribe("SELECT n FROM t WHERE x > 10", name="one")
    run.batch(t=events(1, 50))
    for read in (one.read, one.changes):
        with pytest.raises(PenstockError, match=r"\[DEL-017\].* ends with batch 0\."):
            read(token)
    assert one.read(since="1:0").num_rows == 0
