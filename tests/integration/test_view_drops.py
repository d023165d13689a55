"""Where views live, and those in PostgreSQL that are dropped while an engine runs."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.algebra.views import ViewStep
from penstock.expressions.allowances import BATCH_S_SETTING, EvaluationError
from penstock.kinds.protocol import KeptQuery, LeftQuery
from penstock.kinds.view import KIND
from penstock.kinds.view.reading import StoredView
from penstock.storage.files import write_json
from penstock.views import duckdb_store, postgresql_store
from penstock.views.addresses import claim_store, open_view, view_file
from penstock.views.dropped_stores import dropped, reclaim_dropped
from penstock.views.errors import StoreGoneError, StoreTurnError
from penstock.views.owners import OWNER
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figures import Tally
from tests.support import postgres
from tests.support.view_lives import ORDERS, Changes, operator, view

SCHEMAS = "SELECT count(*) FROM pg_namespace WHERE nspname = 'penstock_{}'"


def stored(step: ViewStep, home: Path, query: int = 1) -> StoredView:
    return StoredView(
        KeptQuery(
            name=step.definition.name, group="g", step=step, query=query, home=home,
            rests=lambda: None, ask=lambda _: None, beat=lambda: None, met=Tally,
            kept=lambda _: None,
        )
    )  # fmt: skip


def schemas(server: postgres.Server, step: ViewStep) -> int:
    ((count,),) = server.execute(SCHEMAS.format(step.definition.name))
    return int(count)


def test_a_view_dropped_under_its_engine_goes_when_it_is_swept(
    tmp_path: Path, postgresql: postgres.Server
) -> None:
    step = view(store=postgresql.url()).step()
    open_view(step, tmp_path, 1).close()
    stored(step, tmp_path).forget(is_running=True)
    assert schemas(postgresql, step) == 1, "batches that began before may ask for it"
    which = f"SELECT oid FROM pg_namespace WHERE nspname = 'penstock_{step.definition.name}'"
    before = postgresql.execute(which)
    with pytest.raises(PenstockError, match="VIEW-064"):
        KIND.make_way(tmp_path, step, None)
    KIND.make_way(tmp_path, view().step(), None)
    assert postgresql.execute(which) == before
    KIND.make_way(tmp_path, step, iter(()))
    assert (schemas(postgresql, step), list(dropped(tmp_path))) == (1, [])
    assert postgresql.execute(which) != before, "that one went, and another was made"
    KIND.make_way(tmp_path, step, None)
    stored(step, tmp_path).forget(is_running=False)


def test_a_view_whose_drop_was_not_published_keeps_its_store(
    tmp_path: Path, postgresql: postgres.Server
) -> None:
    step = view(store=postgresql.url()).step()
    open_view(step, tmp_path, 1).close()
    stored(step, tmp_path).forget(is_running=True)
    KIND.reclaim(tmp_path, iter([(step, 1)]))
    assert (schemas(postgresql, step), list(dropped(tmp_path))) == (1, [])
    stored(step, tmp_path).forget(is_running=False)
    assert schemas(postgresql, step) == 0


def test_a_view_of_somebody_else_is_not_taken_away(
    tmp_path: Path, postgresql: postgres.Server
) -> None:
    """Reclaiming was killed after it had taken the view away, and another has its name since."""
    step = view(store=postgresql.url()).step()
    stored(step, tmp_path).forget(is_running=True)
    other = view("SELECT id FROM orders", store=postgresql.url()).step()
    assert other.definition.name == step.definition.name
    theirs = open_view(other, tmp_path, 2)
    reclaim_dropped(tmp_path)
    assert (schemas(postgresql, step), list(dropped(tmp_path))) == (1, [])
    theirs.drop()
    theirs.close()


def test_a_view_that_another_home_keeps_is_refused(
    tmp_path: Path, postgresql: postgres.Server
) -> None:
    """Both would number their turns alike, and each be given what the other's told."""
    bound, first, second = view(store=postgresql.url()), tmp_path / "first", tmp_path / "second"
    step, changes = bound.step(), Changes(1)
    for _ in range(2):
        KIND.make_way(first, step, iter(()))  # who was killed before the view stood may try again
    with pytest.raises(PenstockError, match=r"VIEW-003.*another home"):
        KIND.make_way(second, step, iter(()))
    mine, theirs = operator(bound, first), operator(bound, second)
    batch = changes.batch(most=20)
    with pytest.raises(EvaluationError, match="VIEW-003"):
        theirs.process(batch)
    mine.process(batch)
    mine.refresh()
    assert (
        sorted(tuple(row.values()) for row in mine.store.rows().to_pylist()) == changes.expected()
    )
    with pytest.raises(PenstockError, match="VIEW-003"):
        KIND.make_way(first, step, iter(()))
    stored(step, second).forget(is_running=True)
    reclaim_dropped(second)
    assert (schemas(postgresql, step), list(dropped(second))) == (1, [])
    mine.store.drop()
    mine.close()


