"""Views in PostgreSQL: other clients, a server that goes and comes back, what it cannot keep."""

from __future__ import annotations

import datetime as dt
import importlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.algebra.views import ViewColumn, ViewDefinition
from penstock.language.queries import read_query
from penstock.language.views import bind_view
from penstock.views import (
    postgresql_functions,
    postgresql_patience,
    postgresql_store,
    rehearsals,
)
from penstock.views.errors import StoreGoneError, StoreTextError
from penstock.views.stores import open_store
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.shared_figures import ROWS_WAITING
from tests.oracle.views import as_changes
from tests.support import postgres
from tests.support.view_lives import Changes, operator
from tests.support.view_lives import view as view_of_orders
from tests.support.view_turns import Driver, R, X, as_rows, grouped

VIEW = replace(grouped("min", "count"), dialect="postgresql")


@pytest.fixture
def view(postgresql: postgres.Server) -> Iterator[Driver]:
    store = open_store(VIEW, postgresql.url())
    yield Driver(store)
    store.drop()
    store.close()


def test_any_client_reads_and_refreshes(view: Driver, postgresql: postgres.Server) -> None:
    view.turn([((1, 2.0), 1)], [((1, "a"), 1)])
    view.turn([((1, 1.0), 3)], flush=[])
    read = 'SELECT "G0", "A0", "A1" FROM v'
    assert postgresql.execute(read) == [("a", 2.0, 1)]
    assert postgresql.execute("SELECT penstock_refresh('v')") == [(3,)]
    assert postgresql.execute("SELECT penstock_refresh('v')") == [(0,)]
    assert postgresql.execute(read) == [("a", 1.0, 4)]
    assert view.store.pending().tolist() == [0, 0]
    assert view.turn() == [("a", 1.0, 4, 1), ("a", 2.0, 1, -1)]


def test_days_do_not_hang_on_who_refreshes(tmp_path: Path, postgresql: postgres.Server) -> None:
    late = dt.datetime(2026, 1, 1, 2, tzinfo=dt.UTC)
    rows = pa.table({"at": pa.array([late], pa.timestamp("us", "UTC"))})
    catalog = {"times": Relation(name="times", kind="stream", schema=rows.schema)}
    asked = (
        "SELECT CAST(at AS DATE) AS day, CAST(at AS VARCHAR) AS text, "
        "date_trunc('day', at) AS begun, "
        "CAST(date_trunc('month', CAST(at AS DATE)) AS VARCHAR) AS month FROM times"
    )
    given = {"view": "days", "refresh": "1 hour", "policy": "naive", "store": postgresql.url()}
    made = operator(bind_view(read_query(asked, catalog, None, given)), tmp_path)
    made.process({"times": rows})
    made.store.turn(2, {0: rows.append_column("_n", pa.array([1]))}, lambda _, memo: ((), memo))
    postgresql.execute("SET TimeZone = 'America/New_York'", "SELECT penstock_refresh('days')")
    day = (late.date(), "2026-01-01 02:00:00+00", late.replace(hour=0), "2026-01-01 00:00:00")
    assert as_rows(made.store.rows()) == [day, day]
    made.store.drop()
    made.close()


def test_a_client_may_refresh_again_and_again(view: Driver, postgresql: postgres.Server) -> None:
    """What a session keeps of a flush is of no more use in the next."""
    with psycopg.connect(postgresql.url(), autocommit=True) as client:
        for number in range(1, 8):
            view.turn([((1, float(number)), 1)], [((1, "a"), 1)] if number == 1 else [], flush=[])
            with client.transaction():
                client.execute("SELECT penstock_refresh('v'), penstock_refresh('v')")
            assert view.rows() == [("a", 1.0, number)]


def test_a_long_queue_is_flushed_as_a_short_one(view: Driver) -> None:
    view.turn([((key, float(key)), 1) for key in range(30_000)], flush=[])
    view.turn([], [((key, f"{key % 3}"), 1) for key in range(12_000)])
    assert view.rows() == [(f"{key}", float(key), 4_000) for key in range(3)]
    view.turn([((0, 0.0), -1)])
    assert view.rows()[0] == ("0", 3.0, 3_999)


def test_indexes_are_those_that_joins_use(view: Driver, postgresql: postgres.Server) -> None:
    told = view.store.indexes()
    assert 'CREATE INDEX base0_c0_idx ON "penstock_v".base0 (c0) INCLUDE (c1, _n)' in told
    assert 'CREATE INDEX ON "penstock_v".values0 (_id, v)' in told
    made = postgresql.execute("SELECT 1 FROM pg_indexes WHERE schemaname = 'penstock_v'")
    assert len(made) == len(told)


