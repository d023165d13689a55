"""Stores of views: turns, what is asked twice, what readers may ask, and what is refused."""

from __future__ import annotations

import datetime as dt
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.views import (
    Aggregate,
    AggregateFunction,
    ViewColumn,
    ViewDefinition,
    ViewInput,
)
from penstock.lab.crash_points.simulated_disk import CRASHES, Journal, SimulatedDisk, lay_down
from penstock.storage.disk import make_directory, watched
from penstock.views import open_files
from penstock.views.addresses import forget_files
from penstock.views.duckdb_store import DuckdbViewStore
from penstock.views.errors import StoreGoneError, StoreTextError
from penstock.views.examination import flaw_of
from penstock.views.stores import open_store
from penstock.vocabulary.batches import Ints
from penstock.vocabulary.errors import PenstockError
from tests.oracle.views import as_changes
from tests.support.view_turns import JOIN, Driver, R, S, X, as_rows, grouped


@pytest.fixture(params=["duckdb", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Opens views in either store; what a test leaves is dropped."""
    stores = []
    kind = request.param
    server = request.getfixturevalue("postgresql") if kind == "postgresql" else None
    address = str(tmp_path / "v.duckdb") if server is None else server.url()

    def open_(definition: ViewDefinition) -> Driver:
        stores.append(open_store(replace(definition, dialect=kind), address))
        return Driver(stores[-1])

    yield open_
    for store in reversed(stores):
        if server is not None:
            store.drop()
        store.close()


def test_changes_wait_until_their_input_is_flushed(opened: Any) -> None:
    view = opened(grouped("min", "count"))
    told = view.turn([((1, 2.0), 1)], [((1, "a"), 1)], flush=[0])
    assert (told, view.rows(), view.store.pending().tolist()) == ([], [], [0, 1])
    assert view.turn([((1, 1.0), 1)], flush=[1]) == [("a", 2.0, 1, 1)]
    assert view.store.pending().tolist() == [1, 0]
    (flush,) = view.store.refresh()
    assert (flush.input, flush.changes) == (0, 1)
    assert view.rows() == [("a", 1.0, 2)]
    # What the refresh changed is told in the turn that follows.
    assert view.turn() == [("a", 1.0, 2, 1), ("a", 2.0, 1, -1)]


def test_a_turn_is_taken_once_and_told_as_often_as_asked(opened: Any) -> None:
    view = opened(grouped("sum"))
    tables = {0: as_changes(R, [((1, 2.0), 1)]), 1: as_changes(S, [((1, "a"), 1)])}

    def choose(pending: Any, memo: str) -> tuple[Sequence[int], str]:
        assert pending.tolist() == [1, 1]
        return [0, 1], memo + "!"

    first = view.store.turn(1, tables, choose)
    view.store.close()
    view = opened(grouped("sum"))
    again = view.store.turn(1, tables, choose)
    assert as_rows(again.changes) == as_rows(first.changes) == [("a", 2.0, 1)]
    assert (first.memo, again.memo, again.flushes) == ("!", "!", ())
    assert view.rows() == [("a", 2.0)]
    for number in (0, 3):
        with pytest.raises(PenstockError, match="VIEW-004"):
            view.store.turn(number, {}, choose)


def test_a_chooser_that_fails_leaves_nothing(opened: Any) -> None:
    view = opened(grouped("sum"))

    def choose(*_: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        view.store.turn(1, {0: as_changes(R, [((1, 2.0), 1)])}, choose)
    assert (view.store.taken(), view.store.pending().tolist()) == (0, [0, 0])


def test_a_view_without_keys_has_one_row_over_nothing(opened: Any) -> None:
    view = opened(grouped("count", "sum", "min", "count_distinct", keyed=False))
    nothing = (0, None, None, 0)
    assert view.rows() == [nothing]
    assert view.turn() == [(*nothing, 1)]
    view.turn([((1, 2.0), 1), ((1, None), 1)], [((1, "a"), 1)])
    assert view.rows() == [(1, 2.0, 2.0, 1)]
    assert view.turn([((1, 2.0), -1)]) == [(*nothing, 1), (1, 2.0, 2.0, 1, -1)]


def test_an_extreme_that_goes_makes_room_for_the_next(opened: Any) -> None:
    view = opened(grouped("min", "max"))
    view.turn([((1, x), 1) for x in (3.0, 1.0, 2.0, math.nan)] + [((1, 1.0), 1)], [((1, "a"), 1)])
    found = []
    for gone in (1.0, 1.0, math.nan, 3.0):
        view.turn([((1, gone), -1)])
        found += view.rows()
    assert repr(found) == repr(
        [("a", 1.0, math.nan), ("a", 2.0, math.nan), ("a", 2.0, 3.0), ("a", 2.0, 2.0)]
    )


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_an_infinity_that_goes_leaves_nothing_behind(opened: Any, odd: float) -> None:
    view = opened(grouped("sum", "avg"))
    view.turn([((1, 1.5), 1), ((1, 2.5), 1), ((1, odd), 1)], [((1, "a"), 1)])
    assert repr(view.rows()) == repr([("a", odd, odd)])
    view.turn([((1, odd), -1)])
    assert view.rows() == [("a", 4.0, 2.0)]


def test_having_lets_groups_come_and_go(opened: Any) -> None:
    view = opened(grouped("count", having="a0 > 1"))
    assert view.turn([((1, 1.0), 1)], [((1, None), 1)]) == []
    assert view.turn([((1, 2.0), 1)]) == [(None, 2, 1)]
    assert view.turn([((1, 2.0), -1)]) == [(None, 2, -1)]
    view.turn([((1, 1.0), -1)])
    left = view.store.query('SELECT count(*) FROM "penstock_v".groups')
    assert left[0][0].as_py() == 0, "a group without rows is kept"


def test_rows_that_are_there_twice_are_shown_twice(opened: Any) -> None:
    outputs = (ViewColumn(name="n", sql=X, type=pa.float64()),)
    view = opened(
        ViewDefinition(
            name="v", dialect="duckdb", inputs=(R, S), conditions=(JOIN,), outputs=outputs
        )
    )
    assert view.turn([((1, 1.0), 2)], [((1, "a"), 1), ((1, "b"), 1)]) == [(1.0, 4)]
    assert view.rows() == [(1.0,)] * 4
    assert view.turn([((1, 1.0), -1)], [((1, "b"), -1)]) == [(1.0, -3)]
    assert view.store.query("SELECT count(*), min(n) FROM v")[0][0].as_py() == 1


def test_a_relation_may_be_joined_with_itself(opened: Any) -> None:
    columns = (("k", pa.int64()),)
    inputs = tuple(ViewInput(relation="r", alias=each, columns=columns) for each in ("a", "b"))
    count = Aggregate(
        name="a0", function="count", argument=None, argument_type=None, type=pa.int64()
    )
    view = opened(
        ViewDefinition(
            name="v", dialect="duckdb", inputs=inputs, conditions=('"a"."k" = "b"."k"',),
            is_grouped=True, aggregates=(count,),
            outputs=(ViewColumn(name="n", sql="a0", type=pa.int64()),),
        )
    )  # fmt: skip
    rows = [((1,), 3)]
    view.turn(rows, rows)
    assert view.rows() == [(9,)]
    view.turn([((1,), -1)], [((1,), -1)], flush=[0])
    assert view.rows() == [(6,)]
    view.store.refresh()
    assert view.rows() == [(4,)] == as_rows(view.store.recomputed())


def test_sums_of_integers_and_decimals_are_exact(opened: Any) -> None:
    cents, large = pa.decimal128(18, 2), pa.uint64()
    columns = (("c", cents), ("l", large))
    sums = tuple(
        Aggregate(
            name=f"a{number}", function="sum", argument=f'"r"."{name}"', argument_type=type_,
            type=pa.decimal128(38, getattr(type_, "scale", 0)),
        )
        for number, (name, type_) in enumerate(columns)
    )  # fmt: skip
    view = opened(
        ViewDefinition(
            name="v", dialect="duckdb", is_grouped=True, aggregates=sums,
            inputs=(ViewInput(relation="r", alias="r", columns=columns),),
            outputs=tuple(ViewColumn(name=own.name, sql=own.name, type=own.type) for own in sums),
        )
    )  # fmt: skip
    row = (Decimal("9999999999999999.99"), 2**64 - 1)
    view.turn([(row, 1_000_000), ((Decimal("0.01"), 1), 1)])
    assert view.rows() == [(1_000_000 * row[0] + Decimal("0.01"), 1_000_000 * row[1] + 1)]


NOON = dt.datetime(2026, 1, 2, 12, 30, 15, 123456)  # noqa: DTZ001
TYPES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [False, True]),
    *((type_, [-100, 0, 100]) for type_ in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
    *((type_, [0, 1, 200]) for type_ in (pa.uint8(), pa.uint16(), pa.uint32())),
    (pa.uint64(), [0, 2**63, 2**64 - 1]),
    (pa.float32(), [-math.inf, 0.1, math.inf]),
    (pa.float64(), [-1e300, 0.1, 1e-300 + 1]),
    (pa.decimal128(38, 10), [Decimal("-1.5"), Decimal("0.0000000001"), Decimal(10**27)]),
    (pa.string(), ["", "Z", "\\N", 'a"b,\r\n', "a" * 10_000, "ä"]),
    (pa.large_string(), ["NULL", "null"]),
    (pa.binary(), [b"", b"\0\xff", b"a"]),
    (pa.large_binary(), [b"\\x", b"a" * 10_000]),
    (pa.date32(), [dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(9999, 12, 31)]),
    (pa.time64("us"), [dt.time(0), dt.time(23, 59, 59, 999999)]),
    (pa.timestamp("s"), [NOON.replace(year=1969, microsecond=0), NOON.replace(microsecond=0)]),
    (pa.timestamp("ms"), [NOON.replace(year=1969, microsecond=0), NOON.replace(microsecond=1000)]),
    (pa.timestamp("us"), [NOON.replace(year=1800), NOON.replace(year=1969), NOON]),
    (pa.timestamp("us", "UTC"), [NOON.replace(tzinfo=dt.UTC)]),
]


@pytest.mark.parametrize(("type_", "values"), TYPES, ids=lambda each: str(each)[:20])
def test_values_of_every_type_come_out_as_they_went_in(
    opened: Any, type_: pa.DataType, values: list[Any]
) -> None:
    """Values are given in their order: what is least and greatest follows it in both stores."""
    columns = (("x", type_),)
    key = ViewColumn(name="g0", sql='"r"."x"', type=type_)
    view = opened(
        ViewDefinition(
            name="v", dialect="duckdb", outputs=(replace(key, name="x"),),
            inputs=(ViewInput(relation="r", alias="r", columns=columns),),
        )
    )  # fmt: skip
    view.turn([((each,), 1) for each in [*values, None]])
    assert view.store.rows().schema.types == [type_]
    assert view.rows() == sorted(
        [(pa.scalar(each, type_).as_py(),) for each in [*values, None]], key=repr
    )
    view.turn([((values[0],), -1)])
    assert len(view.rows()) == len(values)
    view.store.drop()
    both: tuple[AggregateFunction, ...] = ("min", "max")
    extremes = tuple(
        Aggregate(name=f"a{n}", function=own, argument='"r"."x"', argument_type=type_, type=type_)
        for n, own in enumerate(both)
    )
    outputs = tuple(ViewColumn(name=own.name, sql=own.name, type=type_) for own in extremes)
    view = opened(
        replace(view.store.definition, is_grouped=True, aggregates=extremes, outputs=outputs)
    )
    view.turn([((each,), 1) for each in [*values, None]])
    for number in range(len(values)):
        ends = (values[number], values[-1])
        assert view.rows() == [tuple(pa.scalar(each, type_).as_py() for each in ends)]
        assert as_rows(view.store.recomputed()) == view.rows()
        view.turn([((values[number],), -1)])


def test_names_may_be_anything(opened: Any) -> None:
    names = ["_n", "rows", 'a"b', "SELECT", "g0", "_id", "c0", "%s $1"]
    columns = tuple((name, pa.int64()) for name in names)
    alias = 'base0 "x"'
    quoted = [f'"base0 ""x"""."{name.replace(chr(34), chr(34) * 2)}"' for name in names]
    view = opened(
        ViewDefinition(
            name="meta's \"view\"", dialect="duckdb", conditions=(f"{quoted[0]} > 0",),
            inputs=(ViewInput(relation="r", alias=alias, columns=columns),),
            outputs=tuple(
                ViewColumn(name=name, sql=sql, type=pa.int64())
                for name, sql in zip(names, quoted, strict=True)
            ),
        )
    )  # fmt: skip
    row = tuple(range(1, 9))
    assert view.turn([(row, 1), ((0, *row[1:]), 1)]) == [(*row, 1)]
    assert view.rows() == [row]
    sql = 'SELECT "rows" FROM "meta\'s ""view""" WHERE "SELECT" = $1'
    assert as_rows(view.store.query(sql, [4])) == [(2,)]


def test_a_rehearsal_leaves_no_trace(opened: Any) -> None:
    view = opened(grouped("min", "count_distinct"))
    assert math.isnan(view.store.rehearse(0, 5))
    view.turn([((1, float(x)), 1) for x in range(8)], [((1, "a"), 1)])
    view.turn([((1, -1.0), 1)], flush=[])
    before = view.rows()
    for size in (1, 8, 100):
        assert view.store.rehearse(0, size) > 0
    assert math.isnan(view.store.rehearse(0, 2_000)), "so many rows there are not"
    assert view.rows() == before
    assert view.store.pending().tolist() == [1, 0]
    assert view.turn() == [("a", -1.0, 9, 1), ("a", 0.0, 8, -1)]


def test_what_comes_is_seen_ahead_and_undone(opened: Any) -> None:
    view = opened(grouped("min", "count"))
    view.turn([((1, 2.0), 1)], [((1, "a"), 1)])
    view.turn([((1, 3.0), 1)], flush=[])
    coming = {0: as_changes(R, [((1, 2.0), -1)]), 1: as_changes(S, [((1, "b"), 1)])}
    with view.store.ahead(coming):
        assert view.rows() == [("a", 3.0, 1), ("b", 3.0, 1)]
        assert as_rows(view.store.untold()) == [
            ("a", 2.0, 1, -1), ("a", 3.0, 1, 1), ("b", 3.0, 1, 1),
        ]  # fmt: skip
        asked = view.store.query('SELECT count(*) AS n FROM "v"')
        assert asked.to_pylist() == [{"n": 2}]
    assert view.rows() == [("a", 2.0, 1)] and view.store.pending().tolist() == [1, 0]
    assert view.store.untold().num_rows == 0
    with pytest.raises(PenstockError, match="VIEW-006"), view.store.ahead(coming):
        view.store.query("SELECT soup FROM v")
    assert view.turn(*([], []), flush=[0]) == [("a", 2.0, 1, -1), ("a", 2.0, 2, 1)]


def test_how_long_changes_have_waited_is_known(opened: Any) -> None:
    view = opened(grouped("min"))
    view.turn([((1, 2.0), 1)], [((1, "a"), 1)])
    assert view.store.age() == 0.0, "nothing waits"
    view.turn([((1, 3.0), 1)], flush=[])
    first = view.store.age()
    view.turn([((1, 4.0), 1)], flush=[])
    assert 0.0 < first < view.store.age(), "the oldest counts"
    view.store.refresh()
    assert view.store.age() == 0.0
    view.turn([((1, 5.0), 1)], flush=[])
    assert 0.0 < view.store.age() < 60.0, "it counts from what came since"


def test_a_view_of_before_learns_since_when_changes_wait(opened: Any) -> None:
    view = opened(grouped("min"))
    view.turn([((1, 2.0), 1)], [((1, "a"), 1)], flush=[])
    with view.store._transaction():
        for column in ("since", "life"):
            view.store._run(f'ALTER TABLE "penstock_v".meta DROP COLUMN {column}')
    view.store.close()
    view = opened(grouped("min"))
    assert view.store.age() == 0.0 and view.store.pending().tolist() == [1, 1]
    view.store.refresh()
    view.turn([((1, 3.0), 1)], flush=[])
    assert view.store.age() > 0.0


@pytest.mark.parametrize("is_asked", [False, True])
def test_tables_in_duckdb_do_not_grow_with_their_changes(tmp_path: Path, is_asked: bool) -> None:
    """Whoever flushes them: the rule, or readers who ask all the time."""
    flush: list[int] | None = [] if is_asked else None
    store = open_store(grouped("min"), str(tmp_path / "v.duckdb"))
    assert isinstance(store, DuckdbViewStore)
    store.settle_after = 10
    view = Driver(store)
    view.turn([((1, float(x)), 1) for x in range(20)], [((1, "a"), 1)])
    for number in range(30):
        row = (1, float(number % 20))
        view.turn([(row, -1), (row, 1), ((1, 20.0), 1)], flush=flush)
        store.refresh()
        view.turn([((1, 20.0), -1)], flush=flush)
        store.refresh()
    for table in ("base0", "values0"):
        counted = store.query(f'SELECT count(*) FROM "penstock_v".{table}')
        assert counted[0][0].as_py() < 60
    assert view.rows() == [("a", 0.0)]
    store.close()


@pytest.mark.parametrize("asked", ["rows", "query", "create"])
def test_who_comes_amid_a_turn_waits_for_its_end(opened: Any, asked: str) -> None:
    view = opened(grouped("min"))
    view.turn([((1, 2.0), 1)], [((1, "a"), 1)])
    other = opened(grouped("min")).store
    questions: dict[str, Callable[[], Any]] = {
        "rows": lambda: as_rows(other.rows()),
        "query": lambda: as_rows(other.query("SELECT * FROM v")),
        "create": other.create,
    }
    with ThreadPoolExecutor() as pool:
        answers = list[Future[Any]]()

        def ask(_pending: Ints, memo: str) -> tuple[Sequence[int], str]:
            answers.append(pool.submit(questions[asked]))
            wait(answers, timeout=0.1)
            return [0], memo

        view.store.turn(2, {0: as_changes(R, [((1, 1.0), 1)])}, ask)
        answer = answers[0].result()
    # PostgreSQL shows the version before to whoever reads; a file has one connection.
    before = asked != "create" and view.store.definition.dialect == "postgresql"
    assert answer == (None if asked == "create" else [("a", 2.0 if before else 1.0)])
    assert view.rows() == [("a", 1.0)]


def test_statements_can_be_read(opened: Any) -> None:
    store = opened(grouped("min")).store
    assert "queue0" in store.statements(0)[0] and "base1" in store.statements(0)[0]
    assert bool(store.indexes()) == (store.definition.dialect == "postgresql")


@pytest.mark.parametrize(
    "sql", ["DELETE FROM v", "SELECT 1; SELECT 2", "SELEC", "SELECT nothing FROM v", ""]
)
def test_readers_ask_one_select(opened: Any, sql: str) -> None:
    view = opened(grouped("min"))
    with pytest.raises(PenstockError, match="VIEW-006"):
        view.store.query(sql)
    assert view.turn([((1, 2.0), 1)], [((1, "a"), 1)]) == [("a", 2.0, 1)]


def test_what_fails_in_a_flush_is_told_and_undone(opened: Any) -> None:
    view = opened(grouped("min", having="CAST(g0 AS INTEGER) > 0"))
    view.turn([((1, 2.0), 1)], [((1, "1"), 1)])
    with pytest.raises(StoreTextError, match="VIEW-005"):
        view.turn([], [((1, "one"), 1)])
    assert (view.rows(), view.store.taken()) == ([("1", 2.0)], 1)


def test_another_view_of_the_name_is_refused(opened: Any) -> None:
    opened(grouped("min")).store.close()
    with pytest.raises(PenstockError, match="VIEW-003"):
        opened(grouped("max"))


def test_what_is_dropped_is_gone(opened: Any) -> None:
    view = opened(grouped("min"))
    view.turn([((1, 2.0), 1)], [((1, "a"), 1)])
    view.store.drop()
    view.store.create()
    assert (view.rows(), view.store.taken()) == ([], 0)


def test_a_type_that_no_store_keeps_is_refused(opened: Any) -> None:
    columns = (("l", pa.list_(pa.int64())),)
    definition = ViewDefinition(
        name="v", dialect="duckdb", inputs=(ViewInput(relation="r", alias="r", columns=columns),),
        outputs=(ViewColumn(name="l", sql="l", type=pa.int64()),),
    )  # fmt: skip
    with pytest.raises(PenstockError, match="VIEW-001"):
        opened(definition)


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreGoneError, match="VIEW-002"):
        open_store(grouped("min"), str(tmp_path / "no" / "v.duckdb"))


def test_what_was_taken_outlives_a_crash_behind_any_deed(tmp_path: Path) -> None:
    """DuckDB flushes bytes and no names, and opens no file that is not whole."""
    disk = tmp_path / "disk"
    journal = Journal(disk)
    shown: list[list[Any]] = [[]]
    with watched(journal):
        make_directory(disk / "views")
        view = Driver(open_store(grouped("min"), str(disk / "views" / "v.duckdb")))
        for number in (1, 2):
            view.turn([((1, float(number)), 1)], [((1, "a"), 1)])
            journal.mark("took", number)
            shown.append(view.rows())
        view.turn([], [])
    view.store.close()
    left = SimulatedDisk()
    for at, entry in enumerate(journal.entries):
        left.do(entry)
        for crash in CRASHES:
            place = tmp_path / f"{at}-{crash}"
            lay_down(left.left(crash), place)
            make_directory(place / "views")
            again = Driver(open_store(grouped("min"), str(place / "views" / "v.duckdb")))
            taken = again.store.taken()
            assert entry.marks <= taken <= entry.marks + 1, (at, crash)
            assert again.rows() == shown[min(taken, 2)], (at, crash)
            again.store.close()


def test_the_log_beside_a_small_file_stays_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "LOG_BYTES_MIN", 30_000)
    path = tmp_path / "v.duckdb"
    view = Driver(open_store(grouped("min"), str(path)))
    logs = []
    for number in range(20):
        view.turn([((1, float(number)), 1)], [((1, "a"), 1)])
        logs.append(Path(f"{path}.wal").stat().st_size if Path(f"{path}.wal").exists() else 0)
    shown = view.rows()
    assert max(logs) < 60_000 and any(later < log for log, later in pairwise(logs))
    copied = shutil.copytree(tmp_path, tmp_path / "killed", ignore=lambda *_: ["killed"])
    again = Driver(open_store(grouped("min"), str(copied / "v.duckdb")))
    assert (again.store.taken(), again.rows()) == (20, shown)
    again.store.close()
    view.store.close()


