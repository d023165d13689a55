"""Laws of the operator of views: its truth is a store, which takes every turn once."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.catalog import Relation
from penstock.algebra.physical import PLAN_PORT
from penstock.expressions.allowances import EvaluationError
from penstock.language.queries import read_query
from penstock.language.views import bind_view
from penstock.operators.protocol import GroupFailureError, Share
from penstock.operators.shard import Shard
from penstock.operators.shared import codec
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.residuals import without_nan
from penstock.operators.view import ViewOperator, figures
from penstock.views import rehearsals
from penstock.views.errors import StoreGoneError
from penstock.views.maintenance.curves import CostCurve
from penstock.views.maintenance.decisions import FlushPlan
from penstock.vocabulary.batches import QueryChanges, VersionChanges
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.shared_figures import ROWS_WAITING
from tests.support.view_lives import TICKS, Changes, operator, view

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module", autouse=True)
def short_rehearsals() -> Iterator[None]:
    """Rehearse little: what a rehearsal measures is of no matter here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rehearsals, "SIZES", (1, 4))
        patch.setattr(rehearsals, "REPEATS", 1)
        yield


def lazily(made: ViewOperator) -> None:
    """Let flushes seem so dear that inputs wait for each other."""
    curves = (CostCurve.linear(each=0.02, fixed=0.01), CostCurve.linear(each=0.001, fixed=0.2))
    plan = FlushPlan(number=9, curves=curves)
    entry = pa.table({"query": pa.array([9], pa.int64()), "plan": [json.dumps(plan.to_json())]})
    made.apply(QueryChanges(adds={PLAN_PORT: entry}))


def told(results: list[Any], into: Counter[tuple[Any, ...]]) -> None:
    """Add up the changes of a view."""
    for each in results:
        assert each.query.tolist() == [7] * each.rows.num_rows
        for row in each.rows.to_pylist():
            *values, sign = row.values()
            into[tuple(values)] += sign


@given(seed=seeds, turns=st.integers(1, 8), lazy=st.booleans())
@settings(deadline=None, max_examples=12)
def test_what_is_told_adds_up_to_the_view(seed: int, turns: int, lazy: bool) -> None:
    changes, found = Changes(seed), Counter[tuple[Any, ...]]()
    with tempfile.TemporaryDirectory() as home:
        made = operator(view(), Path(home))
        if lazy:
            lazily(made)
        for _ in range(turns):
            told(made.process(changes.batch()), found)
            assert sorted(found.elements(), key=repr) == stands(made), "as told"
            assert rows_of(made.rows()) == stands(made)
            resolved = made.resolved
            assert resolved is None or set(resolved["change"].to_pylist()) <= {"insert", "delete"}
        made.refresh()
        assert stands(made) == changes.expected()
        assert rows_of(made.rows()) == sorted(found.elements(), key=repr), "as told, not as read"
        told(made.process({}), found)
        assert sorted(found.elements(), key=repr) == changes.expected(), "a refresh is told later"
        made.close()


def stands(made: ViewOperator) -> list[tuple[Any, ...]]:
    return rows_of(made.store.rows())


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in without_nan(table).to_pylist()), key=repr)


@given(seed=seeds, cut=st.integers(1, 4))
@settings(deadline=None, max_examples=8)
def test_a_turn_that_is_run_again_gives_the_same(seed: int, cut: int) -> None:
    changes = Changes(seed)
    batches = [changes.batch() for _ in range(5)]
    with tempfile.TemporaryDirectory() as home:
        made = operator(view(), Path(home))
        lazily(made)
        before, last, known = None, list[Any](), list[Any]()
        for batch in batches[:cut]:
            before, known = made.snapshot(), rows_of(made.rows())
            last = made.process(batch)
        # Killed behind the store's commit: the batch comes again, to the state before it.
        made.close()
        again = operator(view(), Path(home), before)
        lazily(again)
        one, other = Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
        told(last, one)
        begun = rows_of(again.rows())
        told(again.process(batches[cut - 1]), other)
        assert one == other
        assert begun == known, "who begins in that batch is told of the turn like all others"
        for batch in batches[cut:]:
            again.process(batch)
        again.refresh()
        assert stands(again) == changes.expected()
        again.close()


