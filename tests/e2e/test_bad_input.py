"""Bad input on a running engine: a clear error, and everything that stood goes on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from tests.e2e.conftest import Open
from tests.support.hosts import above_hosts
from tests.support.tables import Feeder, bag, events
from tests.support.waiting import until_events


def low_rows(feeder: Feeder) -> Counter[tuple[int]]:
    return Counter((row["n"],) for row in feeder.rows.to_pylist() if row["x"] < 50)


def test_a_file_that_is_not_what_it_says_stops_nothing_for_good(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    feeder = Feeder(tmp_path / "in")
    feeder.put(events(seed, 20))
    engine = open_engine()
    engine.stream("t", f"parquet:{feeder.directory}", maxFilesPerTrigger=1)
    sub = engine.subscribe("SELECT n FROM t WHERE x < 50", name="low")
    engine.run_available()
    bad = feeder.put(events(seed + 1, 20, first=20))
    good = bad.read_bytes()
    bad.write_text("this is a text file\n" * 50)
    feeder.date(bad, 1)
    with pytest.raises(ps.PenstockError) as error:
        engine.run_available()
    assert error.value.code == "SRC-005"
    assert bad.name in error.value.fact
    assert error.value.remedy
    wider = pq.read_table(pa.BufferReader(good))
    place = wider.schema.get_field_index("x")
    pq.write_table(wider.set_column(place, "x", wider["x"].cast(pa.int64(), safe=False)), bad)
    feeder.date(bad, 1)
    with pytest.raises(ps.PenstockError, match=rf"SRC-006.*{bad.name} .*INT64.*'x'.*as double"):
        engine.run_available()
    assert bag(sub.read(), "n") == Counter(
        (row["n"],) for row in feeder.tables[0].to_pylist() if row["x"] < 50
    )
    engine.close()

    # Repaired, and more data beside it: all of it arrives, once.
    bad.write_bytes(good)
    feeder.date(bad, 1)
    feeder.put(events(seed + 2, 20, first=40))
    engine = open_engine()
    engine.run_available()
    assert bag(engine.subscription("low").read(), "n") == low_rows(feeder)
    assert all(verdict.equal for verdict in engine.verify().answers)


@above_hosts  # on both: test_broken_lines
def test_lines_that_do_not_parse_never_match(open_engine: Open, tmp_path: Path) -> None:
    directory = tmp_path / "in"
    directory.mkdir()
    (directory / "one.csv").write_text("1,1.5\n2,many\nthree\n4,2.5\n")
    engine = open_engine()
    for wrong in (["n", "x"], {"n": "BIGINT", "x": "DUBBLE"}):
        with pytest.raises(ps.PenstockError, match="SRC-016"):
            engine.stream("t", f"csv:{directory}", schema=wrong)
    engine.stream("t", f"csv:{directory}", schema={"n": pa.int64(), "x": "DOUBLE"})
    sub = engine.subscribe("SELECT n FROM t WHERE x > 0", name="sub")
    broken = engine.subscribe("SELECT _corrupt FROM t WHERE _corrupt IS NOT NULL", name="broken")
    engine.run_available()
    assert sorted(sub.read()["n"].to_pylist()) == [1, 4]
    assert sorted(broken.read()["_corrupt"].to_pylist()) == ["2,many", "three"]


@above_hosts
def test_bad_registrations_leave_a_running_engine_as_it_was(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    engine, feeder = open_engine(), Feeder(tmp_path / "in")
    feeder.put(events(seed, 20))
    engine.stream("t", f"parquet:{feeder.directory}")
    sub = engine.subscribe("SELECT n FROM t WHERE x < 50", name="low")
    engine.start()
    until_events(engine, 20)
    version = engine.desk.registry.version
    for text, each in (
        ("SELECT n FROM t WHERE", None),
        ("SELECT n FROM nowhere", None),
        ("SELECT n FROM t WHERE x BETWEEN 9 AND 1", None),
        ("SELECT n FROM t WHERE x > :least", [{"id": 1}]),
    ):
        with pytest.raises(ps.PenstockError) as error:
            engine.subscribe(text, each=each)
        assert str(error.value).startswith(f"[{error.value.code}]")
    with pytest.raises(ps.PenstockError, match=r"\[SQL-"):
        sub.alter(sql="SELECT n FROM t WHERE x <")
    with pytest.raises(ps.PenstockError, match=r"\[REG-017\]"):
        sub.drop(["someone"])
    with pytest.raises(ps.PenstockError, match=r"\[ENG-008\]"):
        engine.stream("late", f"parquet:{feeder.directory}")
    with pytest.raises(ps.PenstockError, match=r"\[ENG-009\]"):
        engine.start()
    assert engine.desk.registry.version == version
    feeder.put(events(seed + 1, 20, first=20))
    until_events(engine, 40)
    engine.stop()
    assert bag(sub.read(), "n") == low_rows(feeder)


@above_hosts
def test_declarations_that_do_not_fit_are_refused(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    feeder, other = Feeder(tmp_path / "in"), Feeder(tmp_path / "other")
    feeder.put(events(seed, 20))
    other.put(pa.table({"z": [1]}))
    engine = open_engine()
    with pytest.raises(ps.PenstockError, match=r"\[ENG-010\]"):
        engine.start()
    for source, code in (
        (f"parquet:{tmp_path}/nowhere", "SRC-002"),
        ("unheard_of:here", "SRC-001"),
        ("", "SRC-001"),
    ):
        with pytest.raises(ps.PenstockError) as error:
            engine.stream("t", source)
        assert error.value.code == code
    with pytest.raises(ps.PenstockError, match=r"\[CAT-002\]"):
        engine.stream("t", f"parquet:{feeder.directory}", event_time="nothing")
    with pytest.raises(ps.PenstockError, match=r"\[CAT-002\]"):
        engine.table("t", f"parquet:{feeder.directory}", changes="nothing")
    with pytest.raises(ps.PenstockError, match=r"\[SRC-013\]"):
        engine.stream("t", engine.spark.range(3))
    engine.stream("t", f"parquet:{feeder.directory}")
    engine.subscribe("SELECT n FROM t WHERE x < 50", name="low")
    engine.run_available()
    engine.close()

    engine = open_engine()
    with pytest.raises(ps.PenstockError, match=r"\[CAT-005\]"):
        engine.stream("t", f"parquet:{other.directory}")
    with pytest.raises(ps.PenstockError, match=r"\[ENG-061\].* low\."):
        engine.undeclare("t")
    engine.stream("late", f"parquet:{other.directory}")  # Spark has a checkpoint without it
    late = engine.subscribe("SELECT z FROM late WHERE z > 0", name="late")
    for n in (1, 2):
        engine.run_available()
        assert bag(engine.subscription("low").read(), "n") == low_rows(feeder)
        assert late.read()["z"].to_pylist() == [1] * n
        other.put(pa.table({"z": [1]}))
        feeder.put(events(seed + n, 20, first=20 * n))
    assert engine.verify().state == "equal"
    with pytest.raises(ps.PenstockError, match=r"\[ENG-061\]"):
        engine.undeclare("late")
    with pytest.raises(ps.PenstockError, match=r"\[ENG-004\]"):
        open_engine()


def test_a_home_stays_with_its_host(spark: object, tmp_path: Path, seed: int) -> None:
    feeder = Feeder(tmp_path / "in")
    feeder.put(events(seed, 20))
    given = {"spark": spark, "shards": None}
    with ps.Engine(tmp_path / "home", host="embedded", **given) as engine:  # type: ignore[arg-type]
        engine.stream("t", f"parquet:{feeder.directory}")
        engine.subscribe("SELECT n FROM t WHERE x < 50", name="low")
        engine.run_available()
    with (
        ps.Engine(tmp_path / "home", host="cluster", **given) as engine,  # type: ignore[arg-type]
        pytest.raises(ps.PenstockError, match=r"\[ENG-005\]"),
    ):
        engine.start()
    with ps.Engine(tmp_path / "home", **given) as engine:  # type: ignore[arg-type]
        engine.run_available()
        assert bag(engine.subscription("low").read(), "n") == low_rows(feeder)


@above_hosts
def test_a_frame_must_be_brought_again(open_engine: Open, tmp_path: Path, seed: int) -> None:
    feeder = Feeder(tmp_path / "in")
    feeder.put(events(seed, 20))
    engine = open_engine()
    engine.stream("t", ps.sources.open_source(engine.spark, f"parquet:{feeder.directory}"))
    engine.subscribe("SELECT n FROM t WHERE x < 50", name="low")
    engine.run_available()
    engine.close()
    engine = open_engine()
    with pytest.raises(ps.PenstockError, match=r"\[ENG-012\]"):
        engine.start()
    feeder.put(events(seed + 1, 20, first=20))
    engine.stream("t", ps.sources.open_source(engine.spark, f"parquet:{feeder.directory}"))
    engine.run_available()
    assert bag(engine.subscription("low").read(), "n") == low_rows(feeder)