def test_files_beside_those_of_views_that_stand_are_kept(tmp_path: Path) -> None:
    names = ("a-1.duckdb", "a-1.duckdb.wal", "a-1.duckdb.wal.checkpoint", "b-1.duckdb.wal")
    (tmp_path / "views").mkdir()
    for name in (*names, ".a-1.duckdb.7-7.tmp"):
        (tmp_path / "views" / name).touch()
    forget_files(tmp_path, [tmp_path / "views" / "a-1.duckdb"])
    assert sorted(path.name for path in (tmp_path / "views").iterdir()) == list(names[:3])


def test_a_file_of_a_view_that_is_damaged_is_told(tmp_path: Path) -> None:
    path, definition = tmp_path / "v.duckdb", grouped("min")
    view = Driver(open_store(definition, str(path)))
    view.turn([((1, 1.0), 1)], [((1, "a"), 1)])
    view.store.close()
    data = path.read_bytes()
    assert (flaw_of(path, definition, 1), flaw_of(path, definition, 0)) == (None, None)
    told = flaw_of(path, definition, 3)
    assert told == "is of turn 1 of the view 'v', and its home of 3"
    for place in range(0, len(data), len(data) // 7):
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        assert "cannot be read: " in (flaw_of(path, definition, 1) or ""), place
    path.unlink()
    assert flaw_of(path, definition, 1) == "is missing, though the view has been maintained"
