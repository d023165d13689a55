"""The experiment on event streams at its smallest size: everyone gets all, the silent one goes."""

from __future__ import annotations

from tests.lab.conftest import TinyRun


def test_serving_at_tiny_size(tiny: TinyRun) -> None:
    report, _ = tiny("serve-fanout")
    differing, ended, *cut_off = report.checks[:4]
    assert differing.value == ended.value == 0
    assert [check.value for check in cut_off] == [1, 1]
    assert [check.timed for check in report.checks].count(True) == 1
