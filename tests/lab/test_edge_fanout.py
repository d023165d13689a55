"""The experiment with edges at its smallest size: nothing is lost or doubled, whoever is killed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.lab.brokers import PROGRAMS, missing
from penstock.lab.dissemination.edge_process import EdgeLife
from penstock.lab.dissemination.engine_kills import minima_by_batch, miscounted
from penstock.lab.dissemination.engine_process import BATCH
from tests.lab.conftest import TinyRun

ABSENT = [reason for scheme in PROGRAMS if (reason := missing(scheme)) is not None]


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.skipif(bool(ABSENT), reason="; ".join(ABSENT))
def test_edge_fanout_at_tiny_size(tiny: TinyRun) -> None:
    report, _ = tiny("edge-fanout")
    assert [check.value for check in report.checks] == [0] * 10
    table, engines = report.tables
    assert [row[0] for row in table.rows] == ["nats", "mqtt", "mqtt", "redis"]
    assert [row[1] for row in table.rows] == ["anybody", "anybody", "named", "anybody"]
    assert all(row[table.columns.index("kills")] == 3 for row in table.rows)
    (killed,) = (dict(zip(engines.columns, row, strict=True)) for row in engines.rows)
    assert (killed["broker"], killed["kills"]) == ("redis", 2)


@pytest.mark.slow
@pytest.mark.skipif(missing("nats") is not None, reason=missing("nats") or "")
def test_join_messages_at_tiny_size(tiny: TinyRun) -> None:
    report, facts = tiny("join-messages")
    assert [check.value for check in report.checks] == [0] * 8
    (rows,) = facts["figures"].values()
    assert [row["edges are"] for row in rows] == ["anybody", "named"] * 2
    assert all(row["affected per change"] > 0 for row in rows)
    assert [row["share of unicast"] < 1 for row in rows[2:]] == [True, True]


def test_minima_follow_the_changes() -> None:
    """What edges are held against is what a person finds."""
    rows = [(1, 5, 30, "insert", 0), (2, 7, 20, "insert", 0), (2, 7, 20, "delete", 1)]
    names = ("id", "risk", "price", "op", BATCH)
    changes = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    subscribers = pa.table({"id": ["0", "1"], "lo": [0, 6], "hi": [9, 9]})
    assert minima_by_batch(changes, subscribers, 2) == [[20, 20], [30, None]]


def test_what_is_told_wrongly_is_counted() -> None:
    """An edge told of batch 1 twice as many as changed, nothing of batch 2, and 3 as it is."""
    values: list[list[int | None]] = [[1, 1], [1, 2], [3, 2], [4, None]]
    assert miscounted(EdgeLife(first_batch=0, batches={1: 2, 3: 2}), values) == 2
    assert miscounted(EdgeLife(first_batch=0, batches={1: 1, 2: 1, 3: 2}), values) == 0