def test_a_home_that_is_copied_leaves_views_elsewhere_to_the_first(
    tmp_path: Path, postgresql: postgres.Server
) -> None:
    """Both are known there by one name: each was given what the other's turns told."""
    bound, first, copy, away = view(store=postgresql.url()), *map(tmp_path.joinpath, "abc")
    step, changes = bound.step(), Changes(1)
    KIND.make_way(first, step, None)
    began = operator(bound, first)
    began.process(changes.batch(most=20))
    again = operator(bound, first, began.snapshot())  # after a kill: the server knows of nothing
    again.process(batch := changes.batch(most=20))
    shutil.copytree(first, copy)
    theirs = operator(bound, copy, began.snapshot())
    with pytest.raises(EvaluationError, match=f"VIEW-017.*{first}"):
        theirs.process(batch)
    stored(step, copy).forget(is_running=True)
    reclaim_dropped(copy)
    assert (schemas(postgresql, step), list(dropped(copy))) == (1, [])
    (tmp_path / "same").symlink_to(first)
    open_view(step, tmp_path / "same", 1).close()
    first.rename(away)
    moved = operator(bound, away, again.snapshot())
    moved.process(changes.batch(most=20))
    with pytest.raises(EvaluationError, match=f"VIEW-017.*{away}"):
        operator(bound, copy).process(batch)
    moved.store.drop()
    for each in (began, again, moved):
        each.close()


def test_of_a_home_and_a_copy_that_do_not_see_each_other_one_takes_turns(
    tmp_path: Path, postgresql: postgres.Server
) -> None:
    step, first, copy = view(store=postgresql.url()).step(), tmp_path / "first", tmp_path / "copy"
    claim_store(step, first)
    mine = open_view(step, first, 1)
    shutil.copytree(first, copy)
    hidden = first.rename(tmp_path / "hidden")  # as another machine sees it
    theirs = open_view(step, copy, 1)
    assert theirs.turn(1, {}, lambda *_: ((), "")).number == 1
    hidden.rename(first)
    with pytest.raises(StoreTurnError, match=f"VIEW-017.*{copy}"):
        mine.turn(1, {}, lambda *_: ((), ""))
    assert theirs.turn(2, {}, lambda *_: ((), "")).number == 2
    theirs.drop()
    for each in (mine, theirs):
        each.close()


def test_of_homes_that_make_one_view_at_once_one_has_it(
    tmp_path: Path, postgresql: postgres.Server
) -> None:
    step = view(store=postgresql.url()).step()

    def claimed(home: int) -> str:
        try:
            claim_store(step, tmp_path / str(home))
        except PenstockError as error:
            return error.code
        return "has it"

    with ThreadPoolExecutor(4) as homes:
        found = sorted(homes.map(claimed, range(4)))
    postgresql.execute(f"DROP SCHEMA penstock_{step.definition.name} CASCADE")
    assert found == ["VIEW-003"] * 3 + ["has it"]


def test_a_bound_that_postgresql_cannot_keep_is_refused(
    tmp_path: Path, postgresql: postgres.Server
) -> None:
    step = view(bound="1 microsecond", store=postgresql.url()).step()
    with pytest.raises(PenstockError, match=r"VIEW-063.*REFRESH WITHIN"):
        KIND.make_way(tmp_path, step, None)
    assert schemas(postgresql, step) == 0, "nothing is left of it"
    step = view(bound="1 minute", store=postgresql.url()).step()
    KIND.make_way(tmp_path, step, None)
    store = open_view(step, tmp_path, 1)
    assert store.taken() == 0 and store.rows().num_rows == 0
    store.close()
    stored(step, tmp_path).forget(is_running=False)