def test_the_row_of_a_view_without_keys_is_told_once(tmp_path: Path) -> None:
    made = operator(view("SELECT count(*) AS n FROM trades"), tmp_path)
    assert made.rows().num_rows == 0, "the first turn tells of it"
    found = Counter[tuple[Any, ...]]()
    told(made.process({}), found)
    assert rows_of(made.rows()) == [*found] == [(0,)]
    made.close()


def test_nan_in_a_stream_is_null(tmp_path: Path) -> None:
    asked = "SELECT count(price) AS n, sum(price) AS total, max(price) AS high FROM ticks"
    made = operator(view(asked), tmp_path)
    prices = [1.0, float("nan"), None, 2.0]
    made.process({"ticks": pa.table([["a"] * 4, prices], schema=TICKS)})
    made.refresh()
    assert stands(made) == [(2, 3.0, 2.0)]
    made.close()


def test_nan_that_a_view_computes_is_null_to_its_readers(tmp_path: Path) -> None:
    made = operator(view("SELECT symbol, sum(price) AS total FROM ticks GROUP BY symbol"), tmp_path)
    prices = [float("inf"), float("-inf"), 2.0]
    (told,) = made.process({"ticks": pa.table([["a", "a", "b"], prices], schema=TICKS)})
    assert told.rows is not None and made.resolved is not None
    assert sorted(map(str, told.rows["total"].to_pylist())) == ["2.0", "nan"], "its own is NaN"
    came = dict(zip(*(made.resolved[own].to_pylist() for own in ("symbol", "total")), strict=True))
    assert came == {"a": None, "b": 2.0} == dict(stands(made))
    made.close()


def test_a_copy_follows_by_deltas(tmp_path: Path) -> None:
    changes = Changes(3)
    made, copy = operator(view(), tmp_path), operator(view(), tmp_path)
    for turn in range(1, 4):
        made.process(changes.batch(most=20))
        delta = made.delta()
        assert delta is not None
        assert codec.from_bytes(delta)[1]["turn"] == turn
        copy.catch_up(delta)
    assert copy.snapshot() == made.snapshot()
    assert made.delta() is None, "nothing happened since"


def test_a_store_of_another_time_is_refused(tmp_path: Path) -> None:
    changes = Changes(5)
    made = operator(view(), tmp_path)
    for _ in range(3):
        made.process(changes.batch(most=20))
    made.close()
    late = operator(view(), tmp_path)
    with pytest.raises(EvaluationError, match="VIEW-004"):
        late.process(changes.batch(most=20))


def test_a_view_begins_with_what_its_tables_hold(tmp_path: Path) -> None:
    changes = Changes(8)
    rows = changes.batch(most=30)
    made = operator(view(), tmp_path)
    inserted = {
        name: table.filter(pa.compute.equal(table["op"], "insert")).drop_columns(["op"])
        for name, table in rows.items()
    }
    changes.standing = {
        name: [tuple(row.values()) for row in table.to_pylist()] for name, table in inserted.items()
    }
    made.begin(inserted)
    made.process({})
    assert stands(made) == changes.expected() != []


def test_figures_are_those_that_are_declared(tmp_path: Path) -> None:
    changes = Changes(2)
    made = operator(view(), tmp_path)
    made.process(changes.batch(most=20))
    told_now = made.counts()
    assert told_now[figures.TURNS] == 1 and told_now.total(figures.FLUSHES) == 2
    assert told_now.total(figures.REHEARSAL) > 0, "the first turn is followed by a rehearsal"
    assert all(figure in figures.FIGURES for figure, _, _ in (*told_now, *made.sizes()))


def test_changes_wait_for_a_store_that_is_gone(tmp_path: Path) -> None:
    changes = Changes(4)
    made = operator(view(), tmp_path)
    made.process(changes.batch(most=20))
    made.close()
    files = tmp_path / "views"
    shutil.move(files, tmp_path / "away")
    files.write_text("in the way")
    assert made.process(changes.batch(most=20)) == []
    waiting = made.snapshot()
    files.unlink()
    shutil.move(tmp_path / "away", files)
    back = operator(view(), tmp_path, waiting)
    back.process({})
    back.refresh()
    assert stands(back) == changes.expected()


