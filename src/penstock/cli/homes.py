"""`penstock status`, `list`, `tail`, `drop` and `sql`: a home as it is, also while it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Sized
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from penstock.cli.screen import Screen, were_refused
from penstock.cli.scripts import existing_home, read_home
from penstock.delivery.change_texts import row_text
from penstock.delivery.changes import Change
from penstock.delivery.sinks import ConsoleSink
from penstock.engine import Desk, Subscription
from penstock.engine.home import user_of_home
from penstock.engine.visits import carried_out, read_view
from penstock.expressions.quotation import quoted
from penstock.kinds.kept_views import notice_of, staleness_of
from penstock.language.parser import parse
from penstock.language.statements import (
    CreateView,
    DropSink,
    DropSubscription,
    Keep,
    Resume,
    Subscribe,
)
from penstock.vocabulary.counts import counted
from penstock.vocabulary.errors import PenstockError

SOURCELESS = (Subscribe, CreateView, DropSubscription, DropSink, Resume, Keep)
"""Statements that need no sources; DROP VIEW needs none either."""

PARTS = ("registry", "results", "state", "checkpoint", "sinks", "views", "segments")
"""What a home's bytes are counted by; what is elsewhere is `other`."""
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
STEP = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class TailOptions:
    """What is shown of a subscription's changes."""

    last: int | None
    since: str | None
    follow: bool
    ids: tuple[str, ...]


def status_facts(desk: Desk) -> dict[str, Any]:
    """Give what a home says of itself, for machines."""
    home, registry, log = desk.home, desk.registry, desk.log
    newest = log.newest()
    batch = log.committed(newest) if newest >= 0 else None
    return {
        "home": str(home.path),
        "running": user_of_home(home.path),
        "format": home.facts["format"],
        "host": home.facts.get("host"),
        "recorded": bool(home.facts.get("record")),
        "version": registry.version,
        "relations": {each.relation.name: each.relation.kind for each in _declared(desk)},
        **registry.counts(),
        "batches": newest + 1,
        "retention": desk.upkeep.limits.words(),
        "first_batch": log.first(),
        "last_batch": None
        if batch is None
        else {
            "number": batch.batch,
            "version": batch.version,
            "rows": batch.rows_in,
            "matches": batch.matches,
            "committed": _moment(log.time_of(newest)),
        },
        "suspended": {
            name: {"since": each.since, "reason": each.reason, "ids": desk.suspended.ids(name)}
            for name, each in desk.suspended.subscriptions().items()
        },
        "sinks": _sinks(desk),
        "sizes": sizes_of(home.path),
    }


def _declared(desk: Desk) -> Iterable[Any]:
    return desk.registry.declarations.values()


def _sinks(desk: Desk) -> list[dict[str, Any]]:
    return [asdict(each) for each in desk.sinks.of(*desk.registry.subscriptions)]


def _moment(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="seconds")


def sizes_of(home: Path) -> dict[str, dict[str, int]]:
    """Count files and bytes of a home by part; what goes away meanwhile is not counted."""
    sizes = {part: {"files": 0, "bytes": 0} for part in (*PARTS, "other")}
    for directory, _, names in os.walk(home):
        inside = Path(directory).relative_to(home).parts
        part = inside[0] if inside and inside[0] in PARTS else "other"
        for name in names:
            try:
                size = (Path(directory) / name).stat().st_size
            except FileNotFoundError:
                continue
            sizes[part]["files"] += 1
            sizes[part]["bytes"] += size
    return sizes


def size_words(size: int) -> str:
    """Say how many bytes.

    >>> size_words(512), size_words(1536), size_words(3 << 30)
    ('512 bytes', '1.5 KiB', '3.0 GiB')
    """
    amount, unit = float(size), 0
    while amount >= STEP and unit < len(UNITS) - 1:
        amount, unit = amount / STEP, unit + 1
    return f"{amount:.1f} {UNITS[unit]}" if unit else f"{size} bytes"


