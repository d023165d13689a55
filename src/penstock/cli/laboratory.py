"""`penstock lab`: experiments listed and run.

The lab stands on the same row as the command line, so it is found by its name when it is asked
for, and seen through what is written down here.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.cli.screen import Screen
from penstock.vocabulary.errors import PenstockError

Size = Literal["tiny", "small", "full"]
LIST = "list"


class LabReport(Protocol):
    """What the command line needs of a report."""

    @property
    def passed(self) -> bool:
        """Whether every claim was borne out."""

    def to_json(self) -> dict[str, Any]:
        """Everything, for machines."""

    def show(self, console: Console) -> None:
        """Print tables and claims."""

    def plot(self, path: Path) -> None:
        """Draw the figures into a file."""


class LabExperiment(Protocol):
    """What the command line needs of an experiment."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def summary(self) -> str:
        """What it shows."""

    @property
    def reproduces(self) -> str:
        """Whose claim it runs again."""

    @property
    def cites(self) -> str:
        """The paper that the claim is from, or `own`."""

    @property
    def run(self) -> Callable[[Size, int], LabReport]:
        """Do it: the size, and the seed of all draws."""


def run_experiment(name: str, size: Size, seed: int, plot: Path | None, screen: Screen) -> bool:
    """Run an experiment, or list all; say whether every claim was borne out."""
    experiments = _experiments()
    if name == LIST:
        _list(experiments, screen)
        return True
    if name not in experiments:
        raise PenstockError(
            "LAB-001",
            f"There is no experiment {name!r}.",
            f"Choose from: {', '.join(sorted(experiments))}; `penstock lab list` tells more.",
        )
    if plot is not None and importlib.util.find_spec("matplotlib") is None:
        fact = f"Nothing can be drawn into {plot}: matplotlib is not installed."
        raise PenstockError("LAB-002", fact, "Install it: pip install 'penstock[lab]'.")
    with screen.busy(f"Running {name} ({size}, seed {seed})"):
        report = experiments[name].run(size, seed)
    if plot is not None:
        with screen.busy(f"Drawing {plot}"):
            report.plot(plot)
    if screen.as_json:
        screen.result(report.to_json())
    else:
        report.show(screen.out)
    return report.passed


def _experiments() -> Mapping[str, LabExperiment]:
    module = importlib.import_module("penstock.lab.experiments")
    return cast(Mapping[str, LabExperiment], module.EXPERIMENTS)


def _list(experiments: Mapping[str, LabExperiment], screen: Screen) -> None:
    if screen.as_json:
        listed = [
            {name: getattr(each, name) for name in ("name", "summary", "reproduces", "cites")}
            for each in experiments.values()
        ]
        screen.result({"experiments": listed})
        return
    papers: dict[str, list[LabExperiment]] = {}
    for each in experiments.values():
        papers.setdefault(each.cites, []).append(each)
    width = max(map(len, experiments))
    for paper, cited in papers.items():
        table = Table(
            title=paper[0].upper() + paper[1:],
            title_justify="left",
            title_style="bold",
            box=None,
            show_header=False,
        )
        table.add_column(width=width, no_wrap=True)
        table.add_column()
        for each in cited:
            table.add_row(each.name, f"{each.summary} [dim]{escape(each.reproduces)}[/]")
        screen.out.print(table, "")