def test_who_would_begin_with_a_store_that_is_gone_fails_alone(tmp_path: Path) -> None:
    schema = pa.schema([("region", pa.string()), ("n", pa.int64()), ("change", pa.string())])
    known = Relation(name="v", kind="table", schema=schema, change_column="change")
    asked = read_query("SELECT count(*) AS many FROM v", {"v": known}, None,
                       {"view": "w", "refresh": "1 second"})  # fmt: skip
    steps = {"one": view().step(), "two": bind_view(asked).step()}
    queries = {
        group: QueryChanges(adds={PORT: pa.table({"query": pa.array([number], pa.int64())})})
        for number, group in enumerate(steps)
    }
    versions = [
        VersionChanges(version=at, steps={own: steps[own].to_json()}, changes={own: queries[own]})
        for at, own in enumerate(steps, start=1)
    ]
    shard = Shard(lambda after, upto: versions[after:upto], share=Share(home=str(tmp_path)))
    changes, files = Changes(4), tmp_path / "views"
    shard.advance(1)
    shard.process(changes.batch(most=20))
    shard.close()
    shutil.move(files, tmp_path / "away")
    files.write_text("in the way")
    shard.advance(2)
    with pytest.raises(GroupFailureError, match="RESUME") as failure:
        shard.process(changes.batch(most=20))
    assert failure.value.group == "two"
    shard.rest({"two"})
    assert shard.process(changes.batch(most=20)) == []
    files.unlink()
    shutil.move(tmp_path / "away", files)
    shard.rest(set())
    found = next(own for group, own in shard.process({}) if group == "two")
    assert found.rows is not None and found.rows["many"].to_pylist()[-1] > 0
    shard.close()


def test_not_more_than_so_many_changes_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = operator(view(), tmp_path)
    (tmp_path / "views").write_text("in the way")
    monkeypatch.setattr("penstock.operators.view.operator.WAITING_MAX", 3)
    with pytest.raises(PenstockError, match="VIEW-060"):
        made.process(Changes(4).batch(most=20))


@pytest.mark.parametrize("turns", [1, 3])
def test_a_view_that_was_suspended_begins_anew(tmp_path: Path, turns: int) -> None:
    sql = "SELECT region, sum(CAST(region AS INTEGER)) AS n FROM orders GROUP BY region"
    good = pa.table({"id": [1], "region": ["5"], "op": ["insert"]})
    bad = pa.table({"id": [2], "region": ["soup"], "op": ["insert"]})
    made = operator(view(sql), tmp_path)
    for _ in range(turns):
        made.process({"orders": good})
    with pytest.raises(EvaluationError, match="VIEW-005"):
        made.process({"orders": bad})
    again = operator(view(sql), tmp_path)
    again.begin({"orders": pa.table({"id": [3], "region": ["7"]})})
    again.process({})
    assert stands(again) == [("7", 7)]


@pytest.mark.parametrize("is_taken", [True, False])
def test_a_turn_without_an_answer_is_sent_again_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_taken: bool
) -> None:
    """The server may have committed, and died before it said so."""
    changes, found = Changes(6), Counter[tuple[Any, ...]]()
    made = operator(view(), tmp_path)
    told(made.process(changes.batch(most=20)), found)
    store = made.store
    take = store.turn

    def mute(*given: Any) -> Any:
        if is_taken:
            take(*given)
        raise StoreGoneError("VIEW-007", "It is gone.", "Wait.")

    monkeypatch.setattr(store, "turn", mute)
    assert made.process(changes.batch(most=20)) == []
    back = operator(view(), tmp_path, made.snapshot())
    told(back.process(changes.batch(most=20)), found)
    assert sorted(found.elements(), key=repr) == stands(back)
    assert back.sizes()[ROWS_WAITING] > 0, "what came meanwhile has the next turn"
    told(back.process({}), found)
    back.refresh()
    told(back.process({}), found)
    assert sorted(found.elements(), key=repr) == stands(back) == changes.expected()


def test_a_refresh_before_a_restart_is_told_after_it(tmp_path: Path) -> None:
    changes, found = Changes(9), Counter[tuple[Any, ...]]()
    made = operator(view(), tmp_path)
    lazily(made)
    for _ in range(2):
        told(made.process(changes.batch(most=8)), found)
    kept = made.snapshot()
    assert stands(made) != changes.expected(), "something waits"
    made.refresh()
    made.close()
    again = operator(view(), tmp_path, kept)
    told(again.process({}), found)
    assert sorted(found.elements(), key=repr) == stands(again) == changes.expected()
