"""The ends of every type are values like others: in filters, joins and bands, also after drops."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from penstock.expressions.connections import connect
from tests.support.desk_runs import DeskRun

WHOLE = [
    -(2**63), -(2**63) + 1, 3 - 2**63, -(2**62), -1, 0, 1, 2**62, 2**63 - 3, 2**63 - 2, 2**63 - 1,
]  # fmt: skip
UNSIGNED = [0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
FLOATS = [
    -math.inf, -1.7976931348623157e308, -1.0, -2.2250738585072014e-308, -5e-324, -0.0, 0.0, 5e-324,
    2.2250738585072014e-308, 1e-300, 1.0, math.nextafter(1.0, 2.0), 1.7976931348623157e308,
    math.inf,
]  # fmt: skip
SINGLES = [
    -math.inf, -3.4028234663852886e38, -1.0, -1.401298464324817e-45, -0.0, 0.0,
    1.401298464324817e-45, 0.5, 1.0, 16777216.0, 3.4028234663852886e38, math.inf,
]  # fmt: skip
VALUES: dict[pa.DataType, list[Any]] = {
    pa.int64(): WHOLE,
    pa.uint64(): UNSIGNED,
    pa.int8(): [-128, -127, -1, 0, 126, 127],
    pa.float64(): FLOATS,
    pa.float32(): SINGLES,
}
ENDS = [WHOLE.index(end) for end in (-(2**63), -(2**63) + 1, 2**63 - 2, 2**63 - 1)]
TYPES = pytest.mark.parametrize("type_", list(VALUES), ids=str)


def table(name: str, type_: pa.DataType) -> Relation:
    schema = pa.schema([("k", pa.int64()), ("g", pa.int64()), ("c", type_), ("op", pa.string())])
    return Relation(name=name, kind="table", schema=schema, change_column="op")


def rows(values: list[Any], first: int = 0) -> list[dict[str, Any]]:
    listed = [*values, None]
    return [{"k": first + k, "g": 1, "c": c, "op": "insert"} for k, c in enumerate(listed)]


def ranges(values: list[Any], rng: random.Random) -> list[dict[str, Any]]:
    pairs = [(low, high) for low in values for high in values if low <= high]
    chosen = rng.sample(pairs, min(len(pairs), 25))
    whole = (values[0], values[-1])
    return [{"id": i, "low": a, "high": b} for i, (a, b) in enumerate([whole, *chosen])]


@TYPES
def test_ranges_at_the_ends_are_found_and_dropped(
    type_: pa.DataType, tmp_path: Path, seed: int
) -> None:
    """A dropped query over all values matches none, the greatest included."""
    rng = random.Random(seed)
    values = VALUES[type_]
    run = DeskRun(tmp_path / "home", table("l", type_), table("r", type_))
    each = pa.Table.from_pylist(
        ranges(values, rng), pa.schema([("id", pa.int64()), ("low", type_), ("high", type_)])
    )
    half = rng.sample(range(1, each.num_rows), each.num_rows // 2 - 1)
    try:
        texts = {
            "closed": "SELECT k FROM l WHERE c BETWEEN :low AND :high",
            "open": "SELECT k FROM l WHERE c >= :low",
            "below": "SELECT k FROM l WHERE c <= :high",
            "joined": "SELECT l.k, r.k AS rk FROM l JOIN r ON l.g = r.g "
            "WHERE l.c >= :low AND r.c <= :high",
        }
        for name, sql in texts.items():
            run.desk.subscribe(sql, name=name, each=each)
        run.batch(l=rows(values), r=rows(values, 100))
        for name in texts:
            run.desk.drop(name, [0, *half])
        run.batch(l=rows(values, 200))
        with connect(threads=1) as db:
            db.register("p", each)
            early = pa.Table.from_pylist(rows(values), table("l", type_).schema)
            late = pa.Table.from_pylist(rows(values, 200), table("l", type_).schema)
            right = pa.Table.from_pylist(rows(values, 100), table("r", type_).schema)
            dropped = ", ".join(map(str, [0, *half]))
            db.register("early", early)
            db.register("late", late)
            db.register("r", right)
            db.execute(
                "CREATE TABLE ls AS SELECT *, 0 AS b FROM early UNION ALL SELECT *, 1 FROM late"
            )
            stands = f"(l.b = 0 OR p.id NOT IN ({dropped}))"
            for name, sql in texts.items():
                told = run.desk.subscription(name).read()
                found = sorted(zip(*(told[n].to_pylist() for n in told.column_names
                                     if n in {"_id", "k", "rk"}), strict=True))  # fmt: skip
                where = sql.split("WHERE")[1].replace(":", "p.").replace(" c ", " l.c ")
                if name == "joined":
                    asked = f"SELECT p.id, l.k, r.k FROM ls l, r, p WHERE {where} AND {stands}"
                else:
                    asked = f"SELECT p.id, l.k FROM ls l, p WHERE {where} AND {stands}"
                assert found == sorted(db.execute(asked).fetchall()), name
        for verdict in verify(run.desk.registry, run.desk.log):
            assert verdict.equal, verdict
    finally:
        run.desk.close()


@pytest.mark.parametrize("type_", [pa.float64(), pa.float32(), pa.int64()], ids=str)
def test_bands_at_the_ends_are_as_duckdb_says(
    type_: pa.DataType, tmp_path: Path, seed: int
) -> None:
    """An open end at zero leaves equal values out, down to the least difference there is."""
    rng = random.Random(seed)
    values = VALUES[type_]
    run = DeskRun(tmp_path / "home", table("l", type_), table("r", type_))
    bounds = pa.table({"id": list(range(len(values))), "b": pa.array(values, type_)})
    signs = ["<", "<=", ">", ">=", "="]
    wide = "::HUGEINT" if type_ == pa.int64() else ""
    kept = f" AND p.id NOT IN {tuple(ENDS)}" if wide else ""
    sides = [("r", "l"), ("l", "r")]
    try:
        asked = {}
        for sign, (one, two), bound in product(signs, sides, (":b", "0")):
            sql = f"SELECT l.k AS k, r.k AS rk FROM l, r WHERE {one}.c - {two}.c {sign} {bound}"
            name = f"{one} - {two} {sign} {bound}"
            each = bounds if bound == ":b" else None
            if each is not None and rng.random() < 0.5:
                continue
            found = run.desk.subscribe(sql, name=name, each=each)
            if each is not None and wide:
                # Differences of whole numbers are told apart up to the ends, not beyond.
                assert found.receipt is not None
                assert found.receipt.refused["row"].to_pylist() == ENDS
            asked[name] = f"{one}.c{wide} - {two}.c{wide} {sign} {bound.replace(':', 'p.')}"
        run.batch(l=rows(values))
        run.batch(r=rows(values, 100))
        run.batch(l=rows(values, 200))
        with connect(threads=1) as db:
            left = pa.Table.from_pylist(
                [*rows(values), *rows(values, 200)], table("l", type_).schema
            )
            right = pa.Table.from_pylist(rows(values, 100), table("r", type_).schema)
            db.register("l", left)
            db.register("r", right)
            db.register("p", bounds)
            numbers = "" if wide else " AND NOT isnan(r.c - l.c)"
            for name, where in asked.items():
                told = run.desk.subscription(name).read()
                own = "p.id" if ":b" in name else f"'{name}'"
                given = ", p" if ":b" in name else ""
                truth = db.execute(
                    f"SELECT {own}, l.k, r.k FROM l, r{given} WHERE {where}{numbers}"
                    f"{kept if given else ''}"
                ).fetchall()
                columns = [told[n].to_pylist() for n in ("_id", "k", "rk")]
                assert sorted(zip(*columns, strict=True)) == sorted(truth), name
        for verdict in verify(run.desk.registry, run.desk.log):
            assert verdict.equal, verdict
    finally:
        run.desk.close()


def stream(name: str, type_: pa.DataType) -> Relation:
    fields = [("k", pa.int64()), ("g", pa.int64()), ("c", type_), ("ts", pa.timestamp("us", "UTC"))]
    return Relation(
        name=name, kind="stream", schema=pa.schema(fields), event_time="ts", lateness_us=0
    )


@pytest.mark.parametrize("type_", [pa.int64(), pa.float64()], ids=str)
def test_joins_of_streams_at_the_ends_are_as_duckdb_says(
    type_: pa.DataType, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    values = rng.sample(VALUES[type_], len(VALUES[type_]))
    run = DeskRun(tmp_path / "home", stream("a", type_), stream("b", type_))
    each = pa.table({"id": list(range(len(values))), "p": pa.array(values, type_)})
    terms = ["x.c < y.c", "x.c = y.c", "x.g = y.g AND x.c <= :p", "x.g = y.g AND y.c > :p"]
    if type_ == pa.int64():
        terms += ["y.c - x.c <= 5", "y.c - x.c > 0", "abs(y.c - x.c) <= 1", "y.c <= x.c + 1"]
    windows = "SELECT x.k, y.k AS yk FROM a x [ROWS 100], b y [ROWS 100] WHERE {}"
    within = "SELECT x.k, y.k AS yk FROM a x JOIN b y ON x.g = y.g AND {} WITHIN 100 SECONDS"
    texts = [*(windows.format(term) for term in terms), within.format("x.c >= :p")]

    def rows_of(first: int) -> list[dict[str, Any]]:
        start = datetime(2024, 1, 1, tzinfo=UTC)
        return [
            {"k": first + i, "g": 1, "c": c, "ts": start + timedelta(milliseconds=first + 2 * i)}
            for i, c in enumerate([*values, None])
        ]

    try:
        for number, sql in enumerate(texts):
            run.desk.subscribe(sql, name=f"q{number}", each=each if ":p" in sql else None)
        run.batch(a=rows_of(0), b=rows_of(1))
        run.desk.drop("q2", rng.sample(range(len(values)), 3))
        run.batch(a=rows_of(100), b=rows_of(101))
        last = {"k": -1, "g": 9, "c": None, "ts": datetime(2025, 1, 1, tzinfo=UTC)}
        run.batch(a=[last], b=[last])
        verdicts = verify(run.desk.registry, run.desk.log)
    finally:
        run.desk.close()
    assert all(verdict.equal and verdict.expected for verdict in verdicts), verdicts