def show_status(home: Path, screen: Screen) -> None:
    """Say what runs, what stands, how far it is, and what the home takes."""
    with read_home(home) as desk:
        facts = status_facts(desk)
    if screen.as_json:
        screen.result(facts)
        return
    runs, last, sizes = facts["running"], facts["last_batch"], facts["sizes"]
    lines = {
        "home": f"{facts['home']} (format {facts['format']}"
        f"{', recorded' if facts['recorded'] else ''})",
        "engine": "not running" if runs is None else f"runs in process {runs}",
        "host": facts["host"] or "not settled: it never ran",
        "stands": f"{counted(facts['queries'], 'standing query', 'standing queries')} of "
        f"{counted(facts['subscriptions'], 'subscription')} in "
        f"{counted(facts['groups'], 'group')}, version {facts['version']:,}",
        "batches": f"{facts['batches']:,}",
        "kept": facts["retention"]
        + (f", from batch {facts['first_batch']:,} on" if facts["first_batch"] else ""),
    }
    if last is not None:
        lines["last batch"] = (
            f"number {last['number']:,}, committed {last['committed']}: "
            f"{counted(last['rows'], 'row')}, {counted(last['matches'], 'match', 'matches')}"
        )
    for name, rest in facts["suspended"].items():
        ids = [each for each in rest["ids"] if each != name]
        which = f"id {', '.join(map(str, ids))}, " if ids else ""
        lines[f"suspended {name}"] = f"{which}since {rest['since']}: {rest['reason']}"
    for sink in facts["sinks"]:
        taken = f"has taken all up to {sink['token']}" if sink["token"] else "has taken nothing"
        where = f" ({sink['address']})" if sink["address"] else ""
        lines[f"sink {sink['name']} of {sink['subscription']}"] = f"{taken}{where}"
    lines["size"] = ", ".join(
        f"{part} {size_words(size['bytes'])} in {counted(size['files'], 'file')}"
        for part, size in sizes.items()
        if size["files"]
    )
    table = Table.grid(padding=(0, 2))
    for name, words in lines.items():
        table.add_row(f"[bold]{escape(name)}[/]", escape(words))
    screen.out.print(table)


def show_view(home: Path, sql: str, fresh: bool, screen: Screen) -> None:
    """Print the rows of a view that a SELECT asks for."""
    rows = read_view(existing_home(home), sql, fresh)
    notice, stale = notice_of(rows), staleness_of(rows)
    if screen.as_json:
        told: dict[str, Any] = {} if notice is None else {"notice": notice}
        if stale is not None:
            told["staleness"] = stale.to_json()
        screen.result({"columns": rows.column_names, "rows": rows.to_pylist(), **told})
        return
    if notice is not None:
        screen.warn(notice)
    table = Table(title=None)
    for field in rows.schema:
        table.add_column(field.name)
    for row in rows.to_pylist():
        table.add_row(*("NULL" if value is None else escape(str(value)) for value in row.values()))
    screen.out.print(table)
    if stale is not None and (waiting := stale.words()):
        screen.progress.print(f"[dim]{escape(waiting)}; --fresh brings them in[/]")


def _state(subscription: Subscription, at_rest: Collection[str], ids: Sized) -> str:
    """Say whether a subscription stands, or how many of its queries are suspended."""
    if subscription.name not in at_rest:
        return "stands"
    is_whole = len(ids) in {0, len(subscription)}
    return "suspended" if is_whole else f"{len(ids):,} suspended"


