"""Ways out of a standing query's text: files, network, extensions, settings, memory and time.

Texts are refused by what DuckDB itself reads in them, and the door through which both hosts and all
readers reach DuckDB has nothing behind it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.algebra.memories import Lookup, Memory
from penstock.delivery.sink_kinds import SinkAddress
from penstock.engine import Desk
from penstock.expressions import deadlines
from penstock.expressions.admission import AdmissionError
from penstock.expressions.catalogue import admit
from penstock.expressions.conditions import Predicate
from penstock.expressions.connections import connect
from penstock.expressions.evaluation import connection, evaluate
from penstock.expressions.function_list import ALLOWED, FAMILIES, INTERNAL, OUTSIDE, SIGNS
from penstock.expressions.guards import GUARDS, LIST_MAX, TEXT_MAX
from penstock.kinds.binder import bind
from penstock.operators.lookup.source_tables import open_source
from penstock.vocabulary.errors import PenstockError

SCHEMA = pa.schema(
    [("n", pa.int64()), ("s", pa.string()), ("ts", pa.timestamp("us")), ("l", pa.list_(pa.int64()))]
)
CATALOG = {"t": Relation(name="t", kind="stream", schema=SCHEMA)}
ROWS = pa.table({"n": [1, 2], "s": ["a", "b"]})


def grown(times: int) -> str:
    """Make a text three times as long so many times, by lambdas inside each other."""
    text = f"v{times}"
    for number in range(times, 0, -1):
        value = f"v{number - 1}" if number > 1 else "s"
        text = f"list_transform([{value} || {value} || {value}], lambda v{number}: {text})[1]"
    return text


OUT = {
    "json_serialize_plan('SELECT * FROM read_csv(''/etc/passwd'')')": "SQL-027",
    "json_serialize_sql('SELECT 1')": "SQL-027",
    "json_deserialize_sql('{}')": "SQL-027",
    "getenv('HOME')": "SQL-022",
    "current_setting('threads')": "SQL-023",
    "read_text('/etc/passwd')": "SQL-015",
    "system.main.read_text('/etc/passwd')": "SQL-015",
    "query('SELECT 1')": "SQL-015",
    "query_table('t')": "SQL-015",
    "(SELECT 1)": "SQL-013",
    "n >= t.*": "SQL-013",
    "EXISTS (SELECT 1)": "SQL-013",
    "n IN (SELECT 1)": "SQL-013",
    "finalize(s::BLOB)": "SQL-027",
    "__internal_barrier(n)": "SQL-027",
    "system.main.repeat(s, 5)": "SQL-027",
    "list_aggregate(l, 'reservoir_quantile', 0.5)": "SQL-023",
    "printf('%300000000d', n)": "SQL-028",
    "format('{:>300000000}', n)": "SQL-028",
    "printf(s, n)": "SQL-028",
    "list_reduce(range(100), lambda a, x: a || a, 'x')": "SQL-028",
    "list_reduce(range(100), lambda a, x: replace(a, 'x', 'xx'), 'x')": "SQL-028",
    "list_reduce(range(100), lambda a, x: format('{}{}', a, a), 'x')": "SQL-028",
    "list_reduce(range(100), lambda a, x: hex(a), 'x')": "SQL-028",
    "list_reduce(range(100), lambda a, x: json_quote(a)::VARCHAR, 'x')": "SQL-028",
    "list_reduce(range(100), lambda a, x: regexp_escape(a), '.')": "SQL-028",
    grown(8): "SQL-028",
    " || ".join(["repeat('x', 100000)"] * 30): "SQL-028",
    "(repeat('[', 50000) || repeat(']', 50000))::JSON::VARIANT": "SQL-027",
    "s::JSON::STRUCT(a VARIANT[])": "SQL-027",
    "variant_typeof(s::JSON)": "SQL-027",
    "list_transform(range(9000), lambda x: list_sum(range(9000)))": "SQL-028",
    "list_transform(range(9000), lambda x: [x * y for y in range(9000)])": "SQL-028",
    "list_aggregate(range(9000), 'string_agg', repeat('x', 90000))": "SQL-028",
    "array_to_string(range(9000), s)": "SQL-028",
    "list_transform(range(999), lambda x: regexp_matches(s, 'a' || x))": "SQL-028",
    "from_json(s, '" + "[" * 99 + '"INT"' + "]" * 99 + "')": "SQL-028",
    "json_transform(s, '{" + ", ".join(f'"k{i}": "INT"' for i in range(999)) + "}')": "SQL-028",
    "from_json(s, repeat('[', 9000) || '\"INT\"' || repeat(']', 9000))": "SQL-028",
    "n::INT" + "[]" * 50: "SQL-028",
    "s::JSON::STRUCT(" + ", ".join(f"k{i} INT" for i in range(999)) + ")": "SQL-028",
    "nullif(" * 25 + "n" + ", 1)" * 25: "SQL-028",
    "repeat(" * 20 + "s" + ", 1)" * 20: "SQL-028",
}
"""Texts that lead somewhere, and the code that refuses each."""


@pytest.mark.parametrize("text", OUT)
def test_texts_that_lead_out_are_refused(text: str) -> None:
    for sql in (f"SELECT {text} AS o FROM t", f"SELECT n FROM t WHERE ({text}) IS NOT NULL"):
        with pytest.raises(PenstockError) as refused:
            bind(sql, CATALOG)
        assert refused.value.code == OUT[text], refused.value


@pytest.mark.parametrize(
    "text",
    [
        "list_transform(l, lambda x: x + 1)", "[x * 2 for x in l if x > 1]", "n = ANY(l)",
        "list_reduce(l, lambda a, x: a + x)", "repeat(s, 100)", "range(n)",
        "list_reduce(string_split(s, ','), lambda a, x: a || x)", "printf('%5d', n)",
        grown(5), "list_reduce(l, lambda a, x: greatest(a, x + a) % 7)",
        "repeat(s, 9) || repeat(s, n)",
        "list_filter(regexp_extract_all(s, '[a-z]'), lambda x: regexp_matches(x, 'a'))",
        "array_to_string(l, ', ')", "list_aggregate(l, 'string_agg', ';')", "list_aggr(l, 'max')",
        """from_json(s, '{"a": ["INT"], "b": {"c": "DATE"}}')""", "s::JSON::STRUCT(a INT[], b INT)",
        "s SIMILAR TO '[a-z]{1,9}'", "json_pretty(s::JSON)",
        "lpad(s, 20, '0')", "main.upper(s)", "s COLLATE NOCASE = 'A'", "nullif(nullif(n, 1), 2)",
        "regexp_replace(s, 'a', 'b', 'g')", "split_part(s, ',', 1)", "s -> '$.a'",
    ],
)  # fmt: skip
def test_what_is_of_the_row_alone_is_admitted(text: str) -> None:
    bind(f"SELECT ({text}) AS o FROM t", CATALOG)


@pytest.mark.parametrize(
    "text", ["1; COPY t TO 'x'", "1 FROM t", "1 UNION SELECT 2", "* FROM t", "#1", "sum(n) OVER ()"]
)
def test_what_is_no_expression_in_duckdbs_reading_is_refused(text: str) -> None:
    """Whatever sqlglot made of it."""
    with pytest.raises(AdmissionError):
        admit(text)


STATEMENTS = {
    "files": "SELECT * FROM read_text('{file}')",
    "files by name": "SELECT * FROM '{file}'",
    "files in a plan": "SELECT * FROM '{file}' LIMIT json_array_length(json_serialize_plan('x'))",
    "writing": "COPY (SELECT 1) TO '{file}.out'",
    "databases": "ATTACH '{file}.db'",
    "network": "SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')",
    "extensions": "INSTALL httpfs",
    "loading": "LOAD httpfs",
    "settings": "SET memory_limit = '100GB'",
    "unlocking": "SET lock_configuration = false",
    "access": "SET enable_external_access = true",
    "secrets": "CREATE PERSISTENT SECRET s (TYPE http)",
}


@pytest.mark.parametrize("way", STATEMENTS)
def test_behind_the_door_there_is_nothing(way: str, tmp_path: Path) -> None:
    """What operators and readers of both hosts hold, and what `verify` opens."""
    file = tmp_path / "secret.csv"
    file.write_text("a,b\n1,2\n")
    scratch = connect(tmp_path / "scratch.duckdb")
    for db in (connection(), connection(trying=True), connect(), scratch):
        with pytest.raises(duckdb.Error):
            db.execute(STATEMENTS[way].format(file=file)).fetchall()
        assert db.execute("SELECT 1").fetchall() == [(1,)]
    scratch.close()


MADE: dict[str, list[Any] | None] = {
    "repeat(s, n * 1000000000)": None,
    "repeat(s, n)": ["a", "bb"],
    "range(n * 1000000000)": None,
    "len(range(n * 5000))": [5000, LIST_MAX],
    "len(range(n * 5001))": [5001, None],
    "length(lpad(s, n::INTEGER * 50000, 'x'))": [50_000, TEXT_MAX],
    "length(concat_ws(repeat('x', n * 40000), 'a', 'b', 'c'))": [80_003, None],
    "rpad(s, 1000000000, 'x')": None,
    "list_resize([n], 1000000000)": None,
    "length(replace(repeat(s, 1000), s, repeat('x', 100000)))": None,
    "regexp_replace(repeat(s, 1000), '.', repeat('x', 100000), 'g')": None,
    "generate_series(TIMESTAMP '2000-01-01', TIMESTAMP '2100-01-01', INTERVAL 1 SECOND)": None,
    "bitstring(s, 1000000000)": None,
    "levenshtein(repeat(s, 50000), repeat('x', n * 50000))": None,
    "damerau_levenshtein(repeat(s, 100000), repeat('x', 100000))": None,
    "jaro_similarity(repeat(s, 50000), repeat('ba', 50000))": None,
    "jaro_winkler_similarity(repeat(s, 50000), repeat('ba', 50000), 0.5)": None,
    "jaro_similarity(s, 'a')": [1.0, 0.0],
    "json_contains(repeat('[', 50000) || repeat(']', 50000), repeat('[', 49000))": None,
    "json_contains(['a', 'c']::JSON, to_json(s))": [True, False],
    "regexp_matches(repeat(s, 90000), '(.{0,30}){0,30}$z')": None,
    "repeat(s, 90000) SIMILAR TO repeat('(a?b?){9}', n)": None,
    "regexp_extract_all(repeat(s, 90000), '[ab]*' || repeat('a[ab]', 99) || 'c')": None,
    "regexp_matches(s, '(a{1,30}){1,30}|b')": [True, True],
    "regexp_extract(repeat(s, 1000), '(a)(a{0,9})', 2)": ["a" * 9, ""],
    "json_pretty(repeat('[', n * 3000) || repeat(']', n * 3000))": None,
    "length(json_pretty(repeat('[', n) || repeat(']', n)))": [2, 10],
    "editdist3(s, 'abc')": [2, 2],
    "damerau_levenshtein(s, repeat('a', n * 10))": [9, 20],
}
"""Expressions, and what they give for both rows; None: both fail."""


@pytest.mark.parametrize("text", MADE)
def test_a_row_that_asks_for_too_much_fails_and_the_others_do_not(text: str) -> None:
    (made,) = evaluate([text], ROWS)
    expected = MADE[text] or [None, None]
    assert made.values.to_pylist() == expected
    assert made.failures == expected.count(None)
    held = Predicate(f"({text}) IS NOT NULL").ask(ROWS)
    assert held.holds.tolist() == [value is not None for value in expected]


@pytest.mark.parametrize(
    "text",
    ["json_structure((repeat('[', 50000) || repeat(']', 50000))::JSON)", "l::DOUBLE[100000]"],
)
def test_what_duckdb_cannot_do_is_refused_and_the_next_text_is_not(text: str) -> None:
    """After a fault of its own a connection of DuckDB answers nothing any more."""
    with pytest.raises(PenstockError, match="SQL-032"):
        bind(f"SELECT {text} AS o FROM t", CATALOG)
    bind("SELECT n + 41 AS o FROM t", CATALOG)


def test_a_registration_ends_within_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "REGISTRATION_S", 0.0)
    monkeypatch.setattr("penstock.kinds.binder.within", lambda: deadlines.within(0.0))
    with pytest.raises(PenstockError) as refused:
        bind("SELECT n FROM t WHERE n * 2 > 1", CATALOG)
    assert refused.value.code == "SQL-029"
    slow = "SELECT count(*) FROM range(100000000000)"
    with connect() as db, deadlines.within(0.1), pytest.raises(AdmissionError, match="SQL-029"):
        deadlines.watched(db, lambda: db.execute(slow).fetchall())


def test_every_constant_function_of_this_duckdb_was_looked_at() -> None:
    """A new version's functions are in no list: put each into ALLOWED or OUTSIDE."""
    with connect() as db:
        rows = db.execute(
            "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE "
            "function_type = 'scalar' AND stability = 'CONSISTENT' AND database_name = 'system'"
        ).fetchall()
    found = {name for (name,) in rows if not name.startswith((INTERNAL, *FAMILIES))}
    words = {"is distinct from", "is not distinct from"}
    assert found - words == ALLOWED | SIGNS | OUTSIDE
    assert not ALLOWED & OUTSIDE and set(GUARDS) <= ALLOWED


