"""What DuckDB's catalogue says of functions: which kind each is, and what macros unfold to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache

from penstock.expressions.admission import (
    TOO_LARGE,
    Admission,
    AdmissionError,
    Macro,
    Node,
    nodes_of,
)
from penstock.expressions.evaluation import connection
from penstock.expressions.function_list import is_allowed

AMBIENT = re.compile(r"\b(current_\w+|get_current\w*|now|today|localtime\w*|unnest)\b")
"""What macros may call without brackets or as a table, and we must not."""
CLOCKS = frozenset({"current_localtime", "current_localtimestamp"})
"""Clocks that DuckDB's catalogue takes for functions of their arguments."""


@lru_cache(maxsize=1)
def functions() -> Mapping[str, str]:
    """Say what every function is: `scalar`, or one that no text may call, and why.

    A `scalar` function gives the same value for the same arguments, at any time, and may be called.
    `volatile` ones hang on something else, `outside` ones are not in the list of those allowed;
    `aggregate`, `window` and `table` functions are not of one row. A name that is scalar in one
    form and something else in another counts as scalar: DuckDB picks the form.
    """
    rows = (
        connection()
        .execute(
            "SELECT lower(function_name), function_type, stability, macro_definition "
            "FROM duckdb_functions() WHERE database_name = 'system' ORDER BY ALL"
        )
        .fetchall()
    )
    known: dict[str, str] = {}
    for name, kind, stability, _ in rows:
        if kind == "scalar":
            steady = stability == "CONSISTENT" and name not in CLOCKS
            allowed = "scalar" if is_allowed(name) else "outside"
            known[name] = allowed if steady else "volatile"
    for name, kind, _, _ in rows:
        if kind not in {"scalar", "macro"}:
            known.setdefault(name, kind if kind in {"aggregate", "window"} else "table")
    plain = frozenset(known)
    macros = {name: definition or "" for name, kind, _, definition in rows if kind == "macro"}
    # Twice, because a macro may call one that stands after it.
    for _ in range(2):
        known.update((name, _macro_kind(macros[name], known)) for name in macros.keys() - plain)
    return known


def _macro_kind(definition: str, known: Mapping[str, str]) -> str:
    """Look through a macro: it is what it calls."""
    called = re.findall(r"(\w+)\"?\s*\(", definition.lower())
    kinds = {known.get(name, "scalar") for name in called} - {"scalar"}
    if "aggregate" in kinds:
        return "aggregate"
    reads = re.search(r"\bselect\b", definition.lower())
    return "volatile" if kinds or reads or AMBIENT.search(definition.lower()) else "scalar"


@lru_cache(maxsize=1)
def admission() -> Admission:
    """Give what looks at texts."""
    rows = (
        connection()
        .execute(
            "SELECT lower(function_name), parameters, macro_definition FROM duckdb_functions() "
            "WHERE function_type = 'macro'"
        )
        .fetchall()
    )
    macros: dict[str, Macro] = {}
    for name, parameters, definition in rows:
        nodes = list(nodes_of(_statement(definition)["node"]["select_list"][0]))
        named = [each["column_names"][-1] for each in nodes if each["class"] == "COLUMN_REF"]
        own = Macro(len(nodes), tuple(named.count(parameter) for parameter in parameters))
        before = macros.get(name, own)
        width = max(len(own.uses), len(before.uses))
        uses = tuple(
            max(macro.uses[i] if i < len(macro.uses) else 0 for macro in (own, before))
            for i in range(width)
        )
        macros[name] = Macro(max(own.size, before.size), uses)
    return Admission(functions(), macros)


@lru_cache(maxsize=4_096)
def admit(sql: str) -> None:
    """Refuse an expression, or several with commas between them, that DuckDB must not be given.

    >>> admit("upper(name), price * 2")
    >>> admit("finalize(state)")
    Traceback (most recent call last):
    ...
    penstock.expressions.admission.AdmissionError: [SQL-027] finalize() may not be called. Call a \
function whose value follows from its arguments alone.
    """
    try:
        admission().check(_statement(sql))
    except RecursionError:
        fact = "Its parts stand too deep inside each other."
        raise AdmissionError("SQL-004", fact, TOO_LARGE) from None


def _statement(sql: str) -> Node:
    """Give DuckDB's syntax tree of `SELECT <sql>`."""
    text = connection().execute("SELECT json_serialize_sql(?::VARCHAR)", [f"SELECT {sql}"])
    tree = json.loads(text.fetchall()[0][0])
    if tree["error"]:
        fact = f"DuckDB says: {tree['error_message'].rstrip('.')}."
        raise AdmissionError("SQL-032", fact, "Correct the expression.")
    if len(tree["statements"]) != 1:
        raise AdmissionError("SQL-013", "Several statements stand in an expression.", "Write one.")
    found: Node = tree["statements"][0]
    return found
