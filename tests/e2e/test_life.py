"""A home's life: queries come, change and go while it runs; it stops, starts again, goes on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from tests.e2e.conftest import Open
from tests.support.hosts import above_hosts
from tests.support.tables import Feeder, bag, events
from tests.support.waiting import until_events


def recorded(engine: ps.Engine) -> list[tuple[int, int, list[dict[str, Any]]]]:
    """Give every committed batch: its number, its version, the events that were in it."""
    found = []
    for number in range(engine.desk.log.newest() + 1):
        logged = engine.desk.log.read(number)
        assert logged is not None
        rows = [row for section in logged.sections for row in section.events().to_pylist()]
        found.append((number, logged.version, rows))
    return found


def pairs(sub: ps.Subscription) -> Counter[tuple[Any, ...]]:
    return bag(sub.read(), "_id", "n", "_batch", "_version")


def test_changes_hold_from_a_definite_batch_on(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    engine, feeder = open_engine(), Feeder(tmp_path / "in")
    feeder.put(events(seed, 30))
    engine.stream("t", f"parquet:{feeder.directory}", maxFilesPerTrigger=1)
    low = engine.subscribe("SELECT n FROM t WHERE x < 50", name="low")
    engine.start()
    until_events(engine, 30)

    def put() -> None:
        feeder.put(events(seed + len(feeder.tables), 30, first=30 * len(feeder.tables)))

    put()
    each = [{"id": i, "least": 10 * i} for i in range(10)]
    many = engine.subscribe("SELECT n FROM t WHERE x >= :least", name="many", each=each)
    assert many.receipt is not None
    came = many.receipt.version
    put()
    began = engine.wait_for_version(came, timeout=600)
    until_events(engine, 90)
    put()
    gone = many.drop([1, 2, 9])
    altered = many.alter(each=[{"id": 3, "least": 99}, {"id": 4, "least": 0}]).version
    put()
    ended = engine.wait_for_version(altered, timeout=600)
    text = low.alter(sql="SELECT n, k FROM t WHERE x < 50 AND k = 'IBM'").version
    put()
    engine.wait_for_version(text, timeout=600)
    until_events(engine, 180)
    put()
    over = low.drop()
    put()
    engine.wait_for_version(over, timeout=600)
    until_events(engine, 240)
    engine.stop()

    batches = recorded(engine)
    assert Counter(row["n"] for _, _, rows in batches for row in rows) == Counter(range(240))
    assert [version for _, version, _ in batches] == sorted(version for _, version, _ in batches)

    def least(id_: int, version: int) -> float | None:
        if version < came or (id_ in {1, 2, 9} and version >= gone):
            return None
        return {3: 99.0, 4: 0.0}.get(id_, 10.0 * id_) if version >= altered else 10.0 * id_

    expected = Counter(
        (id_, row["n"], batch, version)
        for batch, version, rows in batches
        for row in rows
        for id_ in range(10)
        if (bound := least(id_, version)) is not None and row["x"] >= bound
    )
    assert pairs(many) == expected
    assert min(batch for _, _, batch, _ in expected) >= began
    assert all(batch < ended for id_, _, batch, _ in expected if id_ in {1, 2, 9})
    with pytest.raises(ps.PenstockError, match=r"\[REG-001\]"):
        low.read()
    verdicts = {verdict.subscription: verdict for verdict in engine.verify().answers}
    assert all(verdict.equal for verdict in verdicts.values()), verdicts
    assert verdicts["low"].found == sum(
        1
        for _, version, rows in batches
        for row in rows
        if version < over and row["x"] < 50 and (version < text or row["k"] == "IBM")
    )


@above_hosts
def test_a_new_text_reaches_readers_that_follow(open_engine: Open, tmp_path: Path) -> None:
    """Also into another group and with other columns: old results keep theirs."""
    engine, feeder = open_engine(), Feeder(tmp_path / "in")
    feeder.put(events(1, 10))
    engine.stream("t", f"parquet:{feeder.directory}")
    sub = engine.subscribe("SELECT n FROM t WHERE x >= 0", name="sub")
    engine.start()
    until_events(engine, 10)
    following = sub.changes(timeout=600)
    first = [next(following) for _ in range(10)]
    assert [change.row for change in first] == [{"n": n} for n in range(10)]
    version = sub.alter(sql="SELECT n, k FROM t WHERE y >= -100").version
    engine.wait_for_version(version, timeout=600)
    feeder.put(events(2, 10, first=10))
    second = [next(following) for _ in range(10)]
    assert [change.row["n"] for change in second] == list(range(10, 20))
    assert all(set(change.row) == {"n", "k"} for change in second)
    assert sub.read()["n"].to_pylist() == list(range(20))
    engine.stop()


@above_hosts
def test_rows_of_another_type_join_the_same_subscription(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    table = events(seed, 40)
    engine = open_engine()
    engine.stream("t", ps.sources.replay(engine.spark, table, tmp_path / "in", 20))
    text = "SELECT n FROM t WHERE x + y > :least"
    sub = engine.subscribe(text, name="sub", each=[{"id": 1, "least": 10}, {"id": 2, "least": 20}])
    assert sub.add([{"id": 3, "least": 30.5}, {"id": 4, "least": 40.5}]).accepted == 2
    sub.drop([2, 4])
    engine.run_available()
    expected = Counter(
        (id_, row["n"])
        for id_, least in ((1, 10), (3, 30.5))
        for row in table.to_pylist()
        if row["x"] + row["y"] > least
    )
    assert bag(sub.read(), "_id", "n") == expected
    assert len(sub) == 2
    assert all(verdict.equal for verdict in engine.verify().answers)


@above_hosts
def test_a_name_can_be_used_again(open_engine: Open, tmp_path: Path, seed: int) -> None:
    feeder = Feeder(tmp_path / "in")
    feeder.put(events(seed, 20))
    engine = open_engine()
    engine.stream("t", f"parquet:{feeder.directory}")
    first = engine.subscribe("SELECT n FROM t WHERE y >= -100", name="same")
    engine.run_available()
    assert first.read().num_rows == 20
    first.drop()
    second = engine.subscribe("SELECT n FROM t WHERE x >= -100", name="same")
    feeder.put(events(seed + 1, 20, first=20))
    engine.run_available()
    assert sorted(second.read()["n"].to_pylist()) == list(range(20, 40))
    assert all(verdict.equal for verdict in engine.verify().answers)


def test_a_new_engine_on_the_same_home_goes_on(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    feeder = Feeder(tmp_path / "in")
    first = open_engine()
    feeder.put(events(seed, 25))
    first.stream("t", f"parquet:{feeder.directory}", maxFilesPerTrigger=1)
    each = [{"id": f"q{i}", "least": 20 * i} for i in range(5)]
    first.subscribe("SELECT n, x FROM t WHERE x >= :least", name="many", each=each)
    first.run_available()
    seen = list(first.subscription("many").changes(follow=False))
    first.subscription("many").drop(["q4"])
    first.close()

    for n in (1, 2):
        feeder.put(events(seed + n, 25, first=25 * n))
        engine = open_engine()  # the stream is known: nothing to declare
        many = engine.subscription("many")
        assert len(many) == 4
        engine.run_available()
        fresh = list(many.changes(seen[-1].token, follow=False))
        whole = list(many.changes(follow=False))
        assert seen + fresh == whole, "a token resumes exactly"
        for at in (0, len(whole) // 2, len(whole) - 1):
            assert list(many.changes(whole[at].token, follow=False)) == whole[at + 1 :]
        assert bag(many.read(since=seen[-1].token), "_id", "n") == Counter(
            (c.id, c.row["n"]) for c in fresh
        )
        seen = whole
        engine.close()

    dropped_at = 25
    assert Counter((c.id, c.row["n"]) for c in seen) == Counter(
        (f"q{i}", row["n"])
        for row in feeder.rows.to_pylist()
        for i in range(5)
        if row["x"] >= 20 * i and (i != 4 or row["n"] < dropped_at)
    )
    engine = open_engine()
    assert all(verdict.equal for verdict in engine.verify().answers)


def test_two_engines_run_in_one_process(open_engine: Open, tmp_path: Path, seed: int) -> None:
    engines, tables = [], [events(seed, 40), events(seed + 1, 60)]
    for number, table in enumerate(tables):
        engine = open_engine(f"home{number}")
        source = ps.sources.replay(engine.spark, table, tmp_path / f"in{number}", 20)
        engine.stream("t", source)
        engine.subscribe("SELECT n, x FROM t WHERE x < 50", name="low")
        engines.append(engine)
    for engine in engines:
        engine.start()
    for engine, table in zip(engines, tables, strict=True):
        until_events(engine, table.num_rows)
    for engine, table in zip(engines, tables, strict=True):
        engine.stop()
        assert bag(engine.subscription("low").read(), "n", "x") == Counter(
            (row["n"], row["x"]) for row in table.to_pylist() if row["x"] < 50
        )
        assert all(verdict.equal for verdict in engine.verify().answers)


def test_a_given_session_is_used_and_left_as_it_was(
    spark: SparkSession, host: str, tmp_path: Path, seed: int
) -> None:
    given = spark.newSession()
    given.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    given.conf.set("spark.sql.shuffle.partitions", "7")
    before = {name: given.conf.get(name) for name in given.conf.getAll}
    table = events(seed, 20)
    with ps.Engine(tmp_path / "home", spark=given, host=host, shards=2) as engine:  # type: ignore[arg-type]
        frame = ps.sources.replay(given, table, tmp_path / "in", 20)
        engine.stream("t", frame, event_time="ts")
        sub = engine.subscribe("SELECT n, ts FROM t WHERE x < 50", name="low")
        engine.run_available()
        assert bag(sub.read(), "n", "ts") == Counter(
            (row["n"], row["ts"]) for row in table.to_pylist() if row["x"] < 50
        )
        assert engine.spark.sparkContext is given.sparkContext
    assert {name: given.conf.get(name) for name in given.conf.getAll} == before
    assert given.range(3).count() == 3, "closing an engine leaves the session open"


def test_both_hosts_give_the_same(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    table = events(seed, 200, gaps=0.1)
    bounds = [{"id": i, "low": 3.0 * i, "word": w} for i in range(30) for w in ("IBM", "")]
    each = [{**row, "id": n} for n, row in enumerate(bounds)]
    found = []
    for host in ("embedded", "cluster"):
        with ps.Engine(tmp_path / host, spark=spark, host=host, shards=2) as engine:
            source = ps.sources.replay(engine.spark, table, tmp_path / f"in-{host}", 50)
            engine.stream("t", source)
            text = "SELECT * FROM t WHERE k = :word AND x > :low"
            many = engine.subscribe(text, name="many", each=each)
            odd = engine.subscribe("SELECT n FROM t WHERE x > 30 OR y % 2 = 1", name="odd")
            engine.run_available()
            metrics = engine.figures().metrics
            counted = ("queries", "entries", "events", "matches", "candidates", "null_values")
            counts = {name: metrics[name] for name in counted}
            found.append((bag(many.read()), bag(odd.read()), counts))
    assert found[0] == found[1]
    assert found[0][0], "nothing matched: nothing was compared"


@above_hosts
def test_registering_between_two_runs_needs_no_spark(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    feeder = Feeder(tmp_path / "in")
    feeder.put(events(seed, 20))
    engine = open_engine()
    engine.stream("t", f"parquet:{feeder.directory}")
    engine.subscribe("SELECT n FROM t WHERE x < 50", name="low")
    engine.run_available()
    engine.close()
    desk = ps.engine.Desk(tmp_path / "home")
    for number in range(5):
        desk.subscribe(f"SELECT n FROM t WHERE x < {number * 20}", name=f"later{number}")
    assert desk.subscription("low").read().num_rows
    desk.close()
    feeder.put(events(seed + 1, 20, first=20))
    engine = open_engine()
    engine.run_available()
    later = feeder.tables[1].to_pylist()
    for number in range(5):
        assert bag(engine.subscription(f"later{number}").read(), "n") == Counter(
            (row["n"],) for row in later if row["x"] < number * 20
        )
    assert all(verdict.equal for verdict in engine.verify().answers)


def test_an_empty_stream_has_no_answers(open_engine: Open, tmp_path: Path) -> None:
    engine = open_engine()
    table = pa.table({"x": pa.array([], pa.float64())})
    engine.stream("t", ps.sources.replay(engine.spark, table, tmp_path / "in", 10))
    sub = engine.subscribe("SELECT x FROM t WHERE x > 0", name="sub")
    engine.run_available()
    assert sub.read().num_rows == 0
    assert sub.read().column_names == ["_id", "_query", "_sign", "x", "_batch", "_version"]
    assert list(sub.changes()) == []


def test_a_version_that_does_not_come_is_told(spark: SparkSession, tmp_path: Path) -> None:
    with (
        ps.Engine(tmp_path / "home", spark=spark) as engine,
        pytest.raises(ps.PenstockError, match=r"ENG-011.*Version 1 did not come within 0.01 s"),
    ):
        engine.wait_for_version(1, timeout=0.01)
