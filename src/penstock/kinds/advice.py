"""Advice on budgets of rows: what rows that came once say of the memory that they would need."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from penstock.algebra.inputs import WindowLength
from penstock.expressions.connections import connect
from penstock.expressions.quotation import quoted
from penstock.kinds.traces import Trace, join_of, lookup_of
from penstock.language.memory_checks import shown_family
from penstock.operators.bounded.advice import TARGET, Advice, advise
from penstock.operators.bounded.advice_replays import JoinReplay, LookupReplay
from penstock.operators.bounded.forecast_pictures import curve_svg
from penstock.vocabulary.durations import UNITS_US

BOUNDS = (JoinReplay.bound, LookupReplay.bound)
PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceTable:
    """Shares by rows of memory and policy: the columns, the rows, and the budget advised."""

    measure: str
    policy: str
    policies: tuple[str, ...]
    advised: int
    rows: tuple[tuple[int, tuple[float | None, ...]], ...]


class TraceReplay:
    """Traces that are joined, or one whose keys are looked up, and what memory brings to them."""

    def __init__(self, traces: Sequence[Trace], window: WindowLength | None) -> None:
        self._traces, self._window = traces, window
        self._replay = lookup_of(traces[0]) if len(traces) == 1 else join_of(traces, window)
        self._names = _names(traces)
        self._advice: Advice | None = None

    def run(self, budgets: Sequence[int], say: Callable[[str], None]) -> None:
        """Replay the traces under all policies; `say` is told what is being done."""
        self._advice = advise(self._replay, budgets, say)

    def facts(self) -> dict[str, Any]:
        """Give what was found, for machines."""
        return _facts(self._traces, self._replay, self._advice, self._window)

    def table(self) -> AdviceTable | None:
        """Give the shares of all policies; None if no memory brings anything."""
        advice = self._advice
        if advice is None:
            return None
        shares = {
            (name, point.budget): point.share
            for name, curve in advice.curves.items()
            for point in curve.points
        }
        rows = (
            (budget, tuple(shares.get((name, budget)) for name in advice.curves))
            for budget in sorted({budget for _, budget in shares})
        )
        return AdviceTable(
            measure=advice.curve.measure,
            policy=advice.policy,
            policies=tuple(advice.curves),
            advised=advice.rows,
            rows=tuple(rows),
        )

    def svg(self) -> str | None:
        """Draw the shares of all policies; None if no memory brings anything."""
        if self._advice is None:
            return None
        title = f"{self._replay.measure.capitalize()} against memory: {' and '.join(self._names)}"
        return _drawn(self._advice, title)


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
    said = f"{advice.policy} with {advice.rows:,} rows {does} {percent(advice.share)} of the {kind}"
    at = {
        name: share
        for name, curve in advice.curves.items()
        for share in [point.share for point in curve.points if point.budget == advice.rows]
    }
    best_possible = next((at.pop(name) for name in BOUNDS if name in at), None)
    others = {name: share for name, share in at.items() if name != advice.policy}
    if others:
        best = max(others, key=others.__getitem__)
        said += f"; with as many, the next best, {best}, {does} {percent(others[best])}"
    if best_possible is not None:
        said += f", and {percent(best_possible)} could have been {done}"
    if kind == "lookups":
        said += f"; memory without end answers {percent(advice.most)}"
    if not advice.reached:
        said += f". None of these budgets brings {100 * TARGET:g} % of what there is"
    return f"{said}."


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


def percent(share: float) -> str:
    """Write a share with one digit."""
    return f"{100 * share:.1f} %"
