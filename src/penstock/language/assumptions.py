"""WHAT IF: what EXPLAIN takes for granted, in a script or from Python."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from sqlglot import exp

from penstock.algebra.logical import StandingFilter
from penstock.algebra.multi_joins import MultiJoin
from penstock.language.amounts import bytes_of, number_of, rate_of, seconds_of
from penstock.language.places import ScriptSource, suggestion
from penstock.language.planner_options import PROCESSORS_MAX
from penstock.language.statements import Assumption
from penstock.language.window_clauses import MOST_ROWS
from penstock.language.within_clauses import LONGEST_US
from penstock.vocabulary.errors import PenstockError, Place

What = Literal[
    "rate", "window", "selectivity", "rows", "cores", "headroom", "memory", "cost", "bound"
]  # fmt: skip
Unit = Literal["", "/s", "rows", "us", "bytes", "s"]

WHATS: tuple[What, ...] = get_args(What)
COUNTS: dict[What, tuple[int, int]] = {
    "rate": (1, 1),
    "window": (1, 1),
    "selectivity": (1, 2),
    "rows": (1, 1),
    "cores": (0, 0),
    "headroom": (0, 0),
    "memory": (0, 0),
    "cost": (0, 0),
    "bound": (0, 0),
}
"""How many inputs each is about."""
EXAMPLES: dict[What, str] = {
    "rate": "rate(a) = 500/s",
    "window": "window(a) = 100, or window(a) = 5 SECONDS",
    "selectivity": "selectivity(a, b) = 0.5",
    "rows": "rows(t) = 1000",
    "cores": "cores = 4",
    "headroom": "headroom = 0.2",
    "memory": "memory = '1 GB', or memory = 1000 for rows",
    "cost": "cost = 0.5 MILLISECONDS",
    "bound": "bound = '1 second'",
}
OF_VIEWS: tuple[What, ...] = ("rate", "bound")
"""What the schedule of a view depends on."""
OF_FILTERS: tuple[What, ...] = ("rate", "cores", "headroom", "cost")
"""What the verdict on a filter depends on."""
LEAST = sys.float_info.min
"""Above zero."""
_KEY = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def assumptions_of(values: Mapping[str, str | float]) -> tuple[Assumption, ...]:
    """Read assumptions that Python states.

    >>> assumptions_of({"rate(c)": "30/min", "cores": 4})[0]
    Assumption(what='rate', of=('c',), value=0.5, unit='/s')
    """
    found: list[Assumption] = []
    for key, value in values.items():
        written = _KEY.fullmatch(key)
        word, inside = written.groups() if written else (key, None)
        of = [name.strip().strip('"') for name in inside.split(",")] if inside else []
        found.append(_assumption(word, of, value, None))
    _check_once(found)
    return tuple(found)


def assumptions_in(nodes: Iterable[exp.Expr], script: ScriptSource) -> tuple[Assumption, ...]:
    """Read assumptions of a script."""
    found: list[Assumption] = []
    for node in nodes:
        place = script.place_of(node)
        of = [name.name for name in node.expressions]
        found.append(_assumption(node.name, of, _written(node), place))
    _check_once(found)
    return tuple(found)


def check_join_assumptions(assumptions: Sequence[Assumption], query: MultiJoin) -> None:
    """Refuse assumptions about inputs that a join does not have, or that they cannot be about."""
    inputs = {each.name.lower(): each for each in query.inputs}
    for assumed in assumptions:
        for name in assumed.of:
            found = inputs.get(name.lower())
            if found is None:
                known = [each.name for each in query.inputs]
                remedy = suggestion(name, known, f"The inputs are: {', '.join(known)}.")
                fact = f"{name!r} is no input of the query."
                raise PenstockError("SQL-091", fact, remedy, assumed.place)
            table = found.window is None
            if table and assumed.what in {"rate", "window"}:
                fact = f"{name!r} is a table: it has no {assumed.what}."
                remedy = f"Write rows({name}) = 1000."
                raise PenstockError("SQL-091", fact, remedy, assumed.place)
            if not table and assumed.what == "rows":
                fact = f"{name!r} is a stream: it has no number of rows."
                remedy = f"Write rate({name}) = 500/s, or window({name}) = 100."
                raise PenstockError("SQL-091", fact, remedy, assumed.place)


def check_filter_assumptions(assumptions: Sequence[Assumption], query: StandingFilter) -> None:
    """Refuse what the verdict on a filter does not depend on."""
    for assumed in assumptions:
        if assumed.what not in OF_FILTERS:
            fact = f"The verdict on a filter does not depend on {assumed.what}."
            known = ", ".join(
                EXAMPLES[what].replace("(a)", f"({query.relation})") for what in OF_FILTERS
            )
            raise PenstockError("SQL-091", fact, f"Assume one of: {known}.", assumed.place)
        for name in assumed.of:
            if name.lower() != query.relation.lower():
                fact = f"{name!r} is no input of the query."
                raise PenstockError("SQL-091", fact, f"It is {query.relation}.", assumed.place)


def check_view_assumptions(assumptions: Sequence[Assumption], relations: Sequence[str]) -> None:
    """Refuse what the schedule of a view does not depend on."""
    known = {name.lower() for name in relations}
    for assumed in assumptions:
        if assumed.what not in OF_VIEWS:
            fact = f"The schedule of a view does not depend on {assumed.what}."
            shown = ", ".join(
                EXAMPLES[what].replace("(a)", f"({relations[0]})") for what in OF_VIEWS
            )
            raise PenstockError("SQL-091", fact, f"Assume one of: {shown}.", assumed.place)
        for name in assumed.of:
            if name.lower() not in known:
                fact = f"{name!r} is no input of the view."
                remedy = suggestion(name, relations, f"They are: {', '.join(relations)}.")
                raise PenstockError("SQL-091", fact, remedy, assumed.place)


def _written(node: exp.Expr) -> str | float | None:
    """Give a value as Python would state it; None for what is no constant."""
    value, unit, per = node.args["value"], node.args.get("unit"), node.args.get("per")
    negative = isinstance(value, exp.Neg)
    literal = value.this if negative else value
    if not isinstance(literal, exp.Literal) or (literal.is_string and (negative or unit or per)):
        return None
    text = f"{'-' if negative else ''}{literal.this}"
    return f"{text}/{per.name}" if per is not None else f"{text} {unit.name if unit else ''}"


def _check_once(assumptions: Iterable[Assumption]) -> None:
    met: set[tuple[str, tuple[str, ...]]] = set()
    for assumed in assumptions:
        # selectivity(a, b) and selectivity(b, a) are two: what rows of a meet, and rows of b.
        key = assumed.what, tuple(name.lower() for name in assumed.of)
        if key in met:
            of = f"({', '.join(assumed.of)})" if assumed.of else ""
            fact = f"{assumed.what}{of} is assumed twice."
            raise PenstockError("SQL-006", fact, "Remove one of them.", assumed.place)
        met.add(key)


def _assumption(word: str, of: Sequence[str], value: object, place: Place | None) -> Assumption:
    what = next((each for each in WHATS if each == word.lower()), None)
    if what is None:
        remedy = suggestion(word, WHATS, f"Known are: {', '.join(WHATS)}.")
        raise PenstockError("SQL-090", f"{word!r} is nothing to assume.", remedy, place)
    least, most = COUNTS[what]
    if not least <= len(of) <= most or len({name.lower() for name in of}) < len(of):
        many = "no input" if not most else "one input" if most == 1 else "one or two inputs"
        fact = f"{what} is about {many}."
        raise PenstockError("SQL-090", fact, f"Write {EXAMPLES[what]}.", place)
    found = _read(what, value)
    if found is None:
        shown = value.strip() if isinstance(value, str) else value
        fact = f"{what} cannot be {shown}." if value is not None else f"{what} takes a constant."
        remedy = f"Write {_remedy(what)}, as in {EXAMPLES[what]}."
        raise PenstockError("SQL-092", fact, remedy, place)
    number, unit = found
    return Assumption(what=what, of=tuple(of), value=number, unit=unit, place=place)


def _read(what: What, value: object) -> tuple[float, Unit] | None:
    """Read a value in the planner's units; None if it is not in its range."""
    number, rate = number_of(value), rate_of(value)
    seconds, size = seconds_of(value), bytes_of(value)
    whole = int(number) if number is not None and number == int(number) else None
    span_us = None if seconds is None else round(seconds * 1e6)
    candidates: dict[What, tuple[tuple[float | None, float, float, Unit], ...]] = {
        "rate": ((rate, LEAST, math.inf, "/s"),),
        "window": ((whole, 1, MOST_ROWS, "rows"), (span_us, 1, LONGEST_US, "us")),
        "selectivity": ((number, 0, 1, ""),),
        "rows": ((whole, 0, MOST_ROWS, "rows"),),
        "cores": ((whole, 1, PROCESSORS_MAX, ""),),
        "headroom": ((number, 0, math.nextafter(1, 0), ""),),
        "memory": ((size, 1, math.inf, "bytes"), (whole, 1, math.inf, "rows")),
        "cost": ((seconds, LEAST, math.inf, "s"),),
        "bound": ((seconds, LEAST, math.inf, "s"),),
    }
    for found, low, high, unit in candidates[what]:
        if found is not None and low <= found <= high:
            return found, unit
    return None


def _remedy(what: What) -> str:
    return {
        "rate": "rows per unit of time, above zero",
        "window": "whole rows or a length of time, above zero",
        "selectivity": "a share from 0 to 1",
        "rows": "a whole number, zero or more",
        "cores": f"a whole number from 1 to {PROCESSORS_MAX:,}",
        "headroom": "a share from 0, below 1",
        "memory": "bytes or rows, above zero",
        "cost": "a length of time above zero",
        "bound": "a length of time above zero",
    }[what]