def test_secrets_are_in_the_environment_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lookup's address is kept as it was written, whatever it stands for."""
    source = "postgresql://me:${WALLS_KEY}@127.0.0.1:9/x"
    asked = Lookup(source=source, table="t", key="k", memory=Memory(rows=5, policy="LRU"))
    with pytest.raises(PenstockError, match="ENG-060") as unset:
        open_source(asked)
    assert "WALLS_KEY" in str(unset.value)
    monkeypatch.setenv("WALLS_KEY", "hunter2hunter2")
    with pytest.raises(PenstockError, match="LKP-003") as refused:
        open_source(asked).columns(1.0)
    assert "hunter2" not in str(refused.value)
    assert "${WALLS_KEY}" in str(PenstockError("X-001", "Is hunter2hunter2 right?", "Look."))
    address = SinkAddress(text="https://h/${WALLS_KEY}", engine="e", subscription="s")
    assert address.resolved() == "https://h/hunter2hunter2" and "hunter2" not in str(address)
    before = os.umask(0)
    try:
        Desk(tmp_path / "above" / "home").close()
    finally:
        os.umask(before)
    home = tmp_path / "above" / "home"
    made = [home, *(path for path in home.rglob("*") if not path.name.startswith("."))]
    modes = {path.is_dir(): oct(path.stat().st_mode & 0o777) for path in made}
    assert modes == {True: "0o700", False: "0o600"}