def test_names_of_a_flush_are_nobodys_names(postgresql: postgres.Server) -> None:
    """Statements of a flush stand among its variables; a user's names mean the user's columns."""
    names = ("n", "grown", "_handed"), ("other", "_joined")
    inputs = tuple(
        replace(R, relation=name, alias=name, columns=tuple((each, pa.int64()) for each in own))
        for name, own in zip(("flush0", "_delta"), names, strict=True)
    )
    outputs = tuple(
        ViewColumn(name=f"o{number}", sql=sql, type=pa.int64())
        for number, sql in enumerate(('"grown"', '"_joined"'))
    )
    definition = ViewDefinition(
        name="named", dialect="postgresql", inputs=inputs, outputs=outputs, is_grouped=False,
        conditions=('"flush0"."n" = "_delta"."other"', '"_handed" > 4'),
    )  # fmt: skip
    store = open_store(definition, postgresql.url())
    driver = Driver(store)
    try:
        for _ in range(2):
            driver.turn([((1, 2, 5), 1), ((1, 3, 4), 1)], [((1, 7), 1)])
        assert driver.rows() == [(2, 7)] * 4
    finally:
        store.drop()
        store.close()


def test_plans_that_are_kept_follow_tables_that_grow(
    view: Driver, postgresql: postgres.Server
) -> None:
    """The server's own housekeeping is off here: a flush tells the planner of its tables."""
    told = "SELECT relpages FROM pg_class WHERE oid = '\"penstock_v\".base0'::regclass"
    pages = set()
    for first in range(0, 12_000, 150):
        view.turn([((key, float(key)), 1) for key in range(first, first + 150)])
        pages |= set(postgresql.execute(told))
    assert 3 <= len(pages) <= 5, "it is told each time that a table has doubled, and not more often"


def test_where_all_groups_change_none_is_held_against_all_others(
    postgresql: postgres.Server,
) -> None:
    """Statistics say that groups have rows and extremes; in a flush all may have lost them."""
    groups = 1_500
    keys = (ViewColumn(name="g0", sql=X, type=pa.float64()),)
    driver = Driver(open_store(replace(VIEW, name="many", keys=keys), postgresql.url()))

    def all_of(weight: int) -> list[tuple[tuple[int, str], int]]:
        return [((key, "a"), weight) for key in range(groups)]

    try:
        driver.turn([((key, float(key)), 1) for key in range(groups)], all_of(2))
        told: list[str] = []
        connection = driver.store._connection  # type: ignore[attr-defined]
        connection.add_notice_handler(lambda notice: told.append(notice.message_primary))
        connection.execute("LOAD 'auto_explain'")
        for each in ("log_nested_statements = on", "log_min_duration = 0", "log_analyze = on"):
            connection.execute(f"SET auto_explain.{each}")
        connection.execute("SET auto_explain.log_level = notice")
        connection.execute("SET client_min_messages = notice")
        for _ in range(2):
            driver.turn([], all_of(-1))
        assert driver.rows() == [] and len(told) > 20
        passed_over = re.findall(r"Rows Removed by Join Filter: (\d+)", "\n".join(told))
        assert sum(map(int, passed_over)) < 10 * groups
    finally:
        driver.store.drop()
        driver.store.close()


def test_rehearsals_leave_the_view_and_little_else(
    view: Driver, postgresql: postgres.Server
) -> None:
    keys = range(1_000)
    view.turn([((key, float(key)), 1) for key in keys], [((key, "a"), 1) for key in keys])
    size = "SELECT pg_relation_size('\"penstock_v\".base0')"
    view.store.rehearse(0, 256)
    before = postgresql.execute(size)[0][0]
    for draw in range(40):
        assert view.store.rehearse(0, 256, draw) > 0
    assert view.rows() == [("a", 0.0, 1_000)]
    after = postgresql.execute(size)[0][0]
    assert after <= 2 * before, "what was undone is swept away"


