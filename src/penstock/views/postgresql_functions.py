"""Functions and indexes in PostgreSQL: there any client can refresh a view.

A flush is a function in PL/pgSQL. Its statements are planned when they run, since queues are of any
length: a plan that is kept would be that of the first one. A few changes are handed to them as an
array, whose length the planner knows; of a table it would guess. But it takes the values of an
array for much alike, and would hash a large partner rather than more than some hundred changes:
these are laid in a table, whose values it is told of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.views.dialects import is_long
from penstock.views.flushes import FlushStatements, FlushStep
from penstock.views.layout import PREFIX, ViewLayout, names

NETTED = "netted"
"""The table of a queue's changes, netted, if they are many."""
HANDED_ROWS_MAX = 200
"""Rows of a queue that are handed over as an array."""
LONG_ROWS = 10_000
"""Rows of a queue beyond which the planner is told of the tables that they came into."""
QUEUE_BYTES_MAX = 1 << 18
"""A queue's table beyond which it is cut off, and not emptied row by row."""
GROWTH = 0.2
"""Which part of a table's rows may come before the planner is told of them."""
SETTINGS = "SET random_page_cost = 1.1 SET enable_mergejoin = off SET jit = off"
"""How a flush is planned: what it looks for is in memory, and nothing is worth sorting."""
REFRESH = "penstock_refresh"
_NAME = r'"(?:[^"]|"")+"'
_EQUALITY = re.compile(rf"\s*\(?\s*({_NAME})\.({_NAME})\s*=\s*({_NAME})\.({_NAME})\s*\)?\s*")


def indexes(layout: ViewLayout) -> Iterator[str]:
    """Give the indexes that flushes want."""
    for each in layout.weighted():
        if each.has_fingerprint:
            yield f"CREATE INDEX ON {layout.table(each.name)} (_f)"
    for input_, columns in enumerate(layout.inputs):
        for number in _joined(layout, input_):
            name, type_ = columns[number]
            how = "USING hash " if is_long(type_) else ""
            yield f"CREATE INDEX ON {layout.table(f'base{input_}')} {how}({name})"
    if layout.definition.is_grouped:
        yield f"CREATE UNIQUE INDEX ON {layout.table('groups')} (_id)"
        yield f"CREATE INDEX ON {layout.table('groups')} (_f)"
        for argument in layout.arguments:
            if argument.has_values:
                name = layout.values(argument).name
                value = "" if is_long(argument.type) else ", v"
                yield f"CREATE INDEX ON {layout.table(name)} (_id{value})"


def _joined(layout: ViewLayout, input_: int) -> list[int]:
    """Give the columns of an input that conditions equate with columns of others."""
    asked = layout.definition.inputs[input_]
    places = {name: number for number, (name, _) in enumerate(asked.columns)}
    found = set()
    for condition in layout.definition.conditions:
        if match := _EQUALITY.fullmatch(condition):
            one, other = [
                (_unquoted(match[first]), _unquoted(match[first + 1])) for first in (1, 3)
            ]
            if one[0] != other[0]:
                found |= {places[name] for alias, name in (one, other) if alias == asked.alias}
    return sorted(found)


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"')


def functions(layout: ViewLayout) -> Iterator[str]:
    """Give the functions that flush the inputs of a view, and that refresh it."""
    for input_ in range(len(layout.inputs)):
        made = "\n".join(f"  {line}" for line in _made(FlushStatements(layout, input_)))
        yield _function(layout, f"prepare{input_}()", "void", made, "")
        rows = f"rows {layout.table(f'queue{input_}')}[]"
        declared = f"{rows}; n bigint; many boolean; long boolean;"
        yield _function(layout, f"flush{input_}()", "void", _flush(layout, input_), declared)
    calls = "\n".join(
        f"  IF waiting[{input_ + 1}] > 0 THEN\n"
        f"    PERFORM {layout.table(f'flush{input_}')}();\n"
        f"    flushed := flushed + waiting[{input_ + 1}];\n  END IF;"
        for input_ in range(len(layout.inputs))
    )
    meta = layout.table("meta")
    yield _function(
        layout,
        "refresh()",
        "bigint",
        f"  SELECT pending INTO waiting FROM {meta} FOR UPDATE;\n{calls}\n"
        f"  UPDATE {meta} SET pending = array_fill(0::bigint, ARRAY[{len(layout.inputs)}])\n"
        "    WHERE flushed > 0;\n  RETURN flushed;",
        "waiting bigint[]; flushed bigint := 0;",
    )


