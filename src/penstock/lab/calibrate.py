"""Calibrate: fit the constants of the router and of the planner on this machine, store both."""

from __future__ import annotations

from penstock.lab.joins import calibrate as router
from penstock.lab.planner import calibration as planner
from penstock.lab.report import Findings, Size


def run(size: Size) -> Findings:
    """Profile the strategies of joins, then the operator of multi-way joins; one report."""
    yield from router.run(size)
    yield from planner.run(size)
