"""An engine with Spark, a broker and an edge, at the smallest size: all is told, once."""

from __future__ import annotations

import pytest

from penstock.lab.brokers import missing
from tests.lab.conftest import TinyRun

pytestmark = pytest.mark.spark


@pytest.mark.skipif(missing("nats") is not None, reason=missing("nats") or "")
def test_edge_latency_at_tiny_size(tiny: TinyRun) -> None:
    report, _ = tiny("edge-latency")
    assert [check.value for check in report.checks] == [0, 0]
    (table,) = report.tables
    assert table.rows[-1][-1] == 3
