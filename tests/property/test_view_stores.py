"""Views in their stores are the query over prefixes of their inputs, whatever is flushed when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from penstock.algebra.views import ViewDefinition
from penstock.views.duckdb_store import DuckdbViewStore
from penstock.views.open_files import close_file, open_file
from penstock.views.protocol import ViewStore
from penstock.views.stores import open_store
from tests.oracle.views import Row, ViewTwin, as_changes, bag_of, changed
from tests.support import postgres
from tests.support.views import changes, definitions


def live(
    draw: Callable[[st.SearchStrategy[Any]], Any],
    definition: ViewDefinition,
    address: str,
    turns: int,
) -> None:
    """Take a view through a drawn life, its twin beside it."""
    # Histories that hypothesis draws itself are too short to lose an extreme.
    chance = Random(draw(st.integers(0, 2**32)))
    twin = ViewTwin(definition)
    known = [Counter[Row]() for _ in definition.inputs]
    told: Counter[Row] = Counter()
    store = open_store(definition, address)
    if isinstance(store, DuckdbViewStore):
        store.settle_after = chance.choice([1, 1_000])
    try:
        store.create()
        for number in range(1, turns + 1):
            came = {each: changes(chance, known[each]) for each in range(len(known))}
            chosen = {each for each in range(len(known)) if chance.random() < 0.6}
            note(f"turn {number}: {came}, flush {chosen}")
            tables = {
                each: as_changes(definition.inputs[each], own) for each, own in came.items() if own
            }
            memo = f"after {number}"
            turn = store.turn(number, tables, lambda _, __, c=chosen, m=memo: (c, m))
            told = changed(told, turn.changes)
            twin.take(came, chosen)
            expected = twin.rows()
            assert told == expected
            assert bag_of(store.rows()) == expected
            assert turn.pending.tolist() == twin.pending()
            what = chance.choice(["go on", "again", "reopen", "refresh", "rehearse"])
            note(what)
            if what == "again":
                again = store.turn(number, {}, lambda _, __: ([], "never"))
                assert again.changes.equals(turn.changes) or bag_of(again.changes) == bag_of(
                    turn.changes
                )
                assert again.memo == memo and not again.flushes
            elif what == "reopen":
                store.close()
                store = open_store(definition, address)
                store.create()
                assert store.taken() == number
            elif what == "refresh":
                store.refresh()
                assert bag_of(store.rows(number)) == told, "what was read is not told yet"
                twin.take({}, range(len(known)))
            elif what == "rehearse":
                store.rehearse(chance.randrange(len(known)), chance.randint(1, 9))
        store.refresh()
        twin.take({}, range(len(known)))
        agree(store, twin)
        last = store.turn(number + 1, {}, lambda _, __: ([], ""))
        assert changed(told, last.changes) == twin.rows()
    finally:
        store.drop()
        store.close()


def agree(store: ViewStore, twin: ViewTwin) -> None:
    """Compare a store with its twin, and with what it computes anew itself."""
    expected = twin.rows()
    assert bag_of(store.rows()) == expected
    assert bag_of(store.recomputed()) == expected
    assert store.pending().tolist() == twin.pending()


@pytest.fixture(scope="module")
def memory() -> Iterator[str]:
    """Give a database in memory that outlives the stores in it: to open a file takes long."""
    address = ":memory:lives"
    open_file(address)
    yield address
    close_file(address)


@settings(max_examples=30)
@given(data=st.data())
def test_a_view_in_duckdb_is_the_query_over_prefixes(memory: str, data: st.DataObject) -> None:
    live(data.draw, data.draw(definitions("duckdb")), memory, 6)


@settings(max_examples=8)
@given(data=st.data())
def test_a_view_in_a_file_is_the_query_over_prefixes(data: st.DataObject) -> None:
    with TemporaryDirectory() as directory:
        live(data.draw, data.draw(definitions("duckdb")), str(Path(directory) / "v.duckdb"), 6)


@settings(max_examples=30)
@given(data=st.data())
def test_a_view_in_postgresql_is_the_query_over_prefixes(
    postgresql: postgres.Server, data: st.DataObject
) -> None:
    live(data.draw, data.draw(definitions("postgresql")), postgresql.url(), 4)
