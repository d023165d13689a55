"""Verification reads every kind of value as the engine does: no false alarm, and none missed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine.verification import verify
from penstock.kinds.outcomes import SubscriptionOutcome
from tests.support.desk_runs import DeskRun

NAN, INF = float("nan"), float("inf")
BEGIN = datetime(2026, 1, 2, tzinfo=UTC)
VALUES = pa.schema(
    [
        ("x", pa.float64()),
        ("f", pa.float32()),
        ("d", pa.decimal128(12, 4)),
        ("at", pa.timestamp("us", "UTC")),
        ("items", pa.list_(pa.float64())),
        ("pair", pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ("filename", pa.string()),
        ("n", pa.int64()),
    ]
)
FLOATS = (1.0, NAN, 3.0, -0.0, 0.0, INF, -INF, None, 5e-324, -1.0)
FILTERS = {
    "above": "SELECT n, x FROM a WHERE x > 2",
    "not above": "SELECT n FROM a WHERE NOT (x > 2)",
    "null": "SELECT n, x FROM a WHERE x IS NULL",
    "zero": "SELECT n, f FROM a WHERE f = 0",
    "infinite": "SELECT * FROM a WHERE f >= 1e30",
    "decimal": "SELECT d, pair FROM a WHERE d BETWEEN -1.5 AND 2.25",
    "zone": "SELECT at, items FROM a WHERE at >= TIMESTAMPTZ '2026-01-02 00:00:03+00'",
    "nested": "SELECT pair.b AS b, items[1] AS l FROM a WHERE pair.a > 3",
    "name": "SELECT filename FROM a WHERE filename LIKE '%7'",
}
JOINS = {
    "floats": "SELECT a.n AS a, b.n AS b, a.x AS x FROM a JOIN b ON a.x = b.x WITHIN 1 MINUTE",
    "decimals": "SELECT a.d, b.items FROM a JOIN b ON a.d = b.d WITHIN 1 MINUTE WHERE a.x > 0",
    "ways": "SELECT * FROM a [ROWS 5], b [RANGE 1 MINUTE], c [ROWS 4] "
    "WHERE a.f = b.f AND b.x = c.x",
    "budget": "SELECT a.n AS a, b.n AS b FROM a JOIN b ON a.n = b.n WITHIN 1 MINUTE "
    "MEMORY 100 ROWS",
}


def row(n: int) -> dict[str, Any]:
    x = FLOATS[n % len(FLOATS)]
    return {
        "x": x,
        "f": FLOATS[(3 * n) % len(FLOATS)],
        "d": None if n % 4 == 0 else Decimal(n) / 4 - 2,
        "at": BEGIN + timedelta(seconds=n),
        "items": None if n % 5 == 0 else [x, NAN],
        "pair": None if n % 3 == 0 else {"a": n, "b": f"b{n}"},
        "filename": f"f{n}",
        "n": n,
    }


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    made = DeskRun(
        tmp_path / "home",
        *(
            Relation(
                name=name, kind="stream", schema=VALUES, event_time="at", lateness_us=10_000_000
            )
            for name in "abc"
        ),
    )
    yield made
    made.desk.close()


def judged(run: DeskRun) -> list[SubscriptionOutcome]:
    return verify(run.desk.registry, run.desk.log)


def test_no_value_gives_a_false_alarm(run: DeskRun) -> None:
    for name, sql in {**FILTERS, **JOINS}.items():
        run.desk.subscribe(sql, name=name)
    run.desk.subscribe(
        "SELECT n FROM a WHERE x BETWEEN :low AND :high",
        name="ranges",
        each=[
            {"id": n, "low": low, "high": high}
            for n, (low, high) in enumerate([(0.0, INF), (-INF, -0.0), (-1.0, 1.0), (3.0, 3.0)])
        ],
    )
    for first in range(0, 30, 10):
        rows = [row(n) for n in range(first, first + 10)]
        run.batch(a=rows, b=rows[::-1], c=rows[2:])
    answers = {answer.subscription: answer for answer in verify(run.desk.registry, run.desk.log)}
    for answer in answers.values():
        assert answer.equal, answer
        assert answer.found, answer
    assert answers["above"].found == 6
