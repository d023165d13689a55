"""DuckDB as a source, what a lookup's declaration checks, and what errors may say."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from penstock.algebra.memories import Lookup, Memory
from penstock.operators.lookup import describe, masked, resolved, rows
from penstock.operators.lookup.source_tables import open_source
from penstock.operators.lookup.sources import scrubbed
from penstock.vocabulary.errors import PenstockError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "o'clock.duckdb"
    with duckdb.connect(str(place)) as db:
        db.execute("CREATE TABLE prices (Id BIGINT, price DOUBLE, note VARCHAR)")
        db.execute("INSERT INTO prices SELECT i, i / 2, 'n' || i FROM range(10) AS r(i)")
        db.execute("INSERT INTO prices VALUES (7, 0, 'again'), (8, 0, 'a'), (8, 0, 'b')")
        db.execute('CREATE SCHEMA "odd one"')
        db.execute('CREATE TABLE "odd one"."a.b" AS SELECT 5 AS id')
        db.execute("CREATE VIEW dear AS SELECT id, 'x' || note AS price FROM prices")
        db.execute(
            "CREATE VIEW slow AS SELECT i AS id FROM range(100000000000) AS r(i) "
            "WHERE sqrt(i) + sin(i) < -5"
        )
    return place


def lookup(path: Path | str, table: str = "prices", key: str = "id", **options) -> Lookup:
    source = f"duckdb:{path}" if isinstance(path, Path) else path
    return Lookup(source=source, table=table, key=key, memory=Memory(rows=5), options=options)


def refusal(given: Lookup, columns: pa.Schema | None = None) -> str:
    with pytest.raises(PenstockError) as caught:
        describe(given, columns)
    return str(caught.value)


def test_the_columns_are_read_from_the_source(path: Path) -> None:
    found = describe(lookup(path))
    assert found == pa.schema([("Id", pa.int64()), ("price", pa.float64()), ("note", pa.string())])
    assert describe(lookup(path, '"odd one"."a.b"')).names == ["id"]


def test_listed_columns_must_be_there(path: Path) -> None:
    listed = pa.schema([("id", pa.int32()), ("price", pa.float32())])
    assert describe(lookup(path), listed) == listed
    text = refusal(lookup(path), pa.schema([("id", pa.int64()), ("prise", pa.float64())]))
    assert text.startswith("[LKP-005]")
    assert "'prise'" in text
    assert "price" in text


def test_a_source_that_is_not_there_is_refused(path: Path, tmp_path: Path) -> None:
    junk = tmp_path / "junk"
    junk.write_text("no database" * 1000)
    texts: dict[str, list[Path | str]] = {
        "LKP-001": ["mysql://me:secret@db/shop", "duckdb:", "prices"],
        "LKP-003": [tmp_path / "nothing.duckdb", junk],
    }
    for code, sources in texts.items():
        for source in sources:
            text = refusal(lookup(source))
            assert text.startswith(f"[{code}]"), text
            assert "secret" not in text


def test_a_table_or_key_that_is_not_there_is_refused(path: Path) -> None:
    assert refusal(lookup(path, "nothing")).startswith("[LKP-004]")
    assert refusal(lookup(path, "nowhere.prices")).startswith("[LKP-004]")
    text = refusal(lookup(path, key="ident"))
    assert text.startswith("[LKP-005]")
    assert "Id, price, note" in text


def test_rows_of_keys_come_in_the_types_asked_for(path: Path) -> None:
    schema = pa.schema([("note", pa.large_string()), ("id", pa.int32()), ("price", pa.float32())])
    found = rows(lookup(path, batch=2), schema, pa.array([3, 99, None, 5, 3, 7, 8, 1], pa.int64()))
    assert found.schema == schema
    assert sorted(found["id"].to_pylist()) == [1, 3, 5]
    assert sorted(found["note"].to_pylist()) == ["n1", "n3", "n5"]


def test_keys_that_the_key_cannot_be_have_no_row(path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    found = rows(lookup(path), schema, pa.array([1.0, 1.5, 2.0, 1e30, float("nan")]))
    assert sorted(found["id"].to_pylist()) == [1, 2]
    found = rows(lookup(path), schema, pa.array(["4", "four", ""]))
    assert found["id"].to_pylist() == [4]


def test_broken_rows_are_left_out(path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("price", pa.float64())])
    assert rows(lookup(path, "dear"), schema, pa.array([1, 2])).num_rows == 0


def test_a_key_that_the_source_fails_at_harms_no_other(path: Path) -> None:
    with duckdb.connect(str(path)) as db:
        db.execute(
            "CREATE VIEW cast_late AS SELECT id, CASE WHEN id = 4 THEN error('four') ELSE "
            "CAST(replace(note, 'n', '') AS BIGINT) END AS n FROM prices WHERE id < 7"
        )
    schema = pa.schema([("id", pa.int64()), ("n", pa.int64())])
    found = rows(lookup(path, "cast_late"), schema, pa.array(range(10)))
    assert sorted(found["n"].to_pylist()) == [0, 1, 2, 3, 5, 6]


def test_of_a_key_with_many_rows_two_come(path: Path) -> None:
    with duckdb.connect(str(path)) as db:
        db.execute("INSERT INTO prices SELECT 77, i, 'x' FROM range(5000) AS r(i)")
    source = open_source(lookup(path), ["id", "price"])
    assert source.fetch(pa.array([77, 1]), 5.0)["id"].to_pylist().count(77) == 2


def test_a_source_that_takes_too_long_is_broken_off(path: Path) -> None:
    source = open_source(lookup(path, "slow"), ["id"])
    with pytest.raises(PenstockError, match="LKP-010"):
        source.fetch(pa.array([1]), 0.2)
    assert open_source(lookup(path), ["id"]).fetch(pa.array([1]), 5.0).num_rows == 1


def test_whoever_writes_the_file_finds_it_free(path: Path) -> None:
    source = open_source(lookup(path), ["price"])
    assert source.fetch(pa.array([1]), 5.0)["price"].to_pylist() == [0.5]
    with duckdb.connect(str(path)) as db:
        db.execute("UPDATE prices SET price = 9 WHERE id = 1")
        # And while this process has it open, both see one database.
        assert source.fetch(pa.array([1]), 5.0)["price"].to_pylist() == [9.0]
        db.execute("UPDATE prices SET price = 10 WHERE id = 1")
        assert source.fetch(pa.array([1]), 5.0)["price"].to_pylist() == [10.0]
    assert source.fetch(pa.array([1]), 5.0)["price"].to_pylist() == [10.0]


def test_without_its_driver_postgresql_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    text = refusal(lookup("postgresql://me:secret@127.0.0.1/shop"))
    assert text.startswith("[LKP-002]")
    assert "pip install" in text
    assert "secret" not in text


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("postgresql://me:p@ss/w:rd@db/shop", "postgresql://me:***@db/shop"),
        ("postgres://me@db/shop?password=s%20p", "postgres://me@db/shop?password=***"),
        ("postgresql://me@db:5432/shop", "postgresql://me@db:5432/shop"),
        ("duckdb:a/b.duckdb", "duckdb:a/b.duckdb"),
    ],
)
def test_passwords_are_masked(source: str, shown: str) -> None:
    assert masked(source) == shown


def test_passwords_are_taken_out_of_what_a_database_says() -> None:
    source = "postgresql://me:a%2Fb@db/shop?password=other"
    assert scrubbed("bad 'a/b' in a%2Fb,\n  not other.", source) == "bad '***' in ***, not ***"


def test_a_file_has_one_place_wherever_a_process_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolved("duckdb:shop.duckdb") == f"duckdb:{tmp_path.resolve()}/shop.duckdb"
    assert resolved("postgresql://db/shop") == "postgresql://db/shop"


def test_keys_that_are_no_numbers_are_keys_all_the_same(path: Path) -> None:
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE floats AS SELECT 'NaN'::DOUBLE AS f, 1 AS n UNION ALL SELECT 2, 2")
        db.execute("INSERT INTO floats VALUES (3, 3), (3, 4)")
    schema = pa.schema([("f", pa.float64()), ("n", pa.int32())])
    keys = pa.array([float("nan"), 2.0, 3.0, float("nan")])
    found = rows(lookup(path, "floats", "f"), schema, keys)
    assert sorted(found["n"].to_pylist()) == [1, 2]


def test_a_table_that_is_not_there_is_refused_with_those_that_are(path: Path) -> None:
    text = refusal(lookup(path, "prizes"))
    assert text.startswith("[LKP-004]")
    assert "main.prices" in text
    assert "odd one.a.b" in text
