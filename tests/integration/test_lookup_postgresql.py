"""Lookups in a PostgreSQL server of the test's own: types, refusals, servers that die or hang."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.crossings import Crossing
from penstock.algebra.inputs import InputShape
from penstock.algebra.lookups import LookupJoinStep
from penstock.algebra.memories import Lookup, Memory
from penstock.algebra.physical import BranchShape
from penstock.operators.lookup import LookupJoinOperator, describe, explain, facts, rows
from penstock.operators.lookup.figures import BROKEN, FAILURES
from penstock.operators.lookup.source_tables import open_source
from penstock.operators.protocol import Operator
from penstock.vocabulary.batches import QueryChanges
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.shared_figures import ROWS_WAITING
from tests.support import postgres

pytestmark = pytest.mark.skipif(postgres.missing() is not None, reason=postgres.missing() or "")
SECRET = "open$esame"
TABLES = (
    "CREATE TABLE prices (id BIGINT PRIMARY KEY, price DOUBLE PRECISION, name TEXT)",
    "INSERT INTO prices SELECT i, i / 2.0, 'n' || i FROM generate_series(0, 999) AS i",
    "CREATE SCHEMA shop",
    'CREATE TABLE shop."Odd One" ("Key" TEXT, "v.w" INT)',
    "INSERT INTO shop.\"Odd One\" VALUES ('a', 1), ('A', 2), ('quote''s', 3), ('{x,\"y\"}', 4)",
    "CREATE TABLE many (id SMALLINT, i INT, r REAL, b BOOLEAN, d DATE, t TIMESTAMP, "
    "z TIMESTAMPTZ, m NUMERIC(10, 2), free NUMERIC, u UUID, j JSONB, c CHAR(5), v VARCHAR(9), "
    "bytes BYTEA)",
    "INSERT INTO many VALUES (1, -2, 0.1, true, '2024-02-29', '2024-02-29 12:34:56.789012', "
    "'2024-02-29 12:00:00+02', 12.5, 1e3, '0123abcd-0000-0000-0000-00000000000f', "
    "'{\"a\": 1}', 'ab', 'vw', '\\x00ff')",
    "INSERT INTO many (id) VALUES (2)",
    "CREATE TABLE loose (id BIGINT, price TEXT)",
    "INSERT INTO loose VALUES (1, '1.5'), (2, 'dear'), (3, '3'), (3, '4'), (4, NULL), "
    "(5, 'Infinity')",
    "CREATE TABLE moments (id INT, t TIMESTAMP)",
    "INSERT INTO moments VALUES (1, 'infinity'), (2, '2024-01-01'), (3, '0044-03-15 BC')",
    "CREATE VIEW shares AS SELECT id, 1.0 / (id - 3) AS price FROM prices",
    "CREATE VIEW slow AS SELECT id, price, (pg_sleep(3))::text AS name FROM prices",
    f"CREATE USER clerk PASSWORD '{SECRET}'",
    "CREATE TABLE vault (id BIGINT)",
    "GRANT SELECT ON prices TO clerk",
)


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    with postgres.running() as started:
        started.execute(*TABLES)
        yield started


@pytest.fixture
def awake(server: postgres.Server) -> Iterator[postgres.Server]:
    """A server that a test may stop and let hang: it runs again afterwards."""
    yield server
    server.stop()
    server.start()


def lookup(server: postgres.Server, table: str = "prices", key: str = "id", **parts: Any) -> Lookup:
    source = parts.pop("source", server.url())
    memory = Memory(rows=parts.pop("rows", 100), policy="LRU")
    options = {"timeout": 60.0, "backoff": 0.0, "cooldown": 0.0, "retries": 0, **parts}
    return Lookup(source=source, table=table, key=key, memory=memory, options=options)


def refusal(given: Lookup, columns: pa.Schema | None = None) -> str:
    with pytest.raises(PenstockError) as caught:
        describe(given, columns)
    return str(caught.value)


def test_the_columns_are_read_from_the_server(server: postgres.Server) -> None:
    found = describe(lookup(server))
    assert found == pa.schema([("id", pa.int64()), ("price", pa.float64()), ("name", pa.string())])
    assert describe(lookup(server, "PRICES", "ID")).names == ["id", "price", "name"]
    assert describe(lookup(server, 'shop."Odd One"', "Key")).names == ["Key", "v.w"]


def test_values_of_every_type_come_as_they_are(server: postgres.Server) -> None:
    given = lookup(server, "many")
    schema = describe(given)
    assert schema.field("m").type == pa.decimal128(10, 2)
    found = rows(given, schema, pa.array([1, 2, 3]))
    assert found.schema == schema
    first, second = sorted(found.to_pylist(), key=lambda row: row["id"])
    assert first == {
        "id": 1, "i": -2, "r": pytest.approx(0.1), "b": True, "d": dt.date(2024, 2, 29),
        "t": dt.datetime(2024, 2, 29, 12, 34, 56, 789012),  # noqa: DTZ001
        "z": dt.datetime(2024, 2, 29, 10, 0, tzinfo=dt.UTC), "m": Decimal("12.50"), "free": 1000.0,
        "u": "0123abcd-0000-0000-0000-00000000000f", "j": '{"a": 1}', "c": "ab", "v": "vw",
        "bytes": "\\x00ff",
    }  # fmt: skip
    assert second == dict.fromkeys(schema.names) | {"id": 2}


@pytest.mark.parametrize(
    ("key", "asked"),
    [
        ("i", [-2, 99999999999]),
        ("r", [0.1, 0.2]),
        ("b", [True, False]),
        ("d", [dt.date(2024, 2, 29)]),
        ("t", [dt.datetime(2024, 2, 29, 12, 34, 56, 789012)]),  # noqa: DTZ001
        ("z", [dt.datetime(2024, 2, 29, 10, 0, tzinfo=dt.UTC)]),
        ("m", [Decimal("12.5"), Decimal("0.123")]),
        ("u", ["0123abcd-0000-0000-0000-00000000000f", "no uuid"]),
        ("c", ["ab", "abcdefghij"]),
        ("v", ["vw", "'"]),
        ("j", ['{"a": 1}', "no json"]),
    ],
)
def test_every_type_can_be_the_key(server: postgres.Server, key: str, asked: list[Any]) -> None:
    given = lookup(server, "many", key)
    found = rows(given, describe(given), pa.array(asked))
    assert found["id"].to_pylist() == [1]


def test_texts_are_asked_for_as_they_are(server: postgres.Server) -> None:
    given = lookup(server, 'shop."Odd One"', "Key", batch=2)
    asked = pa.array(["a", "quote's", '{x,"y"}', "\\", "", "NULL", "ä"])
    found = rows(given, describe(given), asked)
    assert sorted(found["v.w"].to_pylist()) == [1, 3, 4]


def test_an_index_on_the_key_is_used(server: postgres.Server) -> None:
    server.execute("ANALYZE prices")
    source: Any = open_source(lookup(server), ["id", "price"])
    assert source.fetch(pa.array([1]), 5.0).num_rows == 1
    with source._connected(5.0) as connection:
        told = source._table(connection)
        query = source._query(told, told.columns[0], ["id", "price"])
        plan = connection.execute(f"EXPLAIN {query}", [["1", "2"]]).fetchall()
    source.close()
    assert "Index" in str(plan)


def test_what_is_not_there_is_refused(server: postgres.Server) -> None:
    assert refusal(lookup(server, "nothing")).startswith("[LKP-004]")
    assert refusal(lookup(server, "no such; table")).startswith("[LKP-004]")
    assert refusal(lookup(server, "nowhere.prices")).startswith("[LKP-004]")
    assert refusal(lookup(server, key="ident")).startswith("[LKP-005]")
    listed = pa.schema([("id", pa.int64()), ("prise", pa.float64())])
    assert "'prise'" in refusal(lookup(server), listed)
    nobody = lookup(server, source="postgresql://postgres@127.0.0.1:1/shop")
    assert refusal(nobody).startswith("[LKP-003]")
    assert refusal(lookup(server, source=server.url(database="shop"))).startswith("[LKP-003]")


def test_passwords_let_in_and_are_never_told(
    server: postgres.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clerk = lookup(server, source=server.url("clerk", SECRET))
    assert describe(clerk).names == ["id", "price", "name"]
    wrong = refusal(lookup(server, source=server.url("clerk", "wrong$wrong")))
    assert wrong.startswith("[LKP-003]")
    assert "password authentication failed" in wrong
    assert "wrong$wrong" not in wrong
    odd = refusal(lookup(server, source=f"postgresql://clerk:{SECRET}@127.0.0.1:port/x"))
    assert odd.startswith("[LKP-003]")
    assert SECRET not in odd
    text = refusal(lookup(server, "vault", source=server.url("clerk", SECRET)))
    assert text.startswith("[LKP-006]")
    assert SECRET not in text
    bare = lookup(server, source=server.url("clerk"))
    assert refusal(bare).startswith("[LKP-003]")
    with monkeypatch.context() as patched:
        patched.setenv("PGPASSWORD", SECRET)
        assert describe(bare).names == ["id", "price", "name"]
    file = tmp_path / "pgpass"
    file.write_text(f"127.0.0.1:{server.port}:*:clerk:{SECRET}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert describe(bare).names == ["id", "price", "name"]


def test_a_slow_server_is_broken_off(server: postgres.Server) -> None:
    source = open_source(lookup(server, "slow"), ["id", "name"])
    with pytest.raises(PenstockError, match="LKP-010"):
        source.fetch(pa.array([1]), 0.3)
    assert open_source(lookup(server), ["id"]).fetch(pa.array([1]), 60.0).num_rows == 1


# The operator.


class Group:
    """A stream `trades` looked up in a table of the server."""

    def __init__(self, given: Lookup, columns: tuple[tuple[str, pa.DataType], ...]) -> None:
        stream = InputShape(
            relation="trades", columns=(("n", pa.int64()), ("id", pa.int64())), window=None,
            branch=BranchShape(),
        )  # fmt: skip
        other = InputShape(relation="p", columns=columns, window=None, branch=BranchShape())
        self.step = LookupJoinStep(
            inputs=(stream, other), crossing=Crossing(equalities=(((0, "id"), (1, "id")),)),
            lookup=given, looked_up=1,
        )  # fmt: skip
        self.operator: Operator = self.build()
        self.next = 0

    def build(self, snapshot: bytes | None = None) -> Operator:
        operator = LookupJoinOperator(self.step, snapshot)
        operator.apply(QueryChanges(adds={"queries": pa.table({"query": [0]})}))
        return operator

    def bring(self, *ids: int) -> list[tuple[int, Any]]:
        numbers = list(range(self.next, self.next + len(ids)))
        self.next += len(ids)
        batch = {"trades": pa.table({"n": numbers, "id": pa.array(ids, pa.int64())})}
        found = self.operator.process(batch if ids else {})
        return [
            (row["i0.n"], row["i1.price"])
            for result in found
            if result.rows is not None
            for row in result.rows.to_pylist()
        ]

    def answered(self, *ids: int) -> list[tuple[int, Any]]:
        """Ask until there is an answer: on a busy machine one may come too late."""
        found = self.bring(*ids)
        while not found:
            found = self.bring()
        return found


PRICES = (("id", pa.int64()), ("price", pa.float64()))


def test_a_server_that_dies_and_comes_back_loses_nothing(awake: postgres.Server) -> None:
    group = Group(lookup(awake, retries=1, backoff=0.01), PRICES)
    assert group.bring(1, 2, 5000) == [(0, 0.5), (1, 1.0)]
    awake.stop()
    assert group.bring(3, 1) == []
    assert group.bring(4) == []
    assert group.operator.sizes()[ROWS_WAITING] == 3
    assert group.operator.counts()[FAILURES] == 1, "an open breaker tries once"
    # A restart in between takes the waiting rows with it.
    group.operator = group.build(group.operator.snapshot())
    awake.start()
    assert group.bring() == [(3, 1.5), (4, 0.5), (5, 2.0)]
    assert group.bring(6) == [(6, 3.0)]


def test_a_connection_that_was_cut_is_made_again(awake: postgres.Server) -> None:
    group = Group(lookup(awake, retries=1, backoff=0.0), PRICES)
    assert group.bring(1) == [(0, 0.5)]
    awake.stop()
    awake.start()
    assert group.bring(2) == [(1, 1.0)]
    assert group.operator.counts()[FAILURES] == 1


def test_a_server_that_hangs_is_not_waited_for(awake: postgres.Server) -> None:
    group = Group(lookup(awake, timeout=0.5), PRICES)
    assert group.answered(1) == [(0, 0.5)]
    awake.hang()
    assert group.bring(2) == []
    assert "did not answer" in str(facts(group.operator).last_failure)
    # No connection is there any more, and none is made.
    assert group.bring(3) == []
    assert group.operator.sizes()[ROWS_WAITING] == 2
    awake.go_on()
    assert group.answered() == [(1, 1.0), (2, 1.5)]


def test_broken_rows_are_refused_and_harm_no_other(server: postgres.Server) -> None:
    group = Group(lookup(server, "loose"), PRICES)
    assert group.bring(1, 2, 3, 4, 5, 6) == [(0, 1.5), (3, None), (4, float("inf"))]
    assert group.operator.counts()[BROKEN] == 2
    assert [each.key for each in facts(group.operator).broken_keys] == ["2", "3"]
    times = Group(lookup(server, "moments"), (("id", pa.int64()), ("t", pa.timestamp("us"))))
    batch = {"trades": pa.table({"n": [0, 1, 2], "id": [1, 2, 3]})}
    (result,) = times.operator.process(batch)
    assert result.rows is not None
    assert result.rows["i1.id"].to_pylist() == [2]
    assert times.operator.counts()[BROKEN] == 2


def test_a_key_that_the_server_fails_at_is_refused_alone(server: postgres.Server) -> None:
    group = Group(lookup(server, "shares"), PRICES)
    assert group.bring(1, 2, 3, 4, 5) == [(0, -0.5), (1, -1.0), (3, 1.0), (4, 0.5)]
    assert group.operator.counts()[BROKEN] == 1
    assert group.operator.counts()[FAILURES] == 0
    (broken,) = facts(group.operator).broken_keys
    assert broken.key == "3"
    assert "division by zero" in broken.reason
    given = lookup(server, 'shop."Odd One"', "Key")
    assert rows(given, describe(given), pa.array(["a", "nul\0", "A"])).num_rows == 2


def test_a_table_that_goes_away_lets_rows_wait(server: postgres.Server) -> None:
    server.execute("CREATE TABLE gone (id BIGINT, price DOUBLE PRECISION)",
                   "INSERT INTO gone VALUES (1, 7)")  # fmt: skip
    group = Group(lookup(server, "gone"), PRICES)
    assert group.bring(2) == []
    server.execute("ALTER TABLE gone RENAME TO hidden")
    assert group.bring(1) == []
    assert group.bring() == []
    assert "no table" in str(facts(group.operator).last_failure)
    server.execute("ALTER TABLE hidden RENAME TO gone")
    assert group.bring() == [(1, 7.0)]
    server.execute("DROP TABLE gone")


@pytest.mark.parametrize("column", ["price", "id"])
def test_a_table_that_loses_a_column_lets_rows_wait(server: postgres.Server, column: str) -> None:
    server.execute("CREATE TABLE lossy (id BIGINT, price DOUBLE PRECISION)",
                   "INSERT INTO lossy VALUES (1, 7), (2, 8), (NULL, 9), (NULL, 9)")  # fmt: skip
    group = Group(lookup(server, "lossy"), PRICES)
    assert group.bring(1) == [(0, 7.0)]
    server.execute(f"ALTER TABLE lossy RENAME COLUMN {column} TO lost")
    assert group.bring(2, 1) == []
    assert group.bring() == []
    assert f"has no column '{column}'" in str(facts(group.operator).last_failure)
    assert group.operator.sizes()[ROWS_WAITING] == 2
    server.execute(f"ALTER TABLE lossy RENAME COLUMN lost TO {column}")
    assert group.bring() == [(1, 8.0), (2, 7.0)]
    # Another type of the key is noticed too; rows may wait for one question.
    server.execute("ALTER TABLE lossy ALTER id TYPE TEXT")
    assert [*group.bring(2, 3), *group.bring()] == [(3, 8.0)]
    group.bring(4)
    assert group.operator.sizes()[ROWS_WAITING] == 0
    server.execute("DROP TABLE lossy")


def test_explain_and_facts_hide_the_password(server: postgres.Server) -> None:
    group = Group(lookup(server, source=server.url("clerk", SECRET)), PRICES)
    assert group.bring(1) == [(0, 0.5)]
    shown = f"{explain(group.step, {})}{facts(group.operator)}"
    assert SECRET not in shown
    assert "clerk:***@" in shown
