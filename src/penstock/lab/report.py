"""Reports: what an experiment found, for people, for machines and as a figure."""

from __future__ import annotations

import importlib
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from penstock.lab.draws import current_seed

Size = Literal["tiny", "small", "full"]
Cell = str | int | float | bool | None


Sized = TypeVar("Sized")


def sized(tiny: Sized, small: Sized, full: Sized) -> dict[Size, Sized]:
    """Give what differs by size.

    >>> sized(10, 100, 1000)["small"]
    100
    """
    return {"tiny": tiny, "small": small, "full": full}


@dataclass(frozen=True, slots=True)
class Table:
    """Measurements: a title, the columns with their units, and the rows."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows)
        assert len({*self.columns}) == len(self.columns), "two columns of one name"

    @classmethod
    def of(cls, title: str, records: Sequence[Mapping[str, Cell]]) -> Table:
        """Give a table of records that have the same columns."""
        return cls(title, tuple(records[0]), [tuple(each.values()) for each in records])

    def chart(
        self, title: str, y_label: str, *columns: str, x_label: str | None = None, log: str = ""
    ) -> Chart:
        """Draw columns, all if none is named, over the first one.

        >>> squares = Table("squares", ("n", "n squared"), [(1, 1), (2, 4)])
        >>> squares.chart("Squares", "square").curves
        (ChartLine(name='n squared', x=(1, 2), y=(1, 4)),)
        """
        by_name = dict(zip(self.columns, zip(*self.rows, strict=True), strict=True))
        x = by_name[self.columns[0]]
        curves = {name: (x, by_name[name]) for name in columns or self.columns[1:]}
        return chart(title, x_label or self.columns[0], y_label, curves, log=log)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A claim: a measured value and the bound that it must keep.

    >>> at_least("throughput kept", 0.93, 0.8).passed, at_most("moves per update", 7, 5).passed
    (True, False)
    """

    name: str
    value: float
    bound: str
    passed: bool
    timed: bool = False
    """Whether a clock decides: on a busy machine such a claim says little."""


def at_least(name: str, value: float, bound: float, *, timed: bool = False) -> Check:
    """Claim that a value is not below a bound."""
    text = f">= {bound:g}"
    return Check(name=name, value=value, bound=text, passed=value >= bound, timed=timed)


def at_most(name: str, value: float, bound: float, *, timed: bool = False) -> Check:
    """Claim that a value is not above a bound."""
    text = f"<= {bound:g}"
    return Check(name=name, value=value, bound=text, passed=value <= bound, timed=timed)


def near(name: str, value: float, aim: float, slack: float) -> Check:
    """Claim that a value lies near another one.

    >>> near("slope", 1.1, 1.0, 0.15).passed
    True
    """
    bound = f"{aim:g} ± {slack:g}"
    return Check(name=name, value=value, bound=bound, passed=abs(value - aim) <= slack)


def timed(*checks: Check) -> list[Check]:
    """Say of claims that a clock decides them: a busy machine may break them."""
    return [replace(check, timed=True) for check in checks]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    """One line of a figure."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """Ranges of one group of a figure: each from low to high at its height, around a point."""

    name: str
    low: Sequence[float]
    high: Sequence[float]
    y: Sequence[float]
    point: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """How much there is in each cell of a grid, dark where there is much."""

    x: Sequence[float]
    """The borders of the cells, one more than there are cells."""
    y: Sequence[float]
    counts: Sequence[Sequence[float]]
    """By y, then by x."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Lines, groups of ranges, or a map, over common axes."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[ChartLine, ...] = ()
    spans: tuple[Spans, ...] = ()
    heat: HeatMap | None = None
    x_log: bool = False
    y_log: bool = False


def chart(
    title: str,
    x_label: str,
    y_label: str,
    curves: Mapping[str, tuple[Sequence[Any], Sequence[Any]]],
    *,
    log: str = "",
) -> Chart:
    """Give a figure of lines by name; `log` says which axes are logarithmic: "x", "y" or "xy"."""
    return Chart(
        title=title,
        x_label=x_label,
        y_label=y_label,
        curves=tuple(ChartLine(name=name, x=x, y=y) for name, (x, y) in curves.items()),
        x_log="x" in log,
        y_log="y" in log,
    )


