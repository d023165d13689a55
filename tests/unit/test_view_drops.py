"""Where views live, and those in PostgreSQL that are dropped while an engine runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.algebra.views import ViewStep
from penstock.kinds.protocol import KeptQuery
from penstock.kinds.view import KIND
from penstock.kinds.view.reading import StoredView
from penstock.views.addresses import check_address, open_view
from penstock.views.dropped_stores import dropped, reclaim_dropped
from penstock.views.errors import StoreGoneError
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figures import Tally
from tests.support import postgres
from tests.support.view_lives import Changes, operator, view

SCHEMAS = "SELECT count(*) FROM pg_namespace WHERE nspname = 'penstock_{}'"


def stored(step: ViewStep, home: Path, query: int = 1) -> StoredView:
    return StoredView(
        KeptQuery(
            name=step.definition.name, group="g", step=step, query=query, home=home,
            rests=lambda: None, ask=lambda _: None, beat=lambda: None, met=Tally,
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
    with pytest.raises(PenstockError, match="VIEW-064"):
        KIND.make_way(tmp_path, step, None)
    KIND.make_way(tmp_path, view().step(), None)
    KIND.make_way(tmp_path, step, iter(()))
    assert (schemas(postgresql, step), list(dropped(tmp_path))) == (0, [])
    KIND.make_way(tmp_path, step, None)


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


def test_a_view_that_another_home_maintains_is_refused(
    tmp_path: Path, postgresql: postgres.Server
) -> None:
    """Both would number their turns alike, and each be given what the other's told."""
    bound = view(store=postgresql.url())
    for _ in range(2):
        check_address(bound.step())  # who was killed before the view stood may try again
    theirs = operator(bound, tmp_path)
    theirs.process(Changes(1).batch(most=20))
    with pytest.raises(PenstockError, match="VIEW-003"):
        check_address(bound.step())
    theirs.store.drop()
    theirs.close()


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
