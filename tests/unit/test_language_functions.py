"""Functions that do not depend on the row alone are refused, by whatever name and spelling."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.expressions.catalogue import CLOCKS, functions
from penstock.expressions.connections import connect
from penstock.kinds.binder import bind
from penstock.vocabulary.errors import PenstockError

SCHEMA = pa.schema([("n", pa.int64()), ("s", pa.string()), ("ts", pa.timestamp("us"))])
CATALOG = {"t": Relation(name="t", kind="stream", schema=SCHEMA)}
REFUSED = {"SQL-011", "SQL-014", "SQL-015", "SQL-020", "SQL-022", "SQL-023"}

CLOCK_TEXTS = [
    "age(ts)", "AGE ( ts )", '"age"(ts)', "main.age(ts)", "system.main.age(ts)", "ts.age()",
    "age(/* of */ ts)", "age(date_trunc('day', ts))",
    "current_localtimestamp()", "current_localtime()", "localtime", "localtimestamp",
    "today()", "now()", '"now"()', "main.now()", "get_current_timestamp()", "current_date",
    "current_date()", "current_time", "current_timestamp", "transaction_timestamp()",
    "ago('1 day')",
    "txid_current()", "random()", "uuid()", "uuidv7()", "gen_random_uuid()", "setseed(0.5)",
    "nextval('q')", "current_setting('threads')", "getenv('HOME')", "getvariable('x')",
    "current_query()", "current_schema()", "current_database()",
    "list_transform([1], x -> random())",
    "pg_conf_load_time()", "read_text('/etc/passwd')", "glob('/*')", "sleep_ms(1)",
    "write_log('x')",
]  # fmt: skip


def bound(sql: str) -> str | None:
    """Give the code that refuses a text."""
    try:
        bind(sql, CATALOG)
    except PenstockError as error:
        return error.code
    return None


@pytest.mark.parametrize("text", CLOCK_TEXTS)
def test_clocks_dice_and_settings_are_refused(text: str) -> None:
    assert bound(f"SELECT {text} AS o FROM t") in REFUSED
    assert bound(f"SELECT n FROM t WHERE n > 1 AND ({text}) IS NOT NULL") in REFUSED


@pytest.mark.parametrize("text", ["age(ts, TIMESTAMP '2024-01-01')", "ts.age(ts)", "pi()"])
def test_functions_of_the_row_are_not(text: str) -> None:
    assert bound(f"SELECT {text} AS o FROM t") is None


def test_every_function_that_the_catalogue_calls_unsteady_is_refused() -> None:
    with connect() as db:
        rows = db.sql(
            "SELECT DISTINCT function_name FROM duckdb_functions() "
            "WHERE function_type = 'scalar' AND stability <> 'CONSISTENT'"
        ).fetchall()
    assert {functions()[name.lower()] for (name,) in rows} == {"volatile"}


def test_the_catalogue_hides_no_other_clock() -> None:
    """Call all that may be called with nothing or with one time, twice: the rest keeps still."""
    with connect() as db:
        calls = db.sql(
            "SELECT DISTINCT function_name, len(parameter_types) FROM duckdb_functions() "
            "WHERE function_type = 'scalar' AND stability = 'CONSISTENT' "
            "AND regexp_full_match(function_name, '[a-z_0-9]+') AND (len(parameter_types) = 0 OR "
            "parameter_types IN (['TIMESTAMP'], ['TIMESTAMP WITH TIME ZONE'], ['DATE'], ['ANY'])) "
            "ORDER BY ALL"
        ).fetchall()
        moving = set()
        moment = "TIMESTAMP '2024-01-01'"
        for name, arguments in calls:
            call = f"{name}({moment if arguments else ''})"
            sql = f"SELECT CAST({call} AS VARCHAR)"
            try:
                first = db.execute(sql).fetchall()
                db.execute("SELECT sleep_ms(1)").fetchall()
                if db.execute(sql).fetchall() != first:
                    moving.add(name)
            except duckdb.Error:
                continue  # No such call.
    assert moving == CLOCKS  # And age, which counts days: it is refused by name.
