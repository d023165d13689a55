"""The experiment on delivery at its smallest size: everyone gets what is theirs."""

from __future__ import annotations

from pathlib import Path

from penstock.lab.experiments import EXPERIMENTS


def test_delivery_at_tiny_size(tmp_path: Path) -> None:
    report = EXPERIMENTS["delivery"].run("tiny")
    equality, *timed = report.checks
    assert equality.value == 0 and not equality.timed
    assert timed and all(check.timed for check in timed)
    assert not report.broken
    report.plot(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000
