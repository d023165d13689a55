"""Calibrate: fit the constants of the router and of the planner on this machine, store both."""

from __future__ import annotations

from penstock.lab.joins import calibrate as router
from penstock.lab.planner import calibrating as planner
from penstock.lab.report import Report, Size


def run(size: Size) -> Report:
    """Profile the strategies of joins, then the operator of multi-way joins; one report."""
    parts = (router.run(size), planner.run(size))
    return Report(
        experiment="calibrate",
        size=size,
        tables=tuple(table for part in parts for table in part.tables),
        checks=tuple(check for part in parts for check in part.checks),
        facts={name: value for part in parts for name, value in part.facts.items()},
    )