def curves_of(points: Iterable[tuple[str, Any, Any]]) -> dict[str, tuple[list[Any], list[Any]]]:
    """Give the lines of a figure by name, of points that name their line, x and y.

    >>> curves_of([("a", 1, 10), ("b", 1, 5), ("a", 2, 20)])
    {'a': ([1, 2], [10, 20]), 'b': ([1], [5])}
    """
    found: dict[str, tuple[list[Any], list[Any]]] = {}
    for name, x, y in points:
        line = found.setdefault(name, ([], []))
        line[0].append(x)
        line[1].append(y)
    return found


def machine() -> dict[str, Cell]:
    """Say where a figure was measured.

    >>> sorted(machine())
    ['cores', 'python', 'system']
    """
    return {
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


Finding = Table | Check | Chart | str | dict[str, Cell]
"""What an experiment finds; a text is a note on what figures do not meet, a dict holds facts."""
Findings = Iterator[Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an experiment found.

    >>> Report(experiment="parity", size="tiny", checks=(at_most("2 % 2", 0, 0),)).passed
    True
    """

    experiment: str
    size: Size
    tables: tuple[Table, ...] = ()
    checks: tuple[Check, ...] = ()
    figures: tuple[Chart, ...] = ()
    facts: dict[str, Cell] = field(default_factory=machine)
    notes: tuple[str, ...] = ()
    """Sentences on what the figures do not meet, and why."""
    seed: int = field(default_factory=current_seed)

    @property
    def passed(self) -> bool:
        """Say whether every claim was borne out."""
        return all(check.passed for check in self.checks)

    @property
    def broken(self) -> list[Check]:
        """Give the claims that failed though no clock decides them.

        >>> slow = at_most("seconds", 9, 5, timed=True)
        >>> Report(experiment="parity", size="tiny", checks=(slow,)).broken
        []
        """
        return [check for check in self.checks if not (check.passed or check.timed)]

    @classmethod
    def of(cls, experiment: str, size: Size, findings: Findings) -> Report:
        """Run an experiment and gather what it finds, each kind in the order in which it came."""
        kept: dict[type, list[Any]] = {Table: [], Check: [], Chart: [], str: [], dict: []}
        for finding in findings:
            kept[type(finding)].append(finding)
        return cls(
            experiment=experiment,
            size=size,
            tables=tuple(kept[Table]),
            checks=tuple(kept[Check]),
            figures=tuple(kept[Chart]),
            notes=tuple(kept[str]),
            facts={
                name: cell for facts in (machine(), *kept[dict]) for name, cell in facts.items()
            },
        )

    def to_json(self) -> dict[str, Any]:
        """Give everything for machines."""
        return {
            "experiment": self.experiment,
            "size": self.size,
            "seed": self.seed,
            "passed": self.passed,
            "facts": dict(self.facts),
            "figures": {
                table.title: [dict(zip(table.columns, row, strict=True)) for row in table.rows]
                for table in self.tables
            },
            "checks": [
                {
                    "name": check.name,
                    "value": check.value,
                    "bound": check.bound,
                    "pass": check.passed,
                }
                for check in self.checks
            ],
            "notes": list(self.notes),
        }

    def show(self, console: Console) -> None:
        """Print the tables, then each claim with its measure."""
        for table in self.tables:
            shown = RichTable(title=escape(table.title), title_justify="left")
            for name, values in zip(table.columns, zip(*table.rows, strict=True), strict=False):
                numbers = any(isinstance(value, int | float) for value in values)
                shown.add_column(escape(name), justify="right" if numbers else "left")
            for row in table.rows:
                shown.add_row(*(escape(_text(cell)) for cell in row))
            console.print(shown)
        for check in self.checks:
            mark = "[green]holds[/]" if check.passed else "[red]fails[/]"
            measured = f"{_text(check.value)}, bound {check.bound}"
            console.print(f"{mark}  {escape(check.name)} [dim]({escape(measured)})[/]")
        for note in self.notes:
            console.print(f"[yellow]note[/]   {escape(note)}")
        facts = {"seed": self.seed, **self.facts}
        console.print(f"[dim]{escape(', '.join(f'{k}: {v}' for k, v in facts.items()))}[/]")

    def plot(self, path: Path) -> None:
        """Draw the figures, one under the other, into an SVG, PNG or PDF file."""
        importlib.import_module("penstock.lab.charts").draw(self.figures, path)


def _text(cell: Cell) -> str:
    """Write a cell: grouped digits, four figures, words for booleans.

    >>> _text(1234567), _text(0.0123456), _text(True), _text(None)
    ('1,234,567', '0.01235', 'yes', '-')
    """
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.4g}"
    return cell
