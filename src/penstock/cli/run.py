"""`penstock run`: a script carried out, its engine started and watched."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from penstock.cli.board import Board, follow, news_of
from penstock.cli.interruption import Halt
from penstock.cli.meter import Meter
from penstock.cli.screen import Screen, were_refused
from penstock.cli.scripts import home_of, read_script
from penstock.cli.startup import compile_kernels, start_spark
from penstock.delivery.change_texts import line_of
from penstock.delivery.changes import Change
from penstock.engine import Engine, Subscription
from penstock.engine.early_checks import check_early
from penstock.engine.figures import OPERATORS_MS
from penstock.engine.losses import loss_words
from penstock.engine.registration import first_refusals
from penstock.engine.runner import HostName
from penstock.kinds.table import KINDS
from penstock.vocabulary.counts import counted
from penstock.vocabulary.durations import microseconds
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.shared_figures import ROWS_WAITING

DRAIN_S_MAX = 10.0
SHORT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*s?\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to run a script."""

    home: Path | None = None
    host: HostName = "auto"
    once: bool = False
    patience: str | None = None
    seconds: float | None = None
    record: bool = False
    printed: tuple[str, ...] = ()


def run_script(path: Path, options: RunOptions, screen: Screen) -> int:
    """Run a script until its end, Ctrl-C, or the time given; give how many rows still wait."""
    patience_s = None if options.patience is None else duration_us(options.patience) / 1e6
    text = read_script(path)
    home = home_of(path, options.home)
    record = True if options.record else None
    with Engine(home, host=options.host, record=record) as engine:
        check_early(engine.desk, text)
        start_spark(engine, screen)
        with screen.busy(f"Carrying out {path}"):
            outcome = engine.sql(text)
        compile_kernels(engine, screen)
        for explanation in outcome.explanations:
            screen.out.print(explanation.text(), markup=False, soft_wrap=True)
        _tell_refusals(outcome.subscriptions, screen)
        _tell_verdicts(outcome.subscriptions, screen)
        printers = [_Printer(engine, name, screen) for name in options.printed]
        meter = Meter()
        engine.on_batch(meter.take)
        halt = Halt(engine)
        with halt.on_signals():
            with screen.busy("Starting the pipeline"):
                engine.start(available_now=options.once, patience=patience_s)
            for printer in printers:
                printer.start()
            board = Board(str(path), engine, meter, options.seconds)
            follow(engine, screen, board, halt, options.seconds, news_of(engine, board))
        for printer in printers:
            printer.join(DRAIN_S_MAX)
        _finish(engine, meter, home, screen)
        return engine.figures(live=False).total(ROWS_WAITING)


def duration_us(text: str) -> int:
    """Read a duration that somebody types; what has no unit, or an s, is in seconds.

    >>> duration_us("30s"), duration_us("1.5"), duration_us("2 minutes")
    (30000000, 1500000, 120000000)
    """
    short = SHORT.fullmatch(text)
    return microseconds(text if short is None else f"{short[1]} seconds")


def still_waiting(rows: int, home: Path) -> PenstockError:
    """Say that a run has ended before a database answered for all rows."""
    waiting = counted(rows, "row waits", "rows wait")
    return PenstockError(
        "LKP-012",
        f"{waiting} for a database that does not answer. Nothing is lost: they are kept in {home}.",
        "Start the database and run again, which goes on with them; or give it longer: --patience.",
    )


def _tell_refusals(subscriptions: list[Subscription], screen: Screen) -> None:
    for subscription in subscriptions:
        receipt = subscription.receipt
        if receipt is not None and receipt.silent:
            words = f"{receipt.silent:,} of its queries can never match: they compare with NULL"
            screen.progress.print(f"{subscription.name}: {words}", markup=False, style="yellow")
        if receipt is None or not receipt.refused.num_rows:
            continue
        words = f"{subscription.name}: {were_refused(receipt.refused.num_rows)}"
        screen.progress.print(words, markup=False, style="yellow")
        for each in first_refusals(subscription.name, receipt):
            words = f"  row {each.row}: {each.code} {each.reason}"
            screen.progress.print(words, markup=False)


def _tell_verdicts(subscriptions: list[Subscription], screen: Screen) -> None:
    """Say of new multi-way joins whether they will keep up."""
    for subscription in subscriptions:
        receipt = subscription.receipt
        for note in receipt.notes if receipt is not None else ():
            bad = receipt is not None and receipt.verdict == "INSUFFICIENT"
            style = "yellow" if bad else None
            words = f"{subscription.name}: {note}"
            screen.progress.print(words, markup=False, style=style, soft_wrap=True)


