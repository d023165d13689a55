"""Outputs as subscribers read them, against SELECT lists that DuckDB evaluates itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.algebra.logical import Output
from penstock.delivery import sheets
from penstock.delivery.changes import ChangeReader
from penstock.delivery.log import LoggedSection
from penstock.engine import subscription_blocks, verification
from penstock.engine.home_verification import verify_home
from penstock.engine.verification import verify
from penstock.kinds.outcomes import Place
from penstock.kinds.recorded import RecordedShelf
from penstock.language import outputs
from tests.support.desk_runs import DeskRun
from tests.support.falsified import relations, stock_rows, stream_rows, wish_rows

LISTS = {
    "star": "SELECT * FROM a WHERE x > 0",
    "exclude": 'SELECT * EXCLUDE (s, ts), upper(s) AS "Big s" FROM a AS it WHERE it.x > 0',
    "qualified": "SELECT a.x + A.K, a.* FROM a WHERE x > 0 -- a comment, with a comma",
    "text": "SELECT 'FROM here' || s AS \"select\", x::VARCHAR FROM a WHERE x > 0",
    "cases": "SELECT CASE WHEN x IS DISTINCT FROM k THEN 'a, b' END AS w FROM a WHERE x > 0",
    "lambda": "SELECT list_transform([k, 1], lambda v: v + k) AS l FROM a WHERE x > 0",
    "zone": "SELECT ts::VARCHAR AS t, hour(ts) AS h FROM a WHERE x > 0",
    "table": "SELECT op, price FROM stock WHERE price > 1",
    "both": "SELECT * FROM wish w JOIN stock st ON st.item = w.item",
    "using": "SELECT *, item || '!' AS i FROM stock JOIN wish USING (item)",
    "one side": "SELECT w.*, st.n FROM stock st JOIN wish w ON st.item = w.item WHERE st.n > 1",
    "self": "SELECT p.s AS p, q.s AS q, p.* FROM a p JOIN a q ON p.k = q.k WITHIN 3 SECONDS",
    "ways": "SELECT * FROM a [ROWS 4], b [RANGE 6 SECONDS] JOIN c [ROWS 5] USING (k) "
    "WHERE a.k = b.k",
    "commas": "SELECT c.*, b.x - a.x AS d FROM a [ROWS 4], b [ROWS 4], c [ROWS 5] "
    "WHERE a.k = b.k AND c.k = a.k",
    "budget": "SELECT *, k + 1 AS next FROM a JOIN b USING (k) WITHIN 9 SECONDS MEMORY 500 ROWS",
}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    made = DeskRun(tmp_path / "home", *relations())
    yield made
    made.desk.close()


def feed(run: DeskRun, batches: int = 2) -> None:
    for batch in range(batches):
        streams: dict[str, Any] = {n: stream_rows(batch, i) for i, n in enumerate("abc")}
        run.batch(**streams, stock=stock_rows(batch), wish=wish_rows(batch))


def test_every_form_of_list_is_evaluated_in_the_words_of_its_text(run: DeskRun) -> None:
    for name, text in LISTS.items():
        run.desk.subscribe(text, name=name)
    identify = {"mode": "identify"}
    run.desk.subscribe(LISTS["one side"], name="triggers", options=identify)
    run.desk.subscribe(LISTS["using"], name="merging triggers", options=identify)
    feed(run)
    for answer in verify(run.desk.registry, run.desk.log):
        assert answer.equal, answer
        assert answer.read, answer
        columns = run.desk.subscription(answer.subscription).read().num_columns
        assert answer.outputs == columns - len(("_id", "_query", "_sign", "_batch", "_version"))


@pytest.mark.parametrize("name", ["using", "one side"])
def test_an_output_that_was_resolved_wrongly_is_noticed(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The kind of mistake that the user's own words are evaluated for."""
    whole = outputs.outputs_of

    def exchanged(*given: Any) -> tuple[Output, ...]:
        found = whole(*given)
        names = [each.name for each in found]
        return tuple(
            Output(name=own, sql=each.sql) for own, each in zip(names, found[::-1], strict=True)
        )

    run.desk.subscribe(LISTS[name], name=name)
    feed(run)
    for binder in ("joins", "filters"):
        monkeypatch.setattr(f"penstock.language.{binder}.outputs_of", exchanged)
    (answer,) = verify(run.desk.registry, run.desk.log)
    assert not answer.missing and not answer.surplus
    assert answer.misread and answer.differs
    assert {example["kind"] for example in answer.examples} == {"not read", "read wrongly"}