def common() -> str:
    """Give the function by which clients refresh a view by its name; it gives how many changes."""
    return (
        f"CREATE FUNCTION {REFRESH}(view text) RETURNS bigint LANGUAGE plpgsql AS $penstock$\n"
        "DECLARE flushed bigint;\nBEGIN\n"
        f"  EXECUTE format('SELECT %I.refresh()', '{PREFIX}' || view) INTO flushed;\n"
        "  RETURN flushed;\nEND $penstock$"
    )


def _function(layout: ViewLayout, name: str, returns: str, body: str, declared: str) -> str:
    tag = f"${layout.work('body')}$"
    return (
        f"CREATE FUNCTION {layout.table(name)} RETURNS {returns} LANGUAGE plpgsql {SETTINGS} "
        f"AS {tag}\nDECLARE {declared}\nBEGIN\n{body}\nEND {tag}"
    )


def _flush(layout: ViewLayout, input_: int) -> str:
    flush = FlushStatements(layout, input_)
    netted = flush.work(NETTED)
    handed = FlushStatements(layout, input_, "SELECT * FROM unnest($1)")
    laid = FlushStatements(layout, input_, f"SELECT * FROM {netted}")
    listed = ", ".join([*names(flush.base.columns), "_n"])
    size = f"(SELECT 1 FROM {flush.queue} LIMIT {LONG_ROWS + 1}) AS counted"
    lines = [
        f"PERFORM {layout.table(f'prepare{input_}')}();",
        f"n := (SELECT count(*) FROM {size});",
        f"many := n > {HANDED_ROWS_MAX};",
        f"long := n > {LONG_ROWS};",
        "IF many THEN",
        f"  INSERT INTO {netted} {flush.netted()};",
        f"  ANALYZE {netted};",
        "ELSE",
        f"  rows := ARRAY(SELECT ROW({listed})::{flush.queue} FROM ({flush.netted()}) AS netted);",
        "END IF;",
    ]
    ends = 0
    for many, few in zip(laid.view(), handed.view(), strict=True):
        into = f"INSERT INTO {many.makes} " if many.makes else ""
        lines += _planned(layout, into + many.sql, into + few.sql, many.guard)
        if many.decides:
            lines += ["GET DIAGNOSTICS n = ROW_COUNT;", "IF n > 0 THEN"]
            ends += 1
    lines += ["END IF;"] * ends
    lines += _planned(layout, laid.merge(), handed.merge(), None)
    lines += _emptied(layout, flush)
    return "\n".join(f"  {line}" for line in lines)


def _planned(layout: ViewLayout, many: str, few: str, guard: str | None) -> list[str]:
    """Run a statement, planned for what there is: a table of changes, or an array."""
    tag = f"${layout.work('sql')}$"
    lines = [f"EXECUTE {tag}{few}{tag} USING rows;"]
    if many != few:
        lines = ["IF many THEN", f"  EXECUTE {tag}{many}{tag};", "ELSE", *lines, "END IF;"]
    return [f"IF EXISTS ({guard}) THEN", *lines, "END IF;"] if guard else lines


def _made(flush: FlushStatements) -> Iterator[str]:
    """Make the tables of a flush once a session; the planner shall know that they are small."""
    steps = [FlushStep(flush.netted(), makes=flush.work(NETTED)), *flush.view()]
    tables = [step for step in steps if step.makes]
    yield f"IF to_regclass('pg_temp.{tables[0].makes}') IS NULL THEN"
    for step in tables:
        yield (
            f"  CREATE TEMP TABLE {step.makes} ON COMMIT DELETE ROWS AS {step.sql} WITH NO DATA;"
        )
        yield f"  ANALYZE {step.makes};"
    yield "END IF;"


def _emptied(layout: ViewLayout, flush: FlushStatements) -> Iterator[str]:
    """Empty the queue; tell the planner of tables that have grown."""
    yield "IF long THEN"
    for name in [each.name for each in layout.weighted()] + ["groups"] * bool(
        layout.definition.is_grouped
    ):
        if not name.startswith("base") or name == flush.base.name:
            yield f"  ANALYZE {layout.table(name)};"
    yield "END IF;"
    name = flush.queue.replace("'", "''")
    yield f"IF pg_relation_size('{name}') > {QUEUE_BYTES_MAX} THEN"
    yield f"  TRUNCATE {flush.queue};"
    yield "ELSE"
    yield f"  {flush.emptied()};"
    yield "END IF;"