class _Printer(threading.Thread):
    """Prints a subscription's changes from now on, until the log ends."""

    def __init__(self, engine: Engine, name: str, screen: Screen) -> None:
        super().__init__(name=f"print-{name}", daemon=True)
        self._subscription = engine.subscription(name)
        self._since = f"{engine.desk.log.newest() + 1}:0"
        self._screen = screen

    def run(self) -> None:
        for change in self._subscription.changes(self._since):
            self._print(change)

    def _print(self, change: Change) -> None:
        line = line_of(change, self._subscription.name)
        self._screen.out.print(line, markup=False, soft_wrap=True)


def group_facts(engine: Engine, meter: Meter) -> list[dict[str, Any]]:
    """Say of every group who is in it and what it found in this run; of joins also how."""
    groups: dict[str, dict[str, Any]] = {}
    figures = engine.figures()
    joins, shedding, memory = figures.joins, figures.shedding, figures.memory
    for subscription in engine.subscriptions():
        facts = groups.setdefault(
            subscription.group,
            {"group": subscription.group, "subscriptions": [], "queries": 0, "matches": 0},
        )
        facts["subscriptions"].append(subscription.name)
        facts["queries"] += len(subscription)
        facts["matches"] = meter.group_matches[subscription.group]
        if subscription.group in joins:
            facts["joins"] = joins[subscription.group].to_json()
        if subscription.name in shedding:
            facts["shedding"] = shedding[subscription.name].to_json()
        if subscription.name in memory:
            facts["memory"] = memory[subscription.name].to_json()
    return sorted(groups.values(), key=lambda facts: -int(facts["queries"]))


def run_facts(engine: Engine, meter: Meter) -> dict[str, Any]:
    """Give the figures of a run."""
    return meter.summary(engine.figures().batch_seconds.values())


def show_summary(engine: Engine, meter: Meter, screen: Screen) -> None:
    """Print what a run did: totals, times, groups."""
    facts = run_facts(engine, meter)
    table = Table(title="Groups", title_justify="left")
    for name in ("group", "subscriptions"):
        table.add_column(name, overflow="fold")
    for name in ("standing queries", "matches"):
        table.add_column(name, justify="right")
    for group in group_facts(engine, meter):
        names = group["subscriptions"]
        listed = ", ".join(names[:6]) + (f", … ({len(names)} in all)" if len(names) > 6 else "")
        counts = (f"{group['queries']:,}", f"{group['matches']:,}")
        table.add_row(group["group"], escape(listed), *counts)
    screen.out.print(table)
    figures = engine.figures(live=False)
    whole = figures.whole()
    for kind in KINDS.values():
        for words in kind.summary(whole, whole[OPERATORS_MS]):
            screen.out.print(words)
    for name, shed in figures.shedding.items():
        if any(shed.dropped_rows.values()):
            screen.out.print(shed.words(name), markup=False, soft_wrap=True)
    for name, use in engine.figures().memory.items():
        words = f"{name}: {use.words()}."
        screen.out.print(words, markup=False, soft_wrap=True)
    for words in loss_words(engine.figures().losses):
        screen.out.print(words, markup=False, style="yellow", soft_wrap=True)
    for notice in engine.notices:
        where = f"Batch {notice.batch}. " if notice.batch >= 0 else ""
        screen.out.print(f"{where}{notice.text}", markup=False, soft_wrap=True)
    screen.out.print(
        f"{counted(facts['events'], 'event')}, {counted(facts['matches'], 'match', 'matches')}; "
        "micro-batches: "
        f"{facts['batches']:,}; {facts['seconds']:.1f} s; registry version {facts['version']:,}."
    )
    if facts["batch_ms"] is not None and facts["operators_ms"] is not None:
        batch, operators = facts["batch_ms"], facts["operators_ms"]
        screen.out.print(
            f"A micro-batch took {batch['p50']:,.0f} ms (median; 95 of 100 under "
            f"{batch['p95']:,.0f} ms), of which operators and files {operators['p50']:,.0f} ms. "
            "A row waits for the batch in hand, then for its own."
        )


def _finish(engine: Engine, meter: Meter, home: Path, screen: Screen) -> None:
    if screen.as_json:
        facts = {
            "home": str(home),
            "host": engine.runner.host,
            **run_facts(engine, meter),
            **_standing(engine),
        }
        notices = [{"batch": each.batch, "text": each.text} for each in engine.notices]
        figures = engine.figures(live=False)
        told = {"losses": figures.losses, "notices": notices, "metrics": figures.metrics}
        screen.result({**facts, "groups": group_facts(engine, meter), **told})
        return
    show_summary(engine, meter, screen)
    words = f"Everything is kept in {home}: run again to go on."
    screen.out.print(words, markup=False, style="dim", soft_wrap=True)


def _standing(engine: Engine) -> dict[str, int]:
    counts = engine.figures(live=False).metrics
    names = ("subscriptions", "queries", "queries_never_matching", "slow_path_queries")
    return {name: counts.get(name, 0) for name in names}
