"""Standing filters, SQL in, results out: equal to DuckDB over the whole run, on both hosts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import penstock as ps
from penstock.operators.shared.residuals import without_nan
from tests.e2e.conftest import Open
from tests.support.hosts import above_hosts
from tests.support.tables import bag, events

# The same predicate in our words and in DuckDB's; rows of parameters where it has some.
BOUNDS = [{"id": i, "low": 7.5 * i, "high": 7.5 * i + 12} for i in range(10)]
WORDS = [{"id": w, "word": w, "least": 5 * i} for i, w in enumerate(["IBM", "SAP", "XYZ"])]
FILTERS: dict[str, tuple[str, list[dict[str, Any]] | None]] = {
    "all": ("TRUE", None),
    "equal_text": ("k = 'IBM'", None),
    "equal_number": ("y = 3", None),
    "in_list": ("k IN ('IBM', 'ABC') AND y IN (1, 2, 3, 4)", None),
    "range_closed": ("x BETWEEN 20 AND 30.5", None),
    "range_open": ("x > 20 AND x < 30.5", None),
    "range_half": ("y >= 10", None),
    "two_ranges": ("x < 50 AND y BETWEEN -5 AND 5", None),
    "text_and_range": ("k = 'SAP' AND x <= 40", None),
    "either": ("(k = 'IBM' AND x > 80) OR y = -3", None),
    "not": ("NOT (k = 'IBM' OR x > 50)", None),
    "flag": ("flag AND x > 90", None),
    "missing": ("k IS NULL", None),
    "there": ("x IS NOT NULL AND y = 7", None),
    "like": ("k LIKE '%A%' AND y > 0", None),
    "computed": ("x + y > 100", None),
    "time": (
        "ts >= TIMESTAMP '2026-01-02 00:01:00' AND ts < TIMESTAMP '2026-01-02 00:02:00'",
        None,
    ),
    "each_range": ("x BETWEEN :low AND :high", BOUNDS),
    "each_mixed": ("k = :word AND y >= :least", WORDS),
    "each_computed": ("x - y > :least AND k = :word", WORDS),
}


def expected(table: pa.Table, where: str, each: list[dict[str, Any]] | None) -> Counter[Any]:
    """Ask DuckDB over the whole source; NaN never matches, so it is NULL there."""
    with duckdb.connect(":memory:") as db:
        db.execute("SET TimeZone = 'UTC'")
        db.register("source", table)
        db.execute("CREATE VIEW s AS SELECT * REPLACE (nullif(x, 'NaN') AS x) FROM source")
        found: Counter[Any] = Counter()
        for row in each or [{"id": None}]:
            filled = where
            for name, value in row.items():
                filled = filled.replace(f":{name}", repr(value))
            rows = db.sql(f"SELECT n FROM s WHERE {filled}").fetchall()
            found.update((row["id"], n) for (n,) in rows)
    return found


def test_every_kind_of_predicate_answers_as_duckdb(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    table = events(seed, 240, gaps=0.05)
    engine = open_engine()
    engine.stream("t", ps.sources.replay(engine.spark, table, tmp_path / "in", 80), event_time="ts")
    for name, (where, each) in FILTERS.items():
        sub = engine.subscribe(f"SELECT * FROM t WHERE {where}", name=name, each=each)
        assert sub.receipt is not None
        assert sub.receipt.refused.num_rows == 0
    engine.run_available()
    for name, (where, each) in FILTERS.items():
        found = engine.subscription(name).read()
        own = Counter(
            (None if each is None else id_, n)
            for id_, n in zip(found["_id"].to_pylist(), found["n"].to_pylist(), strict=True)
        )
        assert own == expected(table, where, each), name
        rows = without_nan(table).to_pylist()
        whole = dict(zip(table["n"].to_pylist(), rows, strict=True))
        for row in found.select(table.column_names).to_pylist():
            assert repr(row) == repr(whole[row["n"]]), "results carry the event, NULL for NaN"
    for verdict in engine.verify().answers:
        assert verdict.equal, verdict
        assert verdict.found == engine.subscription(verdict.subscription).read().num_rows


@above_hosts
def test_outputs_may_be_computed_and_renamed(open_engine: Open, tmp_path: Path, seed: int) -> None:
    table = events(seed, 60)
    engine = open_engine()
    engine.stream("t", ps.sources.replay(engine.spark, table, tmp_path / "in", 30))
    sub = engine.subscribe("SELECT n, x * 2 AS twice, upper(k) AS k FROM t WHERE y > 0", name="s")
    engine.run_available()
    with duckdb.connect(":memory:") as db:
        db.register("t", table)
        wanted = db.sql("SELECT n, x * 2 AS twice, upper(k) AS k FROM t WHERE y > 0")
        assert bag(sub.read(), "n", "twice", "k") == bag(wanted.to_arrow_table())
    assert [c.row["n"] for c in sub.changes(follow=False)] == sub.read()["n"].to_pylist()


def test_nulls_and_nans_never_match_and_are_counted(open_engine: Open, tmp_path: Path) -> None:
    table = pa.table(
        {
            "n": pa.array(range(6), pa.int64()),
            "x": pa.array([1.0, None, float("nan"), 2.0, None, float("inf")]),
        }
    )
    engine = open_engine()
    engine.stream("t", ps.sources.replay(engine.spark, table, tmp_path / "in", 3))
    some = engine.subscribe("SELECT n FROM t WHERE x >= 0", name="some")
    none = engine.subscribe(
        "SELECT n FROM t WHERE x >= :low",
        name="none",
        each=[{"id": 1, "low": None}, {"id": 2, "low": float("nan")}, {"id": 3, "low": 2.0}],
    )
    text = "SELECT n, x, coalesce(x, -1) AS known FROM t WHERE n BETWEEN 1 AND 3"
    told = engine.subscribe(text, name="told")
    assert none.receipt is not None
    assert (none.receipt.accepted, none.receipt.silent) == (3, 2)
    engine.run_available()
    assert sorted(some.read()["n"].to_pylist()) == [0, 3, 5]
    assert bag(none.read(), "_id", "n") == Counter([(3, 3), (3, 5)])
    assert bag(told.read(), "n", "x", "known") == Counter(
        [(1, None, -1.0), (2, None, -1.0), (3, 2.0, 2.0)]
    ), "what is told has NULL for NaN too"
    assert all(verdict.equal for verdict in engine.verify().answers)
    metrics = engine.figures().metrics
    assert metrics["queries_never_matching"] == 2
    # Both subscriptions are one group, which looks at each event once.
    assert metrics["null_values"] == 3


def test_a_popular_event_is_stored_once(open_engine: Open, tmp_path: Path, seed: int) -> None:
    table = events(seed, 20)
    engine = open_engine(record=False)
    engine.stream("t", ps.sources.replay(engine.spark, table, tmp_path / "in", 20))
    each = [{"id": i, "low": -100 + i} for i in range(50)]
    many = engine.subscribe("SELECT * FROM t WHERE y >= :low", name="many", each=each)
    engine.subscribe("SELECT * FROM t WHERE x >= 0", name="other")
    engine.run_available()
    assert many.read().num_rows == 50 * 20
    logged = engine.desk.log.read(0)
    assert logged is not None
    stored = pa.concat_tables([section.events() for section in logged.sections])
    assert sorted(stored["n"].to_pylist()) == list(range(20))


def test_two_streams_share_one_clock(open_engine: Open, tmp_path: Path, seed: int) -> None:
    engine = open_engine()
    left, right = events(seed, 40), events(seed + 1, 60)
    engine.stream("a", ps.sources.replay(engine.spark, left, tmp_path / "a", 20))
    engine.stream("b", ps.sources.replay(engine.spark, right, tmp_path / "b", 20))
    from_a = engine.subscribe("SELECT n FROM a WHERE x < 50", name="from_a")
    from_b = engine.subscribe("SELECT n FROM b WHERE x < 50", name="from_b")
    engine.run_available()
    for sub, table in ((from_a, left), (from_b, right)):
        assert bag(sub.read(), "n") == Counter(
            (row["n"],) for row in table.to_pylist() if row["x"] < 50
        )
    assert all(verdict.equal for verdict in engine.verify().answers)
    assert engine.runner.totals["events"] == 100


def test_a_table_carries_plus_and_minus(open_engine: Open, tmp_path: Path) -> None:
    rows = [
        ("insert", 1, 10.0), ("insert", 2, 99.0), ("update_before", 1, 10.0), ("I", 6, 9.0),
        ("update_after", 1, 60.0), ("delete", 2, 99.0), ("insert", 3, 11.0), ("+", 4, 12.0),
        ("-", 4, 12.0), (None, 5, 13.0), ("-D", 6, 9.0),
    ]  # fmt: skip
    table = pa.table(dict(zip(["op", "n", "x"], map(list, zip(*rows, strict=True)), strict=True)))
    engine = open_engine()
    source = ps.sources.replay(engine.spark, table, tmp_path / "in", 4)
    engine.table("stock", source, changes="op")
    cheap = engine.subscribe("SELECT n, x FROM stock WHERE x < 50", name="cheap")
    engine.run_available()
    changes = [(c.batch, c.sign, c.row["n"]) for c in cheap.changes(follow=False)]
    # What comes and goes in one batch is no change, and NULL means nothing.
    assert sorted(changes) == [(0, 1, 6), (1, 1, 3), (1, 1, 4), (2, -1, 4), (2, -1, 6)]
    assert engine.figures().losses["stock"] == {"unknown_changes": 1}


@above_hosts
def test_a_group_can_be_read_whole(open_engine: Open, tmp_path: Path, seed: int) -> None:
    table = events(seed, 50)
    engine = open_engine()
    engine.stream("t", ps.sources.replay(engine.spark, table, tmp_path / "in", 25))
    one = engine.subscribe("SELECT n FROM t WHERE x > 50", name="one")
    two = engine.subscribe("SELECT k FROM t WHERE x > 90", name="two")
    assert one.group == two.group
    engine.run_available()
    whole = engine.desk.readers.read_group(one.group)
    queries = pa.concat_tables([one.read().select(["_query"]), two.read().select(["_query"])])
    assert bag(whole, "_query") == bag(queries)
    assert set(table.column_names) <= set(whole.column_names)
    with pytest.raises(ps.PenstockError, match=r"\[DEL-002\]"):
        engine.desk.readers.read_group("nonesuch")
