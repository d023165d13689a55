"""The experiments that the lab knows, by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from penstock.lab.report import Report, Size


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A claim and how to test it.

    Attributes
    ----------
    name
        What `penstock lab` calls it.
    summary
        What it shows, in one sentence.
    reproduces
        Whose figure or claim it runs again.
    run
        `run(size)`: do it and report.
    """

    name: str
    summary: str
    reproduces: str
    run: Callable[[Size], Report]


def _by_module(module: str) -> Callable[[Size], Report]:
    """Run a module's `run`, imported when asked for: listing experiments must stay quick."""

    def run(size: Size) -> Report:
        report = importlib.import_module(module).run(size)
        assert isinstance(report, Report)
        return report

    return run


_ALL = (
    Experiment(
        name="filters",
        summary="What a batch costs as standing filters grow in number, beside peers.",
        reproduces="Group processing of standing filters: cost follows matches, not queries.",
        run=_by_module("penstock.lab.filters"),
    ),
)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
