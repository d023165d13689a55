"""DuckDB evaluates the user's own words: a residual means what the whole text means to DuckDB.

Every condition is asked twice: as the engine runs it, with columns and constants under names of
their own, and of DuckDB with the text as it stands.
"""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from penstock.expressions.connections import connect
from penstock.vocabulary.errors import PenstockError
from tests.support.desk_runs import DeskRun

SCHEMA = pa.schema(
    [
        ("k", pa.int64()),
        ("n", pa.int64()),
        ("x", pa.float64()),
        ("m", pa.decimal128(8, 2)),
        ("s", pa.string()),
        ("Odd name", pa.int32()),
        ("xs", pa.list_(pa.int64())),
        ("st", pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ("d", pa.date32()),
        ("ts", pa.timestamp("us")),
    ]
)
NAMES = ["abc", "ABC", "a%c", "it's", "", "x", "NOCASE", "Straße", "a\\nb", None]

CONDITIONS = [
    # Collations of constants and of columns.
    "s = 'abc' COLLATE NOCASE",
    "s COLLATE NOCASE = 'ABC'",
    "s IN ('abc' COLLATE NOCASE, 'x')",
    "s > 'ABC' COLLATE NOCASE AND n > 1",
    # Arguments that another library loses or turns.
    "regexp_matches(s, 'ABC', 'i')",
    "regexp_replace(s, 'b', 'x', 'g') = 'axc'",
    "regexp_extract(s, '(a)(.)', 2) = 'b'",
    "string_split(s, 'b')[1] = 'a'",
    "date_diff('day', d, DATE '2024-03-01') > 3",
    "datesub('month', d, DATE '2024-06-01') >= 3",
    "date_trunc('week', ts) = DATE '2024-02-26'",
    "round(x, 1) = 0.1",
    "trunc(x) = 1",
    "log(abs(x) + 1) > 0.2",
    "log(2, abs(x) + 1) < 1",
    "greatest(n, 3) = 3",
    "substring(s, 2, 1) = 'b'",
    "substr(s, -1) = 'c'",
    "position('b' IN s) = 2",
    "strpos(s, 'b') = 2",
    "trim(BOTH 'a' FROM s) = 'bc'",
    "extract(dow FROM d) = 4",
    "epoch(ts) > 0",
    "n // 2 = 1",
    "n % 2 = 1",
    "n / 2 = 1.5",
    "n ** 2 > 4",
    "(n & 1) = 1",
    "xor(n, 1) = 2",
    "s || 'x' = 'abcx'",
    "s ^@ 'a'",
    "s ~ 'a.c'",
    "s !~ 'a.c'",
    "s SIMILAR TO 'a.c'",
    "s LIKE 'a$%c' ESCAPE '$'",
    "s NOT LIKE 'a%'",
    "s GLOB 'a*'",
    "s ILIKE 'ABC'",
    # Lambdas, comprehensions and their variables, which are no columns.
    "len(list_filter(xs, lambda n: n > 1)) = 2",
    "list_sum(list_transform(xs, lambda n: n + x)) > 3",
    "list_reduce([0] || xs, lambda n, k: n + k) > 3",
    "len([n for n in xs if n > 1]) = 2",
    "len([n for n in xs if n > x AND n = 3]) > t.n",
    "[q + n for q in xs if q = n][1] = 2 * n",
    "list_contains([n + 1 for n in xs], 3)",
    "len(list_filter(xs, lambda e, i: i > 1)) > 1",
    "list_filter(xs, lambda q: q = n)[1] = n",
    # Structs, lists, names in quotes.
    "st.a > 1",
    "st['b'] = 'y'",
    "struct_extract(st, 'a') = 2",
    "{'a': n, 'b': s}.b = 'abc'",
    "struct_pack(q := n, r := s).q = 2",
    "xs[1] = 1",
    "xs[2:] = [2, 3]",
    "xs[-1] = 3",
    '"Odd name" + 1 = 2',
    't."Odd name" IN (1, 2) AND "n" > 0',
    # Literals of every form.
    "s = $$abc$$ AND n + 0 > 0",
    "s = $tag$abc$tag$",
    "s = E'a\\\\nb'",
    "s = e'it\\'s' OR n + 0 = 1",
    "ts + INTERVAL 1 DAY > TIMESTAMP '2024-02-29 12:00:00'",
    "ts - INTERVAL '1' DAY < '2024-02-29'::TIMESTAMP",
    "d + INTERVAL '1 month 2 days' > DATE '2024-03-30'",
    "n = 1_000 OR n + 0 = 1",
    "x > 1e-1 AND n + 0 > 0",
    "m * 1.10 > 1.1",
    # Casts.
    "n::VARCHAR = '2'",
    "TRY_CAST(s AS INTEGER) IS NULL",
    "CAST(x AS INTEGER) = 1",
    "x::DECIMAL(4, 1) = 0.1",
    "-n::DOUBLE < -1",
    # Spacing, comments, case.
    "abs /* of */ (n) -- the number\n > 1",
    "NOT(n=2)AND(x>0OR s='abc')",
    "nOt n IS  NULL aNd LOWER ( s ) = 'abc'",
    "((n)) BETWEEN (1) AND ((2)) AND length(s)>0",
    "n IS NOT DISTINCT FROM 2",
    "n IS DISTINCT FROM 2 AND s IS NOT NULL",
    "CASE WHEN n > 1 THEN x > 0 WHEN s = 'abc' THEN TRUE ELSE NULL END",
    "CASE n WHEN 1 THEN s WHEN 2 THEN 'q' END = 'q'",
    "coalesce(n, 0) = 0",
    "ifnull(n, 7) = 7",
    "nullif(n, 2) IS NULL",
    "s IS NULL = FALSE",
    "n > 1 IS TRUE",
    "NOT n > 1 IS TRUE",
    "5 < n * 2",
    "2 = n OR n + 1 = 4 OR 'abc' = lower(s)",
    "NOT (n BETWEEN 1 AND 2 OR s NOT IN ('abc', 'x'))",
    "n NOT BETWEEN 2 AND 3 AND length(s) NOT IN (0, 1)",
    "(n, s) = (2, 'abc')",
    "n IN (SELECT 1)",
]


def rows(rng: random.Random) -> pa.Table:
    made = []
    for k in range(40):
        n = rng.choice([None, 0, 1, 2, 3, 1000])
        made.append(
            {
                "k": k,
                "n": n,
                "x": rng.choice([None, 0.1, 0.12, 1.0, 1.5, 2.0, -1.0]),
                "m": rng.choice([None, Decimal("1.00"), Decimal("1.10"), Decimal("-3.25")]),
                "s": rng.choice(NAMES),
                "Odd name": rng.choice([None, 1, 2]),
                "xs": rng.choice([None, [], [1, 2, 3], [2], [3, 3]]),
                "st": rng.choice([None, {"a": 2, "b": "y"}, {"a": 1, "b": None}]),
                "d": None if n is None else 19_782 + n % 7,
                "ts": None if n is None else 1_709_200_000_000_000 + n * 10**10,
            }
        )
    return pa.Table.from_pylist(made, schema=SCHEMA)


def composed(rng: random.Random) -> str:
    """Put conditions together, so that they are pushed, negated, split and merged."""
    parts = [f"({condition})" for condition in rng.sample(CONDITIONS[:-1], rng.randint(2, 4))]
    parts = [f"NOT {part}" if rng.random() < 0.3 else part for part in parts]
    text = parts[0]
    for part in parts[1:]:
        text = f"{text} {rng.choice(['AND', 'OR'])} {part}"
        text = f"({text})" if rng.random() < 0.3 else text
    return text


def test_residuals_are_the_users_own_words(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    run = DeskRun(tmp_path / "home", Relation(name="t", kind="stream", schema=SCHEMA))
    given = rows(rng)
    texts = [*CONDITIONS, *(composed(rng) for _ in range(20))]
    refused: dict[str, PenstockError] = {}
    try:
        for number, text in enumerate(texts):
            try:
                run.desk.subscribe(f"SELECT k FROM t WHERE {text}\n", name=f"q{number}")
            except PenstockError as error:
                refused[text] = error
        run.batch(t=given)
        with connect(threads=1) as db:
            db.register("given", given)
            db.execute("CREATE TABLE t AS FROM given")
            for number, text in enumerate(texts):
                if text in refused:
                    continue
                truth = db.execute(f"SELECT k FROM t WHERE TRY({text}\n)").fetchall()
                found = run.desk.subscription(f"q{number}").read()["k"].to_pylist()
                assert sorted(found) == sorted(k for (k,) in truth), text
        for verdict in verify(run.desk.registry, run.desk.log):
            assert verdict.equal, verdict
    finally:
        run.desk.close()
    # What DuckDB would run and we do not is known, and has a code.
    allowed = {"SQL-013", "SQL-050"}
    assert {error.code for text, error in refused.items() if text in CONDITIONS} <= allowed, refused


@pytest.mark.parametrize("name", ["c0", "C1", "r0"])
def test_a_variable_that_a_column_would_capture_is_refused(name: str, tmp_path: Path) -> None:
    run = DeskRun(tmp_path / "home", Relation(name="t", kind="stream", schema=SCHEMA))
    try:
        with pytest.raises(PenstockError) as error:
            run.desk.subscribe(
                f"SELECT k FROM t WHERE len(list_filter(xs, lambda {name}: {name} > n)) = 1"
            )
    finally:
        run.desk.close()
    assert error.value.code == "SQL-035"
