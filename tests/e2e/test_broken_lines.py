"""Lines that do not parse, on both hosts: nobody sees them but who asks for them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.e2e.conftest import Open
from tests.support.hosts import above_hosts

STREAM = pa.schema([("k", pa.int64()), ("x", pa.float64()), ("ts", pa.timestamp("us", "UTC"))])
TABLE = pa.schema([("k", pa.int64()), ("y", pa.int64()), ("op", pa.string())])

EVENTS = """1,1.5,2024-01-01T00:00:00Z
2,many,2024-01-01T00:00:01Z
three
1,,2024-01-01T00:00:02Z
1,2.5,2024-01-01T00:00:03Z,more
2,-2.5,2024-01-01T00:00:04Z
"""
CHANGES = """{"k": 1, "y": 10, "op": "insert"}
{"k": "one", "y": 11, "op": "insert"}
{"k": 1, "y": 12, "op": "insert"
{"k": 2, "y": 20, "op": "insert"}
"""
FILTERS: dict[str, tuple[str, list[float | None]]] = {
    "all": ("SELECT x FROM t", [1.5, None, -2.5]),
    "nothing": ("SELECT x FROM t WHERE x IS NULL", [None]),
    "negated": ("SELECT x FROM t WHERE NOT (coalesce(x, 0) > 0)", [None, -2.5]),
    "ranged": ("SELECT x FROM t WHERE x < 100", [1.5, -2.5]),
    "asking": ("SELECT x FROM t WHERE x IS NULL OR _corrupt LIKE 't%'", [None] * 4),
    "sound": ("SELECT x FROM t WHERE x IS NULL AND _corrupt IS NULL", [None]),
}


def test_nobody_sees_broken_lines_but_who_asks(open_engine: Open, tmp_path: Path) -> None:
    for name, text in (("t", EVENTS), ("u", CHANGES)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one").write_text(text)
    engine = open_engine()
    engine._relations.declare(
        "stream", "t", f"csv:{tmp_path / 't'}", columns=STREAM, event_time="ts"
    )
    engine._relations.declare("table", "u", f"json:{tmp_path / 'u'}", columns=TABLE, changes="op")
    for name, (sql, _) in FILTERS.items():
        engine.subscribe(sql, name=name)
    engine.subscribe("SELECT _corrupt FROM t WHERE _corrupt IS NOT NULL", name="broken")
    engine.subscribe("SELECT y FROM u", name="changes")
    engine.subscribe("SELECT a.y, b.y AS z FROM u a JOIN u b ON a.k = b.k", name="join")
    engine.subscribe(
        "SELECT t.x, u.y FROM t [ROWS 3], u WHERE t.k = u.k AND coalesce(t.x, 0) < 100",
        name="window",
    )
    engine.run_available()
    read = {name: engine.subscription(name).read() for name in engine.desk.registry.names()}
    for name, (_, expected) in FILTERS.items():
        assert sorted(read[name]["x"].to_pylist(), key=str) == sorted(expected, key=str), name
    assert sorted(read["broken"]["_corrupt"].to_pylist()) == sorted(
        [EVENTS.splitlines()[1], "three", EVENTS.splitlines()[4]]
    )
    assert sorted(read["changes"]["y"].to_pylist()) == [10, 20]
    assert sorted(read["join"]["y"].to_pylist()) == [10, 20]
    assert engine.figures().losses["t"] == {"corrupt_rows": 3}
    assert engine.figures().losses["u"] == {"corrupt_rows": 2}
    verdicts = engine.verify().answers
    assert all(verdict.equal for verdict in verdicts), verdicts


@above_hosts
def test_a_column_of_that_name_in_parquet_is_a_column(open_engine: Open, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"_corrupt": ["a", None], "n": [1, 2]}), tmp_path / "in" / "one")
    engine = open_engine()
    engine.stream("t", f"parquet:{tmp_path / 'in'}")
    sub = engine.subscribe("SELECT n FROM t WHERE n > 0", name="q")
    engine.run_available()
    assert sorted(sub.read()["n"].to_pylist()) == [1, 2]
    assert engine.figures().losses == {}
    assert all(verdict.equal for verdict in engine.verify().answers)