def test_ids_and_signs_are_compared(run: DeskRun, monkeypatch: pytest.MonkeyPatch) -> None:
    run.desk.subscribe(LISTS["table"], name="signs")
    feed(run)
    with monkeypatch.context() as patch:
        patch.setattr(sheets, "_signs", lambda events, _: pa.nulls(events.num_rows, pa.int8()))
        (answer,) = verify(run.desk.registry, run.desk.log)
        assert answer.misread
    rank = "SELECT k FROM a WHERE x > :least"
    run.desk.subscribe(rank, name="ids", each=[{"id": n, "least": float(n)} for n in range(3)])
    feed(run)
    whole = ChangeReader.batch

    def mixed_up(self: ChangeReader, *given: Any) -> list[pa.Table]:
        return [
            table.set_column(0, "_id", pa.array(table["_id"].to_pylist()[::-1], table["_id"].type))
            for table in whole(self, *given)
        ]

    monkeypatch.setattr(ChangeReader, "batch", mixed_up)
    assert [v.misread > 0 for v in verify(run.desk.registry, run.desk.log)] == [False, True]


def test_chunks_change_nothing(run: DeskRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.engine.output_verification.CHANGES_PER_CHUNK", 1)
    run.desk.subscribe(LISTS["using"], name="s")
    feed(run, 3)
    (answer,) = verify(run.desk.registry, run.desk.log)
    assert answer.equal, answer
    assert answer.read == run.desk.subscription("s").read().num_rows


def test_answers_that_begin_with_a_snapshot_are_compared(run: DeskRun) -> None:
    feed(run, 1)
    for name in ("table", "both"):
        run.desk.subscribe(LISTS[name], name=name, options={"snapshot": True})
    for batch in (1, 2):
        run.batch(stock=stock_rows(batch), wish=wish_rows(batch))
    outcome = verify_home(run.desk)
    assert outcome.state == "equal", outcome
    assert all(answer.read for answer in outcome.answers)


def test_what_was_left_out_is_in_the_outcome(run: DeskRun) -> None:
    run.desk.subscribe("SELECT CAST(s AS INTEGER) AS n, k FROM a WHERE x > 0", name="numbers")
    run.desk.subscribe(LISTS["self"], name="self")
    feed(run)
    late = stream_rows(0, 0)
    run.batch(a=late)
    outcome = verify_home(run.desk)
    assert outcome.state == "equal", outcome
    (numbers, _) = outcome.answers
    assert outcome.losses["numbers"] == {"failed_outputs": numbers.read}
    assert outcome.losses["self"]["late_rows"] >= len(late)


def test_a_kind_that_nobody_can_verify_is_an_error_and_ends_nothing_else(
    run: DeskRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.desk.subscribe(LISTS["star"], name="known")
    run.desk.subscribe(LISTS["both"], name="unknown")
    feed(run)
    whole = subscription_blocks.bind_blocks

    class Novelty:
        def __init__(self) -> None:
            self.parameters: dict[str, Any] = {}

        def step(self) -> dict[str, Any]:
            return {"kind": "novelty"}

    def bound(catalog: Any, blocks: Any) -> Any:
        name = blocks[0].record.name
        return Novelty() if name == "unknown" else whole(catalog, blocks)

    monkeypatch.setattr(verification, "bind_blocks", bound)
    outcome = verify_home(run.desk)
    known, unknown = outcome.answers
    assert known.equal and known.found
    assert [failure.code for failure in unknown.failures] == ["ENG-050"]
    assert outcome.state == "unverified"


def test_loaded_files_stay_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.kinds.recorded.ROWS_SHELVED", 5)
    schema = pa.schema([("k", pa.int64())])
    places: list[list[Place]] = []
    for number in range(3):
        stem = tmp_path / str(number)
        pq.write_table(pa.table({"k": [number, number]}, schema=schema), f"{stem}-events.parquet")
        places.append([(number, 0, LoggedSection(number, 0, "t", {}, stem))])
    shelf = RecordedShelf()

    def asked(number: int) -> str:
        with shelf.opened() as db:
            name = shelf.events(places[number], schema)
            assert db.execute(f'SELECT ".k" FROM {name}').fetchall() == [(number,)] * 2
            db.execute("CREATE TABLE expected AS SELECT 1")
        return name

    first, second = asked(0), asked(1)
    assert (asked(0), asked(1), asked(0)) == (first, second, first), "what was loaded is taken"
    asked(2)
    with shelf.opened() as db:
        held = {name for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert first in held and second not in held and len(held) == 2
    shelf.renew()
    assert asked(1) not in held
    shelf.close()
