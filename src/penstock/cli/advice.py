"""`penstock advise`: what budgets of memory would have brought to rows that came once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from penstock.algebra.inputs import WindowLength
from penstock.cli.screen import Screen
from penstock.kinds.advice import AdviceTable, TraceReplay, percent
from penstock.kinds.traces import read_trace
from penstock.language.memory_checks import ROWS_MAX
from penstock.vocabulary.counts import counted
from penstock.vocabulary.durations import microseconds
from penstock.vocabulary.errors import PenstockError

BUDGETS_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseOptions:
    """What `penstock advise` was asked."""

    files: tuple[Path, ...]
    """Two that are joined, or one whose keys are looked up."""
    keys: tuple[str, ...]
    """Columns, `left=right` where names differ."""
    budgets: str = ""
    """Rows; empty: as the trace suggests."""
    within: str = ""
    """Rows of each stream, or a duration."""
    time: str | None = None
    """The column of event times."""
    rows_max: int
    """Rows that are read of each file."""
    drawing: Path | None = None
    """A file for the curves."""


def advise_files(options: AdviseOptions, screen: Screen) -> None:
    """Read traces, replay them, and say what they suggest."""
    budgets = budgets_of(options.budgets)
    window = window_of(options.within, options.time)
    if len(options.files) > 2:
        fact = f"{len(options.files)} files are named."
        raise PenstockError("ADV-009", fact, "Name two that are joined, or one that is looked up.")
    with screen.busy(f"Reading {', '.join(str(path) for path in options.files)}"):
        traces = [
            read_trace(path, _side(options.keys, number), options.time, options.rows_max)
            for number, path in enumerate(options.files)
        ]
        if len(traces) == 1 and window is not None:
            fact = "Lookups have no window."
            raise PenstockError("ADV-007", fact, "Leave --within out, or name a second file.")
        replay = TraceReplay(traces, window)
    with screen.bar("Replaying") as bar:
        task = bar.add_task("Replaying", total=None)
        replay.run(budgets, lambda what: bar.update(task, description=what))
    told, drawn = replay.facts(), replay.svg()
    if drawn is not None and options.drawing is not None:
        try:
            options.drawing.write_text(drawn, encoding="utf-8")
        except OSError as error:
            fact = f"{options.drawing} cannot be written: {error.strerror}."
            raise PenstockError(
                "ADV-010", fact, "Name a file in a directory that is there."
            ) from None
        screen.progress.print(f"[dim]Drawn: {options.drawing}[/]")
    if screen.as_json:
        screen.result(told)
        return
    _show(told, replay.table(), screen)


# What was asked.


def budgets_of(text: str) -> tuple[int, ...]:
    """Read budgets, with commas between them.

    >>> budgets_of("100,1000, 10_000")
    (100, 1000, 10000)
    """
    found = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        rows = int(word) if re.fullmatch(r"\d[\d_]*", word) else 0
        if not 1 <= rows <= ROWS_MAX:
            fact = f"{word!r} is not a budget of rows."
            remedy = f"Write whole numbers from 1 to {ROWS_MAX:,}, as in --memory 100,1000."
            raise PenstockError("ADV-006", fact, remedy)
        found.append(rows)
    if len(found) > BUDGETS_MAX or (text and not found):
        fact = f"{len(found)} budgets are given."
        raise PenstockError("ADV-006", fact, f"Give from 1 to {BUDGETS_MAX}.")
    return tuple(found)


def window_of(text: str, time: str | None) -> WindowLength | None:
    """Read a window: so many rows of each stream, or a duration.

    >>> window_of("2000", None), window_of("2 seconds", "ts").size
    (WindowLength(kind='rows', size=2000), 2000000)
    """
    if not text:
        return None
    is_rows = re.fullmatch(r"\d[\d_]*", text.strip()) is not None
    size = int(text) if is_rows else microseconds(text)
    if size < 1:
        fact = f"A window of {text} holds nothing."
        raise PenstockError("ADV-007", fact, "Give a longer --within, or none.")
    if not is_rows and time is None:
        fact = f"How many rows come in {text} is not known."
        raise PenstockError("ADV-007", fact, "Name the event time: --time COLUMN.")
    return WindowLength(kind="rows" if is_rows else "range", size=size)


def _side(keys: Sequence[str], number: int) -> list[str]:
    """Give one file's columns of `left=right` and of names that both have."""
    return [each.split("=", 1)[number] if "=" in each else each for each in keys]


# What is told.


def _show(told: dict[str, Any], found: AdviceTable | None, screen: Screen) -> None:
    read = ", ".join(
        f"{each['file']} ({counted(each['rows_read'], 'row')})" for each in told["files"]
    )
    results = f", {counted(told['results'], 'result')}" if "results" in told else ""
    screen.out.print(
        f"{read}: {counted(told['rows_replayed'], 'row')} replayed{results}", soft_wrap=True
    )
    if found is None:
        screen.out.print(told["advice"], soft_wrap=True)
        return
    table = Table(title=f"{found.measure} by rows of memory", title_justify="left")
    table.add_column("rows", justify="right")
    for name in found.policies:
        table.add_column(name, justify="right", style="bold" if name == found.policy else "")
    for rows, shares in found.rows:
        shown = ("" if share is None else percent(share) for share in shares)
        table.add_row(f"{rows:,}", *shown, style="bold" if rows == found.advised else "")
    screen.out.print(table)
    lines = [f"{name}: {_law_words(facts)}" for name, facts in told["laws"].items()]
    if told["alpha"] is not None:
        lines.append(f"alpha: {told['alpha']:g}")
    reached = [need for need in told["needs"] if need["rows"] is not None]
    what = "the results" if found.measure == "recall" else "what any memory would bring"
    said = ", ".join(f"{100 * need['share']:g} % with {need['rows']:,}" for need in reached)
    if said:
        lines.append(f"rows for a share of {what}: {said}")
    screen.out.print(
        *lines,
        *told["notes"],
        "",
        told["advice"],
        told["sql"],
        sep="\n",
        soft_wrap=True,
        markup=False,
    )


def _law_words(facts: dict[str, Any]) -> str:
    if facts["family"] is None:
        return "no law"
    said = ", ".join(f"{name} {value}" for name, value in facts["parameters"].items())
    since = facts.get("since_tick", 0)
    return f"{facts['family']} ({said})" + (f" since tick {since:,}" if since else "")