def test_expressions_mean_what_they_mean_in_duckdb(
    tmp_path: Path, postgresql: postgres.Server
) -> None:
    """sqlglot changes words; what PostgreSQL means by the same words is another thing."""
    texts = ["a\\%b", "a%b", "Ärger", "ärger", "ß", "", None, "B"]
    sixty = dt.datetime(2026, 1, 2, 3, 4, 59, 999_999)  # noqa: DTZ001
    rows = pa.table(
        [texts, pa.array([0.1, 0.5, -0.1, None, 3.0, 0.1, 0.2, 0.25], pa.float32()), [sixty] * 8],
        schema=pa.schema([("s", pa.string()), ("f", pa.float32()), ("at", pa.timestamp("us"))]),
    )
    catalog = {"odd": Relation(name="odd", kind="stream", schema=rows.schema)}
    asked = (
        r"s LIKE 'a\%b' AS a, s NOT LIKE '%\%%' AS b, s LIKE 'a!%b' ESCAPE '!' AS c, "
        "upper(s) AS d, lower(s) AS e, s ILIKE 'ä%' AS g, lower(s) < 'b' AS h, "
        "f = 0.1 AS i, 0.1 >= f AS j, f BETWEEN 0.1 AND 0.2 AS k, f * 0.1 > 0.01 AS l, "
        "extract(second FROM at) AS m, extract(milliseconds FROM at) AS n, "
        "regexp_matches(s, '^[aB]') AS o, f IN (0.1, 0.5) AS p, "
        r"upper(concat(s, lower('Ä'), CASE WHEN s LIKE '\%' THEN 1 END)) AS q, "
        "f = (0.1 + extract(second FROM at)) AS r, date_part('second', at) AS u"
    )
    found = []
    here = {"view": "odd_words", "refresh": "1 second"}
    given = {**here, "store": postgresql.url()}
    for place in (here, given):
        bound = bind_view(read_query(f"SELECT {asked} FROM odd", catalog, None, place))
        made = operator(bound, tmp_path)
        made.process({"odd": rows})
        found.append(as_rows(made.store.rows()))
        made.store.drop()
        made.close()
    assert found[0] == found[1] and len(found[0]) == 8
    bound = bind_view(read_query("SELECT dayname(at) AS n FROM odd", catalog, None, given))
    with pytest.raises(PenstockError, match=r"VIEW-055.*dayname"):
        operator(bound, tmp_path).process({"odd": rows})


def test_a_text_that_postgresql_cannot_keep_is_told(view: Driver) -> None:
    with pytest.raises(StoreTextError, match="VIEW-008"):
        view.turn([], [((1, "a\0b"), 1)])
    assert view.turn([((1, 2.0), 1)], [((1, "x" * 100_000), 1)]) == [("x" * 100_000, 2.0, 1, 1)]