def test_a_server_that_is_down_is_asked_again(tmp_path: Path) -> None:
    step = view(store="postgresql://127.0.0.1:1/nowhere").step()
    stored(step, tmp_path).forget(is_running=True)
    with pytest.raises(StoreGoneError, match="VIEW-002"):
        reclaim_dropped(tmp_path)
    assert len(list(dropped(tmp_path))) == 1


def test_a_path_that_duckdb_misreads_is_refused_before_anything_is_kept(tmp_path: Path) -> None:
    step = view().step()
    for name in ("what?", "a\\b"):
        with pytest.raises(PenstockError, match="VIEW-013"):
            KIND.make_way(tmp_path / name, step, None)
        with pytest.raises(PenstockError, match="VIEW-013"):
            open_view(step, tmp_path / name, 1)
    assert not list(tmp_path.iterdir())
    home = tmp_path / "a[1]{b,c} *%20#'s"
    KIND.make_way(home, step, None)
    store = open_view(step, home, 1)
    assert store.taken() == 0
    store.close()


def test_a_reader_that_asks_too_much_of_an_engine_is_told(tmp_path: Path) -> None:
    """Batches wait for it: it ends with what a batch allows, and the next question is answered."""
    made = operator(view("SELECT id, region FROM orders"), tmp_path)
    many = {"id": range(9_000), "region": ["a"] * 9_000, "op": ["insert"] * 9_000}
    made.process({"orders": pa.table(many, schema=ORDERS)})
    asked = stored(made.step, tmp_path, 7)._asked
    seen = StoredView(replace(asked, ask=lambda question: question(made)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(BATCH_S_SETTING, "0.2")
        with pytest.raises(EvaluationError, match="RUN-013"):
            seen.query("SELECT count(*) FROM v a, v b, v c WHERE a.id + b.id <> c.id")
        patch.setattr(duckdb_store, "READ_BYTES_MAX", 1 << 20)
        with pytest.raises(PenstockError, match=r"VIEW-006.*1 MB"):
            seen.query("SELECT a.region FROM v a, v b")
        assert seen.query("SELECT count(*) AS n FROM v")["n"].to_pylist() == [9_000]
    made.close()


def test_what_a_killed_process_spilled_goes(tmp_path: Path) -> None:
    bound = view("SELECT id, region FROM orders").step()
    files = [view_file(bound, tmp_path, query) for query in (1, 2)]
    for file in files:
        spilled = file.with_name(f"{file.name}.tmp")
        spilled.mkdir(parents=True)
        (spilled / "duckdb_temp_storage-0.tmp").write_bytes(bytes(9))
    open_view(bound, tmp_path, 1).close()
    KIND.tidy(tmp_path, iter([(bound, 1)]))
    assert list((tmp_path / "views").iterdir()) == [files[0]]


def test_who_owns_views_elsewhere_is_noted_for_good(
    tmp_path: Path, postgresql: postgres.Server
) -> None:
    step = view(store=postgresql.url()).step()
    claim_store(step, tmp_path)
    left = LeftQuery(name="v", step=step, query=1, state=None, has_run=True)
    assert KIND.examine(tmp_path, left) is None and list(KIND.inspect(tmp_path)) == []
    path = tmp_path / "views" / OWNER
    path.write_bytes(path.read_bytes()[:-9])
    ((finding, remedy),) = KIND.inspect(tmp_path)
    assert (finding.code, finding.file) == ("VIEW-016", path) and remedy
    with pytest.raises(PenstockError, match="VIEW-016"):
        open_view(step, tmp_path, 1)
    path.unlink()
    assert KIND.examine(tmp_path, left) == (path, "is missing, though a view lives in PostgreSQL")
    write_json(path, {"owner": "as homes of before say it"})
    assert list(KIND.inspect(tmp_path)) == []
    path.unlink()
    stored(step, tmp_path).forget(is_running=False)


def test_a_reader_of_postgresql_ends_too(
    tmp_path: Path, postgresql: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_store, "READ_MS", 200)
    store = open_view(view(store=postgresql.url()).step(), tmp_path, 1)
    with pytest.raises(PenstockError, match=r"VIEW-006.*statement timeout"):
        store.query("SELECT count(*), pg_sleep(20) FROM v")
    assert store.query("SELECT count(*) AS n FROM v")["n"].to_pylist() == [0]
    store.drop()
    store.close()
