"""The screen: where a command speaks, on a terminal, into a pipe, or as JSON.

What was asked for goes to stdout. Progress shares the terminal with it; when stdout is a pipe or
must hold one JSON object, progress goes to stderr.
"""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from penstock.vocabulary.counts import counted
from penstock.vocabulary.errors import PenstockError

PIPE_COLUMNS = 100
PICTURE_COLUMNS = 92


def show_notices_once() -> None:
    """Keep notices out of Python's log: commands show them themselves."""
    notices = logging.getLogger("penstock.notices")
    notices.addHandler(logging.NullHandler())
    notices.propagate = False


class Screen:
    """Two consoles: `out` for what was asked for, `progress` for how it goes."""

    def __init__(self, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.out = _console(stderr=as_json)
        shared = self.out.is_terminal and not as_json and not quiet
        self.progress = self.out if shared else _console(stderr=True, quiet=quiet)

    @property
    def is_live(self) -> bool:
        """Say whether a display can be redrawn in place."""
        return self.progress.is_terminal and not self.progress.quiet

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """Say what takes its time: a spinner on a terminal, a line elsewhere."""
        started = perf_counter()
        if self.is_live:
            with self.progress.status(f"{escape(what)} …"):
                yield
        else:
            self.progress.print(f"{escape(what)} …")
            yield
        self.progress.print(f"[dim]{escape(what)}: {perf_counter() - started:.1f} s[/]")

    @contextmanager
    def bar(self, what: str) -> Iterator[Progress]:
        """Show a progress bar; off a terminal only its end is printed."""
        started = perf_counter()
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
        )
        if not self.is_live:
            self.progress.print(f"{what} …")
        with Progress(
            *columns, console=self.progress, transient=True, disable=not self.is_live
        ) as bar:
            yield bar
        self.progress.print(f"[dim]{what}: {perf_counter() - started:.1f} s[/]")

    def warn(self, text: str) -> None:
        """Say on stderr what is not as it should be with what was asked for."""
        _console(stderr=True).print(text, markup=False, style="yellow", soft_wrap=True)

    def result(self, data: dict[str, Any]) -> None:
        """Write the one JSON object of a command."""
        sys.stdout.write(json.dumps(data, indent=2, default=str) + "\n")
        sys.stdout.flush()


def draw(path: Path, title: str, shown: list[RenderableType]) -> None:
    """Draw what a terminal would show into an SVG file."""
    console = Console(record=True, width=PICTURE_COLUMNS, file=io.StringIO(), force_terminal=True)
    for each in shown:
        console.print(each)
    console.save_svg(str(path), title=title)


def show_error(error: PenstockError) -> None:
    """Print an error on stderr: its code in red, what is the case, what to do, where it stands."""
    text = Text.assemble((error.code, "bold red"), " ", (error.fact, "red"), " ", error.remedy)
    if error.place is not None:
        text.append(f"\n  at {error.place}")
    _console(stderr=True).print(text, soft_wrap=True)


def were_refused(rows: int) -> str:
    """Count rows of parameters that were refused."""
    return counted(rows, "row was refused", "rows were refused")


def _console(*, stderr: bool, quiet: bool = False) -> Console:
    console = Console(stderr=stderr, quiet=quiet, highlight=False)
    if not console.is_terminal:
        # A pipe has no width; tables should not be cut to the 80 columns of a punched card.
        console = Console(stderr=stderr, quiet=quiet, highlight=False, width=PIPE_COLUMNS)
    return console