def test_what_few_changes_make_is_laid_in_tables_if_it_is_much(
    postgresql: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An array holds a gigabyte at most: few changes of a table that joins many rows make more."""
    monkeypatch.setattr(postgresql_functions, "JOINED_ROWS_MAX", 50)
    driver = Driver(open_store(replace(VIEW, name="wide"), postgresql.url()))
    laid = "SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relname LIKE '%netted1'"
    try:
        driver.turn([((1, float(number)), 1) for number in range(50)], flush=[0])
        driver.turn([], [((1, "a"), 1)])
        assert (driver.rows(), postgresql.execute(laid)) == ([("a", 0.0, 50)], [(0,)])
        driver.turn([((1, -1.0), 1)])
        driver.turn([], [((1, "b"), 1)])
        assert postgresql.execute(laid) == [(1,)]
        assert driver.rows() == [("a", -1.0, 51), ("b", -1.0, 51)]
        driver.turn([], [((1, "a"), -1)])
        assert driver.rows() == [("b", -1.0, 51)]
    finally:
        driver.store.drop()
        driver.store.close()


def test_a_flush_that_is_too_large_is_no_server_that_is_gone(
    postgresql: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver has one class for both, but what is too large is so as often as it is asked."""
    having = "length(repeat(g0, 1000000)) > 0 AND (SELECT pg_sleep(0.05)) IS NOT NULL"
    driver = Driver(open_store(replace(VIEW, name="large", having=having), postgresql.url()))
    try:
        driver.turn([((1, 2.0), 1)], [((1, "a"), 1)])
        with pytest.raises(StoreTextError, match=r"VIEW-014.*too large"):
            driver.turn([], [((1, "a" * 2_000), 1)])

        def cut_short() -> None:
            driver.store.taken()
            driver.store._connection.execute("SET statement_timeout = 10")  # type: ignore[attr-defined]
            driver.turn([((1, 1.0), 1)])

        with pytest.raises(StoreGoneError, match="VIEW-007"):
            cut_short()  # somebody's doing: it had most of its time before it
        monkeypatch.setattr(postgresql_store, "STATEMENT_MS", 10)
        with pytest.raises(StoreTextError, match="VIEW-014"):
            cut_short()
        driver.store.close()
        assert (driver.store.taken(), driver.rows()) == (1, [("a", 2.0, 1)])
    finally:
        driver.store.drop()
        driver.store.close()


def test_a_server_that_only_reads_for_now_is_waited_for(
    view: Driver, postgresql: postgres.Server
) -> None:
    """A standby that has taken the place of the first is one for a while."""
    view.turn([((1, 2.0), 1)], [((1, "a"), 1)])
    ((name,),) = postgresql.execute("SELECT current_database()")
    postgresql.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    try:
        view.store.close()
        with pytest.raises(StoreGoneError, match="VIEW-007"):
            view.store.turn(2, {0: as_changes(R, [((1, 1.0), 1)])}, lambda _, memo: ([0], memo))
    finally:
        set_back = f'ALTER DATABASE "{name}" RESET default_transaction_read_only'
        postgresql.execute("SET default_transaction_read_only = off", set_back)
    assert view.turn([((1, 1.0), 1)]) == [("a", 1.0, 2, 1), ("a", 2.0, 1, -1)]


def test_a_server_that_goes_comes_back() -> None:
    if why := postgres.missing():
        pytest.skip(why)
    with postgres.running() as server:
        url = server.url(password="hush")
        view = Driver(open_store(VIEW, url))
        view.turn([((1, 2.0), 1)], [((1, "a"), 1)])

        def choose(pending: Any, memo: str) -> Any:
            assert pending.tolist() == [1, 0]
            server.stop()
            return [0], memo

        with pytest.raises(StoreGoneError, match="VIEW-007") as told:
            view.store.turn(2, {0: as_changes(R, [((1, 1.0), 1)])}, choose)
        assert "hush" not in str(told.value)
        with pytest.raises(StoreGoneError, match="VIEW-002") as told:
            view.store.rows()
        assert "hush" not in str(told.value)
        server.start()
        assert (view.store.taken(), view.rows()) == (1, [("a", 2.0, 1)])
        assert view.turn([((1, 1.0), 1)]) == [("a", 1.0, 2, 1), ("a", 2.0, 1, -1)]
        view.store.close()


def test_a_driver_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(PenstockError, match="VIEW-009"):
        open_store(VIEW, "postgresql://nowhere")


@pytest.mark.parametrize(
    "definition",
    [
        replace(VIEW, name="v" * 55),
        replace(VIEW, outputs=(ViewColumn(name="ä" * 32, sql="a0", type=pa.float64()),)),
    ],
)
def test_names_that_postgresql_would_cut_off_are_refused(definition: ViewDefinition) -> None:
    with pytest.raises(PenstockError, match="VIEW-010"):
        open_store(definition, "postgresql://nowhere")


def test_an_old_server_is_refused(
    postgresql: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.views.postgresql_store.VERSION_MIN", 1_000)
    with pytest.raises(PenstockError, match="VIEW-011"):
        open_store(VIEW, postgresql.url()).create()


def test_a_server_that_hangs_pauses_its_view_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a refusal nor a timeout of its own tells of a server that stands still."""
    if why := postgres.missing():
        pytest.skip(why)
    # One that answers has all the time that it needs, also on a busy machine.
    monkeypatch.setattr(postgresql_patience, "CONNECT_S", 600)
    monkeypatch.setattr(postgresql_patience, "PROBE_S", 600.0)
    monkeypatch.setattr(rehearsals, "SIZES", (1,))
    changes = Changes(11)
    with postgres.running() as server:
        made = operator(view_of_orders(store=server.url()), tmp_path)
        other = operator(view_of_orders(), tmp_path)
        made.process(changes.batch(most=8))
        first = changes.batch(most=8)
        server.hang()
        with monkeypatch.context() as hurried:
            hurried.setattr(postgresql_patience, "CONNECT_S", 2)
            hurried.setattr(postgresql_patience, "PROBE_S", 0.05)
            hurried.setattr(postgresql_patience, "REST", 1_000.0)
            assert made.process(first) == [], "it was cut off"
            assert made.process({}) == [], "and is left alone: this takes no time"
        other.process(first)
        assert other.sizes()[ROWS_WAITING] == 0 < made.sizes()[ROWS_WAITING]
        server.go_on()
        postgresql_patience._RESTS.clear()
        made.process({})
        made.refresh()
        assert (
            sorted(tuple(row.values()) for row in made.store.rows().to_pylist())
            == changes.expected()
        )
        made.close()
        other.close()
