"""`penstock advise`: what budgets of memory would have brought to rows that came once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rich.table import Table

from penstock.algebra.inputs import WindowLength
from penstock.cli.screen import Screen
from penstock.expressions.connections import connect
from penstock.expressions.quotation import quoted
from penstock.kinds.traces import Trace, join_of, lookup_of, read_trace
from penstock.language.memory_checks import ROWS_MAX, shown_family
from penstock.operators.bounded.advice import TARGET, Advice, advise
from penstock.operators.bounded.advice_replays import JoinReplay, LookupReplay
from penstock.operators.bounded.forecast_pictures import curve_svg
from penstock.vocabulary.durations import UNITS_US, microseconds
from penstock.vocabulary.errors import PenstockError

BUDGETS_MAX = 20
BOUNDS = (JoinReplay.bound, LookupReplay.bound)
PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseOptions:
    """What `penstock advise` was asked.

    Attributes
    ----------
    files
        Two that are joined, or one whose keys are looked up.
    keys
        Columns, `left=right` where names differ.
    budgets
        Rows; empty: as the trace suggests.
    within
        Rows of each stream, or a duration.
    time
        The column of event times.
    rows_max
        Rows that are read of each file.
    drawing
        A file for the curves.
    """

    files: tuple[Path, ...]
    keys: tuple[str, ...]
    budgets: str = ""
    within: str = ""
    time: str | None = None
    rows_max: int
    drawing: Path | None = None


def advise_files(options: AdviseOptions, screen: Screen) -> None:
    """Read traces, replay them, and say what they suggest."""
    budgets = budgets_of(options.budgets)
    window = window_of(options.within, options.time)
    if len(options.files) > 2:
        fact = f"{len(options.files)} files are named."
        raise PenstockError("ADV-009", fact, "Name two that are joined, or one that is looked up.")
    replay: JoinReplay | LookupReplay
    with screen.busy(f"Reading {', '.join(str(path) for path in options.files)}"):
        traces = [
            read_trace(path, _side(options.keys, number), options.time, options.rows_max)
            for number, path in enumerate(options.files)
        ]
        if len(traces) == 1:
            if window is not None:
                fact = "Lookups have no window."
                raise PenstockError("ADV-007", fact, "Leave --within out, or name a second file.")
            replay = lookup_of(traces[0])
        else:
            replay = join_of(traces, window)
    with screen.bar("Replaying") as bar:
        task = bar.add_task("Replaying", total=None)
        advice = advise(replay, budgets, lambda what: bar.update(task, description=what))
    told = _facts(traces, replay, advice, window)
    if advice is not None and options.drawing is not None:
        title = f"{replay.measure.capitalize()} against memory: {' and '.join(_names(traces))}"
        try:
            options.drawing.write_text(_drawn(advice, title), encoding="utf-8")
        except OSError as error:
            fact = f"{options.drawing} cannot be written: {error.strerror}."
            raise PenstockError(
                "ADV-010", fact, "Name a file in a directory that is there."
            ) from None
        screen.progress.print(f"[dim]Drawn: {options.drawing}[/]")
    if screen.as_json:
        screen.result(told)
        return
    _show(told, advice, screen)


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


def _facts(
    traces: Sequence[Trace], replay: JoinReplay | LookupReplay, advice: Advice | None,
    window: WindowLength | None,
) -> dict[str, Any]:  # fmt: skip
    found: dict[str, Any] = {
        "files": [{"file": str(each.path), "rows_read": len(each)} for each in traces],
        "measure": replay.measure,
        "rows_replayed": replay.count,
        "rows_max": replay.rows_max,
        "numeric": replay.numeric,
    }
    if isinstance(replay, JoinReplay):
        found["results"] = replay.results
    if advice is None:
        what = "No two rows join" if len(traces) == 2 else "No key comes twice"
        return {**found, "advice": f"{what}: no memory brings anything.", "curves": {}}
    names = _names(traces)
    return {
        **found,
        "most": round(advice.most, 4),
        "curves": {name: curve.to_json()["points"] for name, curve in advice.curves.items()},
        "policy": advice.policy,
        "rows": advice.rows,
        replay.measure.replace(" ", "_"): round(advice.share, 4),
        "alpha": advice.facts.get("alpha"),
        "in_force": advice.facts["policy"],
        "laws": dict(zip(names, advice.facts["streams"], strict=True)),
        "needs": [{"share": share, "rows": rows} for share, rows in advice.needs.items()],
        "clause": clause_of(advice, names),
        "sql": sql_of(advice, traces, window),
        "advice": sentence_of(advice),
        "notes": list(advice.notes),
    }


def clause_of(advice: Advice, names: Sequence[str]) -> str:
    """Give what to write behind a join, or a table that is looked up."""
    words = "MEMORY" if len(names) == 2 else "CACHE"
    clause = f"{words} {advice.rows} ROWS USING {advice.policy}"
    if advice.policy != "HEEB":
        return clause
    shown = [shown_family(law.family) for law in advice.laws]
    if len(names) == 1:
        return f"{clause} MODEL {shown[0]}"
    return f"{clause} MODEL {', '.join(f'{a} AS {b}' for a, b in zip(names, shown, strict=True))}"


def sql_of(advice: Advice, traces: Sequence[Trace], window: WindowLength | None) -> str:
    """Give the query of a join; of a lookup, what its table is declared by."""
    names = _names(traces)
    clause = clause_of(advice, names)
    if len(traces) == 1:
        return f"LOOKUP FROM '…' KEY {_quoted(traces[0].names[0])} {clause}"
    pairs = zip(traces[0].names, traces[1].names, strict=True)
    links = " AND ".join(f"{names[0]}.{_quoted(a)} = {names[1]}.{_quoted(b)}" for a, b in pairs)
    if window is not None and window.kind == "rows":
        shown = ", ".join(f"{name} [ROWS {window.size}]" for name in names)
        return f"SELECT * FROM {shown} WHERE {links} {clause}"
    within = "" if window is None else f" WITHIN {_duration(window.size)}"
    return f"SELECT * FROM {names[0]} JOIN {names[1]} ON {links}{within} {clause}"


def sentence_of(advice: Advice) -> str:
    """Say what to take, and what else would bring."""
    kind = "results" if advice.curve.measure == "recall" else "lookups"
    does, done = ("finds", "found") if kind == "results" else ("answers", "answered")
    said = (
        f"{advice.policy} with {advice.rows:,} rows {does} {_percent(advice.share)} of the {kind}"
    )
    at = {
        name: share
        for name, curve in advice.curves.items()
        for share in [point.share for point in curve.points if point.budget == advice.rows]
    }
    best_possible = next((at.pop(name) for name in BOUNDS if name in at), None)
    others = {name: share for name, share in at.items() if name != advice.policy}
    if others:
        best = max(others, key=others.__getitem__)
        said += f"; with as many, the next best, {best}, {does} {_percent(others[best])}"
    if best_possible is not None:
        said += f", and {_percent(best_possible)} could have been {done}"
    if kind == "lookups":
        said += f"; memory without end answers {_percent(advice.most)}"
    if not advice.reached:
        said += f". None of these budgets brings {100 * TARGET:g} % of what there is"
    return f"{said}."


def _show(told: dict[str, Any], advice: Advice | None, screen: Screen) -> None:
    read = ", ".join(f"{each['file']} ({each['rows_read']:,} rows)" for each in told["files"])
    results = f", {told['results']:,} results" if "results" in told else ""
    screen.out.print(f"{read}: {told['rows_replayed']:,} rows replayed{results}", soft_wrap=True)
    if advice is None:
        screen.out.print(told["advice"], soft_wrap=True)
        return
    table = Table(title=f"{advice.curve.measure} by rows of memory", title_justify="left")
    table.add_column("rows", justify="right")
    for name in advice.curves:
        table.add_column(name, justify="right", style="bold" if name == advice.policy else "")
    budgets = sorted({point.budget for curve in advice.curves.values() for point in curve.points})
    shares = {
        (name, point.budget): point.share
        for name, curve in advice.curves.items()
        for point in curve.points
    }
    for rows in budgets:
        cells = (shares.get((name, rows)) for name in advice.curves)
        shown = ("" if share is None else _percent(share) for share in cells)
        table.add_row(f"{rows:,}", *shown, style="bold" if rows == advice.rows else "")
    screen.out.print(table)
    lines = [f"{name}: {_law_words(facts)}" for name, facts in told["laws"].items()]
    if told["alpha"] is not None:
        lines.append(f"alpha: {told['alpha']:g}")
    reached = [need for need in told["needs"] if need["rows"] is not None]
    what = "the results" if advice.curve.measure == "recall" else "what any memory would bring"
    said = ", ".join(f"{100 * need['share']:g} % with {need['rows']:,}" for need in reached)
    if said:
        lines.append(f"rows for a share of {what}: {said}")
    screen.out.print(
        *lines,
        *advice.notes,
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


def _drawn(advice: Advice, title: str) -> str:
    others = {
        name: curve.to_json()["points"]
        for name, curve in advice.curves.items()
        if name != advice.policy
    }
    said = {
        "name": advice.policy,
        "best": next((n for n in others if n in BOUNDS), None),
        "asked_word": "advised",
    }
    return curve_svg({**advice.curve.to_json(), **said, "others": others}, title)


def _names(traces: Sequence[Trace]) -> list[str]:
    """Name the streams as their files are named."""
    names = [_quoted(each.path.stem) for each in traces]
    if len(set(names)) < len(names):
        names[-1] = _quoted(f"{traces[-1].path.stem}_2")
    return names


def _quoted(name: str) -> str:
    is_plain = PLAIN_NAME.fullmatch(name) and name.lower() not in _reserved()
    return name if is_plain else quoted(name)


@cache
def _reserved() -> frozenset[str]:
    sql = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
    with connect(threads=1) as db:
        return frozenset(word for (word,) in db.sql(sql).fetchall())


def _duration(size_us: int) -> str:
    unit = next(unit for unit, us in reversed(UNITS_US.items()) if size_us % us == 0)
    return f"{size_us // UNITS_US[unit]} {unit.upper()}S"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
