"""`penstock sweep`: one query with many values of its parameters, over rows that have come."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv
from rich.table import Table

from penstock.cli.screen import Screen
from penstock.cli.scripts import read_home, read_script
from penstock.engine.sweeps import COMBINATIONS_MAX, SweepReport, SweepRequest, Values, sweep
from penstock.kinds.sweeps import SEGMENTS
from penstock.vocabulary.counts import counted
from penstock.vocabulary.errors import PenstockError

SHOWN_MAX = 200
WRITERS = (".csv", ".parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """What `penstock sweep` was asked."""

    settings: tuple[str, ...]
    """`name=1:10:0.5` or `name=a,b,c`."""
    subscription: str | None = None
    home: Path | None = None
    segments: Path | None = None
    out: Path | None = None
    rows_max: int


def sweep_script(script: Path, options: SweepOptions, screen: Screen) -> None:
    """Sweep a query of a script, and show or write what was found."""
    text = read_script(script)
    settings = settings_of(options.settings)
    if options.out is not None and options.out.suffix.lower() not in WRITERS:
        fact = f"{options.out} is neither a .csv nor a .parquet file."
        raise PenstockError("SWP-008", fact, "Name one that ends so.")
    directory = options.segments or (options.home or script.parent) / SEGMENTS
    request = SweepRequest(
        script=text, settings=settings, directory=directory, subscription=options.subscription,
        rows_max=options.rows_max,
    )  # fmt: skip
    opened = nullcontext(None) if options.home is None else read_home(options.home)
    with opened as desk, screen.bar("Sweeping") as bar:
        task = bar.add_task("Sweeping", total=None)

        def advance(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        report = sweep(request, desk, advance)
    if options.out is not None:
        _write(report.table, options.out)
    _show(report, options.out, screen)


def settings_of(texts: Sequence[str]) -> dict[str, Values]:
    """Read what --set says.

    >>> settings_of(["limit=1:2:0.5", "symbol=IBM,KO"])
    {'limit': [1.0, 1.5, 2.0], 'symbol': ['IBM', 'KO']}
    """
    found: dict[str, Values] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip().removeprefix(":")
        if not equals or not name or not values.strip():
            raise _refused(text, "it names no parameter and its values")
        if name in found:
            raise _refused(text, f":{name} is set already")
        found[name] = values_of(text, values.strip())
    return found


def values_of(text: str, values: str) -> Values:
    """Read `from:to`, `from:to:step` or a list; ranges include their ends.

    >>> values_of("", "3:1:-1"), values_of("", "0.1:0.3:0.1"), values_of("", "7")
    ([3, 2, 1], [0.1, 0.2, 0.3], [7])
    """
    parts = [part.strip() for part in values.split(":")]
    if len(parts) in {2, 3} and all(_number(part) is not None for part in parts):
        low, high, *rest = (_decimal(text, part) for part in parts)
        return _plain(_range(text, low, high, rest[0] if rest else Decimal(1)))
    given = [part.strip() for part in values.split(",")]
    if not all(given):
        raise _refused(text, "one of its values is empty")
    if any(_number(part) is None for part in given):
        return given
    return _plain([_decimal(text, part) for part in given])


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _decimal(text: str, part: str) -> Decimal:
    number = _number(part)
    assert number is not None
    if not number.is_finite():
        raise _refused(text, f"{part} is no number that could be swept")
    return number


def _range(text: str, low: Decimal, high: Decimal, step: Decimal) -> list[Decimal]:
    if step == 0:
        raise _refused(text, "a step of 0 comes to no end")
    if (high - low) * step < 0:
        raise _refused(text, f"steps of {step} do not lead from {low} to {high}")
    count = int((high - low) / step) + 1
    if count > COMBINATIONS_MAX:
        raise PenstockError(
            "SWP-005",
            f"--set {text} gives {count:,} values; {COMBINATIONS_MAX:,} are the most.",
            "Take larger steps.",
        )
    return [low + step * place for place in range(count)]


def _plain(numbers: Sequence[Decimal]) -> list[int] | list[float]:
    if all(own == own.to_integral_value() and abs(own) < 2**53 for own in numbers):
        return [int(own) for own in numbers]
    return [float(own) for own in numbers]


def _refused(text: str, why: str) -> PenstockError:
    return PenstockError(
        "SWP-004",
        f"--set {text} cannot be read: {why}.",
        "Write NAME=FROM:TO:STEP, as in threshold=1:10:0.5, or NAME=A,B,C.",
    )


def _write(table: pa.Table, path: Path) -> None:
    try:
        if path.suffix.lower() == ".csv":
            csv.write_csv(table, path)
        else:
            pq.write_table(table, path)
    except OSError as error:
        fact = f"{path} cannot be written: {error.strerror or error}."
        raise PenstockError("SWP-008", fact, "Name a file in a directory that is there.") from None


def _show(report: SweepReport, out: Path | None, screen: Screen) -> None:
    if screen.as_json:
        rows = report.table.to_pylist()
        notes = list(report.notes)
        screen.result({"subscription": report.subscription, "combinations": rows, "notes": notes})
        return
    for note in report.notes:
        screen.progress.print(f"[dim]{note}[/]")
    if out is not None:
        screen.out.print(f"{counted(report.table.num_rows, 'combination')}: {out}", markup=False)
        return
    table = Table(title=None)
    for name in report.table.column_names:
        is_text = pa.types.is_string(report.table.schema.field(name).type)
        table.add_column(name, justify="left" if is_text else "right")
    for row in report.table.slice(0, SHOWN_MAX).to_pylist():
        table.add_row(*(_cell(value) for value in row.values()))
    screen.out.print(table)
    left = report.table.num_rows - SHOWN_MAX
    if left > 0:
        screen.out.print(f"… and {left:,} more: say --out FILE, or --json.", markup=False)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.1f}"
    return str(value).removesuffix("+00:00")
