"""The experiment on delivery at its smallest size: everyone gets what is theirs."""

from __future__ import annotations

from tests.lab.conftest import TinyRun


def test_delivery_at_tiny_size(tiny: TinyRun) -> None:
    report, _ = tiny("delivery")
    equality, *timed = report.checks
    assert equality.value == 0 and not equality.timed
    assert timed and all(check.timed for check in timed)
