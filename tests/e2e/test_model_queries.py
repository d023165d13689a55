"""Model queries end to end: alerts before their time, on both hosts, with a restart between."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import Engine
from penstock.algebra.model_streams import StreamGate, StreamPlan
from penstock.kinds.model_query.gate_plans import GatePlan
from penstock.kinds.model_query.streams import ModelWatch
from penstock.models.sharing.covering import covering
from penstock.worlds import harbour

pytestmark = pytest.mark.spark
SAILING = "MODEL x = x + vx * t MODEL y = y + vy * t KEY vessel"
APART = "(a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y)"
SCRIPT = f"""
CREATE STREAM positions FROM 'parquet:{{place}}'
  OPTIONS (event_time = 'ts', lateness = '1 second', maxFilesPerTrigger = 1);
SUBSCRIBE beyond TO SELECT vessel, starts, ends, x, status FROM positions {SAILING}
  WHERE x > :limit ERROR WITHIN 10 HORIZON 60 SECONDS FOR EACH ROW OF '{{limits}}';
SUBSCRIBE outside TO SELECT vessel, starts, ends, x, status FROM positions {SAILING}
  WHERE x > 2500 OR x < -2500 ERROR WITHIN 10 HORIZON 60 SECONDS;
SUBSCRIBE close TO SELECT a.vessel, b.vessel AS other, starts, ends FROM positions a {SAILING}
  JOIN positions b {SAILING} ON a.vessel <> b.vessel AND {APART} < 4000000 ERROR WITHIN 20;
SUBSCRIBE easts TO SELECT vessel, avg(x) AS east FROM positions [SIZE 10 SECONDS ADVANCE 5 SECONDS]
  MODEL x KEY vessel GROUP BY vessel ERROR WITHIN 20;
"""
LATER = f"""SELECT vessel, starts, ends, x, status FROM positions {SAILING}
  WHERE x > 2000 OR y > 3000 ERROR WITHIN 10 HORIZON 60 SECONDS"""
NAMES = ("beyond", "outside", "later", "close", "easts")
LIMITS = "id,limit\nnear,0\nfar,3000\nnowhere,90000\n"
FILES, ROWS = 4, 400


def write(place: Path, number: int) -> None:
    table = pa.Table.from_batches([harbour.positions(number * ROWS, number * ROWS + ROWS)])
    path = place / f"{number:03d}.parquet"
    pq.write_table(table, path.with_suffix(".tmp"))
    # Spark reads files by age, and those of one millisecond in any order: rows would be late.
    os.utime(path.with_suffix(".tmp"), (1_700_000_000 + number,) * 2)
    path.with_suffix(".tmp").rename(path)


def answers(engine: Engine, *names: str) -> Counter[Any]:
    """Give everything that subscribers were told, with its batch."""
    return Counter(
        (name, change.batch, change.id, change.sign, repr(change.row))
        for name in names
        for change in engine.subscription(name).changes(follow=False)
    )


def share_gate(engine: Engine, *names: str) -> None:
    """Force the stream of some subscriptions to a plan in which they share a gate."""
    groups = [engine.subscription(name).group for name in names]
    (stream,) = {own for group in groups for own in engine.desk.registry.steps[group]["reads"]}
    watch = engine.desk.watcher.over_group(stream)
    assert isinstance(watch, ModelWatch)
    asked = watch.cycle.conditions(stream)
    gate = StreamGate(condition=covering([asked[group] for group in groups]), readers=tuple(groups))
    plan = StreamPlan(gates=(gate,))
    watch.book.publish(stream, lambda number: GatePlan(number, plan))


def test_both_hosts_tell_the_same(tmp_path: Path) -> None:
    place, limits = tmp_path / "positions", tmp_path / "limits.csv"
    place.mkdir()
    limits.write_text(LIMITS)
    found = {}
    for number in range(FILES - 1):
        write(place, number)
    hosts: dict[str, dict[str, Any]] = {
        "embedded": {"host": "embedded"}, "cluster": {"host": "cluster", "shards": 2},
    }  # fmt: skip
    for host, settings in hosts.items():
        with Engine(tmp_path / host, record=True, **settings) as engine:
            engine.sql(SCRIPT.format(place=place, limits=limits))
            engine.run_available()
    write(place, FILES - 1)
    for host, settings in hosts.items():
        with Engine(tmp_path / host, record=True, **settings) as engine:
            engine.subscription("beyond").add([{"id": "late", "limit": 1000.0}])
            engine.subscription("beyond").drop(["near"])
            engine.subscribe(LATER, name="later")
            share_gate(engine, "outside", "later")
            engine.run_available()
            found[host] = answers(engine, *NAMES)
            outcome = engine.verify()
            assert outcome.state == "equal", (outcome.findings, outcome.answers)
            assert all(each.expected > 9 for each in outcome.answers), outcome.answers
            text = engine.explain("beyond").text()
            assert "with 2 other shapes: outside, later" in text, text
            assert "asked once with 1 other shape: outside" in engine.explain("later").text()
            for word in ("bound led back", "rows per segment", "dropped share", "validated"):
                assert word in text, text
            # Nothing comes any more: who asks now is told all the same.
            engine.subscribe(LATER.replace("2000", "1500"), name="quiet")
            engine.run_available()
            found[host] += answers(engine, "quiet")
            assert engine.verify().state == "equal"
    assert found["embedded"] == found["cluster"]
    told = Counter(key[0] for key in found["embedded"])
    assert min(told.values()) > 5, told
    assert any(sign < 0 for _, _, _, sign, _ in found["embedded"])
