"""The board: a run as one sees it, redrawn in place on a terminal, line by line elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from penstock.cli.interruption import Halt
from penstock.cli.meter import Meter
from penstock.cli.screen import Screen
from penstock.engine import Engine, Notice
from penstock.engine.losses import loss_words
from penstock.kinds.table import KINDS
from penstock.vocabulary.counts import counted

STOPPING = (
    "Stopping after the batch in hand; Ctrl-C again gives it up, and the next run repeats it."
)
TICK_S = 0.1
LINE_EVERY_S = 2.0
FRAMES_PER_SECOND = 5
NEWS_KEPT = 4
BUDGETS_SHOWN = 4
LOSSES_SHOWN = 4


class Board:
    """Shows an engine's run; `seconds` is when it will end by itself, if it will."""

    def __init__(self, title: str, engine: Engine, meter: Meter, seconds: float | None) -> None:
        self._title = title
        self._engine = engine
        self._meter = meter
        self._seconds = seconds
        self._news: deque[str] = deque(maxlen=NEWS_KEPT)
        self._unsaid: deque[str] = deque()

    def tell(self, news: str) -> None:
        """Add a line of news."""
        self._news.append(news)
        self._unsaid.append(news)

    def __rich__(self) -> RenderableType:
        """Draw the board."""
        reading, counts = self._meter.read(), self._engine.figures(live=False).metrics
        table = Table.grid(padding=(0, 2))
        table.add_column(style="cyan")
        table.add_column(justify="right", min_width=13)
        table.add_column()
        groups = f"in {counted(counts['groups'], 'group')}, registry version {reading.version:,}"
        table.add_row("standing queries", f"[bold]{counts['queries']:,}[/]", groups)
        for name, rate, total, line in (
            ("events", reading.events_per_s, reading.events, reading.events_trend),
            ("matches", reading.matches_per_s, reading.matches, reading.matches_trend),
        ):
            row = f"{total:>13,} in all   [green]{line}[/]"
            table.add_row(name, f"[bold]{rate:,.0f}[/]/s", row)
        table.add_row("micro-batch", f"[bold]{_ms(reading.batch_s)}[/]", self._batch_words())
        whole = self._engine.figures(live=False).whole()
        for kind in KINDS.values():
            for name, words in kind.board(whole).items():
                table.add_row(name, "", words)
        for name, words in self._memory_words():
            table.add_row("memory", "", f"{escape(name)}: {escape(words)}")
        for words in loss_words(self._engine.figures().losses)[:LOSSES_SHOWN]:
            table.add_row("left out", "", f"[yellow]{escape(words)}[/]")
        if slow := counts.get("slow_path_queries", 0):
            words = f"[yellow]slow path: each of {slow:,} meets every event; see EXPLAIN[/]"
            table.add_row("", "", words)
        news = [f"[dim]{escape(line)}[/]" for line in self._news]
        return Panel(
            Group(table, *([""] if news else []), *news),
            title=f"[bold]{escape(self._title)}[/]",
            subtitle=self._time_words(),
            title_align="left",
            subtitle_align="right",
            border_style="blue",
        )

    def lines(self) -> Iterator[str]:
        """Say the same in a line, after the news since the last one."""
        while self._unsaid:
            yield self._unsaid.popleft()
        reading, counts = self._meter.read(), self._engine.figures(live=False).metrics
        slow = counts.get("slow_path_queries", 0)
        yield (
            f"{self._meter.elapsed_s:5.0f} s  {reading.events_per_s:,.0f} events/s  "
            f"{reading.matches_per_s:,.0f} matches/s  batch {_ms(reading.batch_s)}  "
            f"{counted(counts['queries'], 'query', 'queries')} in "
            f"{counted(counts['groups'], 'group')}  "
            f"version {reading.version}" + (f"  slow path {slow:,}" if slow else "")
        )
        for name, words in self._memory_words():
            yield f"         {name}: {words}"

    def _memory_words(self) -> list[tuple[str, str]]:
        """Say how budgets of rows are used, a few of them."""
        listed = list(self._engine.figures(live=False).memory.items())[:BUDGETS_SHOWN]
        return [(name, use.words()) for name, use in listed]

    def _batch_words(self) -> str:
        reading = self._meter.read()
        if reading.batch_s is None:
            return "[dim]Spark plans the first ones[/]"
        return f"of which operators {_ms(reading.operators_s)}"

    def _time_words(self) -> str:
        elapsed = _clock(self._meter.elapsed_s)
        return elapsed if self._seconds is None else f"{elapsed} of {_clock(self._seconds)}"


def news_of(engine: Engine, board: Board) -> Callable[[float], None]:
    """Give what tells a board, again and again, of the engine's new notices."""
    told: list[Notice] = []

    def tell(_elapsed_s: float) -> None:
        for notice in list(engine.notices):
            if notice not in told:
                told.append(notice)
                board.tell(notice.text)

    return tell


def follow(
    engine: Engine,
    screen: Screen,
    board: Board,
    halt: Halt,
    seconds: float | None,
    tick: Callable[[float], None] = lambda _elapsed_s: None,
) -> None:
    """Show a run until it ends, until somebody asks for the end, or until its time is over."""
    started_s = monotonic()
    said_s = started_s
    with _drawn(screen, board):
        while not engine.wait(TICK_S):
            elapsed_s = monotonic() - started_s
            if halt.wanted or (seconds is not None and elapsed_s >= seconds):
                break
            tick(elapsed_s)
            if not screen.is_live and monotonic() - said_s >= LINE_EVERY_S:
                said_s = monotonic()
                for line in board.lines():
                    screen.progress.print(line, markup=False, soft_wrap=True)
        if halt.wanted:
            screen.progress.print(STOPPING)
        halt.stop()


@contextmanager
def _drawn(screen: Screen, board: Board) -> Iterator[None]:
    if not screen.is_live:
        yield
        return
    with Live(board, console=screen.progress, refresh_per_second=FRAMES_PER_SECOND):
        yield


def _ms(seconds: float | None) -> str:
    """Write a duration.

    >>> _ms(0.0123), _ms(1.5), _ms(None)
    ('12 ms', '1.50 s', '-')
    """
    if seconds is None:
        return "-"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _clock(seconds: float) -> str:
    """Write a time of day's length.

    >>> _clock(75)
    '1:15'
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