def show_list(home: Path, screen: Screen) -> None:
    """List relations, subscriptions and sinks."""
    with read_home(home) as desk:
        relations = [
            {
                "name": each.relation.name,
                "kind": each.relation.kind,
                "source": each.source.name or "",
                "columns": each.relation.schema.names,
            }
            for each in _declared(desk)
        ]
        at_rest = desk.suspended.subscriptions()
        subscriptions = [
            {
                "name": each.name,
                "queries": len(each),
                "state": _state(each, at_rest, desk.suspended.ids(each.name)),
                "group": each.group,
                "sql": each.sql,
            }
            for each in desk.subscriptions()
        ]
        sinks = _sinks(desk)
    if screen.as_json:
        screen.result({"relations": relations, "subscriptions": subscriptions, "sinks": sinks})
        return
    for title, rows, shown in (
        ("relation", relations, ("name", "kind", "source", "columns")),
        ("subscription", subscriptions, ("name", "queries", "state", "group", "sql")),
        ("sink", sinks, ("name", "subscription", "address", "token")),
    ):
        if title == "sink" and not rows:
            continue
        table = Table(title=None)
        for column in shown:
            heading = title if column == "name" else column
            table.add_column(heading, justify="right" if column == "queries" else "left")
        for row in rows:
            table.add_row(*(escape(_cell(row[column])) for column in shown))
        screen.out.print(table)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else " ".join(str(value).split())


def show_tail(home: Path, name: str, options: TailOptions, screen: Screen) -> None:
    """Print a subscription's changes, and those that come."""
    show = _printed if screen.as_json else ConsoleSink(name, screen.out)
    with read_home(home) as desk:
        subscription = desk.subscription(name)
        since = options.since
        if since is None and options.last is not None:
            since = subscription.before_last(options.last, options.ids or None)
        for change in subscription.changes(since, options.follow, ids=options.ids or None):
            show(change)


def _printed(change: Change) -> None:
    facts = {name: getattr(change, name) for name in ("id", "row", "sign", "batch", "token")}
    sys.stdout.write(row_text(facts) + "\n")
    sys.stdout.flush()


def carry_out(home: Path, text: str, screen: Screen) -> None:
    """Carry out statements that need no sources."""
    statements = parse(text)
    if not statements:
        raise PenstockError(
            "SQL-002", "The text is empty.", "Write a statement, such as DROP SUBSCRIPTION alerts."
        )
    for statement in statements:
        if not (isinstance(statement, SOURCELESS) or getattr(statement, "is_kept", False)):
            words = " ".join(statement.text.split()[:2]).upper()
            raise PenstockError(
                "CLI-007",
                f"{words} is not carried out on a home from outside.",
                "Write it into the script that `penstock run` is given, or use `penstock explain`.",
            )
    done = carried_out(existing_home(home), text)
    if screen.as_json:
        screen.result(asdict(done))
        return
    screen.out.print(f"Done, from version {done.version:,} on.", markup=False)
    if done.refused:
        screen.progress.print(were_refused(done.refused), markup=False, style="yellow")
        for each in done.refusals:
            words = f"  {each.subscription}, row {each.row}: {each.code} {each.reason}"
            screen.progress.print(words, markup=False)


def resume_queries(home: Path, name: str, screen: Screen) -> None:
    """Let a suspended subscription run again."""
    version = carried_out(existing_home(home), f"RESUME {quoted(name)}").version
    if screen.as_json:
        screen.result({"resumed": name, "version": version})
        return
    screen.out.print(f"Resumed {name}, from version {version:,} on.", markup=False)


def drop_queries(home: Path, name: str, ids: tuple[str, ...], screen: Screen) -> None:
    """Drop a subscription, or some of its standing queries."""
    asked = ", ".join("'" + each.replace("'", "''") + "'" for each in ids)
    which = f" WHERE ID IN ({asked})" if ids else ""
    version = carried_out(existing_home(home), f"DROP SUBSCRIPTION {quoted(name)}{which}").version
    if screen.as_json:
        screen.result({"dropped": name, "ids": list(ids), "version": version})
        return
    what = f"{counted(len(ids), 'standing query', 'standing queries')} of {name}" if ids else name
    screen.out.print(f"Dropped {what}, from version {version:,} on.", markup=False)
