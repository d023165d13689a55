"""Streams and tables that are added to a home that has run, on either host."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tests.e2e.conftest import Open
from tests.support.tables import Feeder, events

Row = tuple[int, int, str]


def changes(*rows: Row) -> pa.Table:
    numbers, sizes, words = zip(*rows, strict=True)
    return pa.table({"n": numbers, "size": sizes, "op": words})


def test_a_stream_and_tables_are_added_to_a_home_that_has_run(
    open_engine: Open, tmp_path: Path, seed: int
) -> None:
    feeder, other = Feeder(tmp_path / "in"), Feeder(tmp_path / "other")
    stock, keyed = Feeder(tmp_path / "stock"), Feeder(tmp_path / "keyed")
    feeder.put(events(seed, 20))
    other.put(pa.table({"z": [1, 2]}))
    engine = open_engine()
    engine.stream("t", f"parquet:{feeder.directory}")
    engine.subscribe("SELECT n FROM t WHERE x < 50", name="low")
    engine.sql("CREATE VIEW lows REFRESH WITHIN 1 SECOND AS SELECT n, x FROM t WHERE x < 50")
    engine.run_available()
    engine.close()

    engine = open_engine()
    # Of one row the second delete finds nothing; and a key's row changes.
    stock.put(changes(*((n, n % 7, "insert") for n in range(30)), (3, 3, "delete")))
    stock.put(changes((3, 3, "delete"), (4, 4, "delete"), (4, 4, "delete"), (50, 1, "insert")))
    keyed.put(changes(*((n, n % 5, "insert") for n in range(20))))
    keyed.put(changes((2, 9, "update_after"), (3, 0, "delete"), (3, 0, "delete")))
    keyed.put(changes((20, 2, "insert")))
    engine.stream("late", f"parquet:{other.directory}")
    late = engine.subscribe("SELECT z FROM late WHERE z > 0", name="late")
    for name, source in (("stock", stock), ("keyed", keyed)):
        key = "n" if name == "keyed" else None
        engine.table(name, f"parquet:{source.directory}", changes="op", key=key)
        engine.subscribe(f"SELECT n, size FROM {name} WHERE size < 3", name=f"of_{name}")
    engine.sql(
        "CREATE VIEW sizes REFRESH WITHIN 1 SECOND AS "
        "SELECT size, count(*) AS n FROM stock GROUP BY size"
    )
    for n in (1, 2):
        engine.run_available()
        found = sorted(row["n"] for row in feeder.rows.to_pylist() if row["x"] < 50)
        assert sorted(engine.subscription("low").read()["n"].to_pylist()) == found
        assert sorted(late.read()["z"].to_pylist()) == sorted([1, 2] * n)
        other.put(pa.table({"z": [1, 2]}))
        feeder.put(events(seed + n, 20, first=20 * n))
        stock.put(changes((50, 1, "delete"), (50, 1, "delete"), (60 + n, 2, "insert")))
        keyed.put(changes((4, 10 + n, "update_after"), (5, 0, "delete"), (60 + n, 1, "insert")))
    engine.close()

    engine = open_engine()  # and goes on, from state that was kept with fewer relations
    first = engine.subscribe(
        "SELECT n FROM stock WHERE size = 2", name="first", options={"snapshot": True}
    )
    engine.run_available()
    assert sorted(engine.subscription("late").read()["z"].to_pylist()) == [1] * 3 + [2] * 3
    assert sorted(first.read()["n"].to_pylist()) == [2, 9, 16, 23, 61, 62]
    counted = engine.view("sizes").read(fresh=True).to_pylist()
    held = [n % 7 for n in range(30) if n not in {3, 4}] + [2, 2]
    assert {row["size"]: row["n"] for row in counted} == {s: held.count(s) for s in set(held)}
    verified = engine.verify()
    assert not [own for own in verified.answers if not own.equal]
