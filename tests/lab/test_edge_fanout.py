"""The experiment with edges at its smallest size: nothing is lost or doubled, whoever is killed."""

from __future__ import annotations

import pytest

from penstock.lab.brokers import PROGRAMS, missing
from tests.lab.conftest import TinyRun

ABSENT = [reason for scheme in PROGRAMS if (reason := missing(scheme)) is not None]


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.skipif(bool(ABSENT), reason="; ".join(ABSENT))
def test_edge_fanout_at_tiny_size(tiny: TinyRun) -> None:
    report, _ = tiny("edge-fanout")
    assert [check.value for check in report.checks] == [0] * 6
    (table,) = report.tables
    assert [row[0] for row in table.rows] == ["nats", "mqtt", "redis"]
    assert all(row[table.columns.index("kills")] == 3 for row in table.rows)
