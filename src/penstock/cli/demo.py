"""`penstock demo`: a made-up market and a hundred thousand standing queries on it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from rich.markup import escape

from penstock.cli.board import Board, follow
from penstock.cli.interruption import Halt
from penstock.cli.meter import Meter
from penstock.cli.portfolio import ALERTS, RANGES, Clients, shares
from penstock.cli.run import group_facts, run_facts, show_summary
from penstock.cli.screen import Screen, draw
from penstock.cli.startup import compile_kernels, start_spark
from penstock.cli.stories import tell
from penstock.cli.verification import Beginning, answer_facts, show_outcomes, verify_desk
from penstock.engine import Desk, Engine
from penstock.engine.runner import HostName
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.errors import PenstockError

SYMBOLS = 300
TRADES_PER_S = 8_000
QUOTES_PER_S = 4_000
CHANGE_EVERY_S = 4.0
ADDS, DROPS = 300, 250
STORIES = 4
PAIRS_VERIFIED_MAX = 60_000_000_000
"""Events times queries: what DuckDB, which knows nothing of groups, is asked to decide."""
FIRST_BATCH_S_MAX = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """How to run the demo."""

    seconds: float = 40.0
    queries: int = 100_000
    home: Path | None = None
    host: HostName = "auto"
    verify: bool = True
    picture: Path | None = None


def run_demo(options: DemoOptions, screen: Screen) -> bool:
    """Run the demo; say whether DuckDB agreed, or was not asked."""
    if options.home is not None:
        return _run(options, options.home, screen)
    scratch = Path(tempfile.mkdtemp(prefix="penstock-demo-"))
    try:
        return _run(options, scratch / "home", screen)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run(options: DemoOptions, home: Path, screen: Screen) -> bool:
    screen.progress.print(
        f"[bold]Penstock[/]: {options.queries:,} standing queries on a made-up market of "
        f"{SYMBOLS} symbols, {TRADES_PER_S:,} trades and {QUOTES_PER_S:,} quotes a second."
    )
    with Engine(home, host=options.host, record=True) as engine:
        _refuse_used_home(engine.desk, home)
        start_spark(engine, screen)
        _open_market(engine)
        clients = Clients(SYMBOLS)
        _register(engine, clients, options.queries, screen)
        compile_kernels(engine, screen)
        meter = Meter()
        engine.on_batch(meter.take)
        halt = Halt(engine)
        with halt.on_signals():
            _start(engine, screen, halt)
            meter.restart()
            board = Board("penstock demo", engine, meter, options.seconds)
            churn = _Churn(engine, clients, board.tell)
            engine.on_batch(churn.notice)
            follow(engine, screen, board, halt, options.seconds, churn.tick)
        if options.picture is not None:
            draw(options.picture, "penstock demo", [board])
        stories = tell(engine.desk.registry, meter.batches, STORIES)
        if not screen.as_json:
            _tell(engine, meter, stories, screen)
        answers = _verify(engine, screen) if options.verify else None
        _finish(engine, meter, stories, answers, screen)
        if options.home is not None:
            screen.progress.print(f"[dim]Everything is kept in {home}.[/]")
        return answers is None or all(answer.equal for answer in answers)


def _refuse_used_home(desk: Desk, home: Path) -> None:
    if desk.registry.version:
        raise PenstockError(
            "CLI-006",
            f"{home} holds an engine already; the demo begins with an empty one.",
            "Choose a new directory, or leave --home out.",
        )


def _open_market(engine: Engine) -> None:
    for stream, rate in (("trades", TRADES_PER_S), ("quotes", QUOTES_PER_S)):
        engine.stream(
            stream,
            f"market:{stream}",
            event_time="ts",
            symbols=SYMBOLS,
            rows_per_second=rate,
            pace=True,
        )


def _register(engine: Engine, clients: Clients, queries: int, screen: Screen) -> None:
    with screen.bar(f"Registering {queries:,} standing queries") as bar:
        task = bar.add_task("Registering", total=float(queries + len(ALERTS)))
        for wish, count in shares(queries):
            if count:
                engine.subscribe(wish.sql, wish.name, clients.parameters(wish, count))
            bar.advance(task, count)
        for name, sql in ALERTS.items():
            engine.subscribe(sql, name)
            bar.advance(task, 1)


def _start(engine: Engine, screen: Screen, halt: Halt) -> None:
    """Start, and wait for the first micro-batch: the clock of the demo begins there."""
    with screen.busy("Starting the pipeline: Spark plans, the index is built"):
        engine.start()
        began_s = monotonic()
        while not engine.runner.totals["events"] and not halt.wanted:
            if engine.wait(0.1) or monotonic() - began_s > FIRST_BATCH_S_MAX:
                break


class _Churn:
    """Registers and drops queries while the engine runs, and tells when that took effect."""

    def __init__(self, engine: Engine, clients: Clients, tell_news: Callable[[str], None]) -> None:
        self._engine = engine
        self._clients = clients
        self._tell = tell_news
        self._ids = list(range(len(engine.subscription(RANGES.name))))
        self._next_s = CHANGE_EVERY_S / 2
        self._pending: tuple[int, float, str] | None = None

    def tick(self, elapsed_s: float) -> None:
        """Change something when it is time."""
        if elapsed_s < self._next_s or self._pending is not None:
            return
        self._next_s = elapsed_s + CHANGE_EVERY_S
        ranges = self._engine.subscription(RANGES.name)
        gone = self._clients.choose(self._ids, DROPS)
        added = self._clients.parameters(RANGES, ADDS)
        ranges.add(added)
        version = ranges.drop(gone)
        left = set(gone)
        self._ids = [each for each in self._ids if each not in left] + added["id"].to_pylist()
        words = f"registered {ADDS}, dropped {len(gone)} price ranges"
        self._pending = (version, monotonic(), words)

    def notice(self, report: BatchReport) -> None:
        """Tell when the version of the last change is in force."""
        if self._pending is not None and report.version >= self._pending[0]:
            version, since_s, words = self._pending
            took_ms = (monotonic() - since_s) * 1000
            self._tell(f"{words}: version {version}, in force and answered after {took_ms:,.0f} ms")
            self._pending = None


def _tell(engine: Engine, meter: Meter, stories: list[str], screen: Screen) -> None:
    show_summary(engine, meter, screen)
    if stories:
        screen.out.print("\n[bold]Some that were waited for[/]")
        for story in stories:
            screen.out.print(f"  {escape(story)}")
        screen.out.print("")


def _verify(engine: Engine, screen: Screen) -> list[SubscriptionOutcome]:
    """Verify as much of the run as DuckDB answers in a fraction of a minute."""
    rows_max = PAIRS_VERIFIED_MAX // max(engine.figures(live=False).metrics["queries"], 1)
    beginning = Beginning(engine.desk.home.path / "results", rows_max)
    recorded = engine.runner.totals["events"]
    if beginning.rows < recorded:
        screen.progress.print(
            f"To be quick, the first {beginning.rows:,} of {recorded:,} events are verified; "
            "with --home, `penstock verify` does all."
        )
    return verify_desk(engine.desk, screen, beginning)


def _finish(
    engine: Engine,
    meter: Meter,
    stories: list[str],
    answers: list[SubscriptionOutcome] | None,
    screen: Screen,
) -> None:
    if not screen.as_json:
        if answers is not None:
            show_outcomes(answers, screen)
        return
    counts = engine.figures(live=False).metrics
    data: dict[str, Any] = {
        "host": engine.runner.host,
        **run_facts(engine, meter),
        "queries": counts["queries"],
        "subscriptions": counts["subscriptions"],
        "groups": group_facts(engine, meter),
        "stories": stories,
        "verification": None if answers is None else answer_facts(answers),
    }
    screen.result(data)
