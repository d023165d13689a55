"""Functions and indexes in PostgreSQL: there any client can refresh a view.

A flush is a function in PL/pgSQL. A few changes are handed from statement to statement as arrays,
and so is what becomes of them: of an array that it does not know the planner takes ten values, and
so its plans, which find rows by indexes, are kept. Planning them would cost more than running them.
Many changes are laid in tables, whose values the planner is told of, and planned for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.algebra.physical import Typed
from penstock.views.dialects import is_long
from penstock.views.flushes import FlushStatements, FlushStep
from penstock.views.layout import PREFIX, ViewLayout, names

NETTED = "netted"
"""The table of a queue's changes, netted, if they are many."""
HANDED_ROWS_MAX = 200
"""Rows of a queue that are handed over as an array."""
JOINED_ROWS_MAX = 20_000
"""Joined rows that are handed over as an array, of which PostgreSQL takes a gigabyte at most."""
QUEUE_BYTES_MAX = 1 << 18
"""A queue's table beyond which it is cut off, and not emptied row by row."""
SMALL_PAGES = 16
"""Of a table's pages, so many are not worth telling the planner of."""
FILLED = 70
"""Percent of a page that are filled at first: a weight that changes shall stay in its page."""
INCLUDED_MAX = 16
"""Columns that an index may hold beside its own."""
SETTINGS = (
    "SET random_page_cost = 1.1 SET enable_mergejoin = off SET jit = off "
    "SET plan_cache_mode = force_generic_plan SET TimeZone = 'UTC' SET DateStyle = 'ISO' "
    "SET extra_float_digits = 1"
)
"""How a flush is planned: what it looks for is in memory, nothing is worth sorting, and plans of
statements that are not made up as it runs are kept. What days and texts are made of times must not
hang on who refreshes."""
REFRESH = "penstock_refresh"
BASE = "base"
HANDED = "_handed"
"""The array of a few changes."""
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
            held = "" if how else _held(columns, name)
            base = f"{BASE}{input_}"
            yield f"CREATE INDEX {base}_{name}_idx ON {layout.table(base)} {how}({name}){held}"
    if layout.definition.is_grouped:
        yield f"CREATE UNIQUE INDEX ON {layout.table('groups')} (_id)"
        yield f"CREATE INDEX ON {layout.table('groups')} (_f)"
        for argument in layout.arguments:
            if argument.has_values:
                name = layout.values(argument).name
                value = "" if is_long(argument.type) else ", v"
                yield f"CREATE INDEX ON {layout.table(name)} (_id{value})"


def _held(columns: Typed, key: str) -> str:
    """Let an index hold whole rows, if they are short: who finds them there needs no more."""
    if len(columns) > INCLUDED_MAX or any(is_long(type_) for _, type_ in columns):
        return ""
    return f" INCLUDE ({', '.join([*(name for name in names(columns) if name != key), '_n'])})"


def settings(layout: ViewLayout) -> Iterator[str]:
    """Give what is said of tables whose rows change in place."""
    changing = [each.name for each in layout.weighted() if not each.name.startswith(BASE)]
    for name in changing + ["groups"] * bool(layout.definition.is_grouped):
        yield f"ALTER TABLE {layout.table(name)} SET (fillfactor = {FILLED})"


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
        steps = list(_typed(layout, input_).view())
        made = [step for step in steps if step.makes]
        yield from (f"CREATE TABLE {step.makes} AS {step.sql} WITH NO DATA" for step in made)
        body = _indented(_made(FlushStatements(layout, input_)))
        yield _function(layout, f"prepare{input_}()", "void", body, "")
        arrays = "".join(
            f"{few.makes} {type_.makes}[]; "
            for few, type_ in zip(_handed(layout, input_).view(), steps, strict=True)
            if few.makes
        )
        declared = f"n bigint; grown regclass; {HANDED} {layout.table(f'queue{input_}')}[]; "
        flush = _indented(_flush(layout, input_))
        yield _function(layout, f"flush{input_}()", "void", flush, declared + arrays)
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
        f"AS {tag}\n#variable_conflict use_column\nDECLARE {declared}\nBEGIN\n{body}\nEND {tag}"
    )


def _indented(lines: Iterator[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)


def _handed(layout: ViewLayout, input_: int) -> FlushStatements:
    """Give the flush of a few changes, which hands on arrays."""
    queued = f"SELECT * FROM unnest({HANDED})"
    return FlushStatements(layout, input_, queued, lambda name: f"_{name}", "unnest({})")


def _typed(layout: ViewLayout, input_: int) -> FlushStatements:
    """Give the flush over empty tables, whose rows are what arrays are made of."""
    return FlushStatements(layout, input_, named=lambda name: layout.table(f"{name}{input_}_row"))


def _flush(layout: ViewLayout, input_: int) -> Iterator[str]:
    flush = FlushStatements(layout, input_)
    counted = f"(SELECT 1 FROM {flush.queue} LIMIT {HANDED_ROWS_MAX + 1}) AS counted"
    yield f"n := (SELECT count(*) FROM {counted});"
    yield f"IF n <= {HANDED_ROWS_MAX} THEN"
    yield from _handed_over(layout, flush)
    yield "END IF;"
    yield f"IF n > {HANDED_ROWS_MAX} THEN"
    yield from _many(layout, flush)
    yield "ELSE"
    yield from _few(layout, flush)
    yield "END IF;"
    yield from _told_of(layout, flush)
    yield from _emptied(flush)


def _many(layout: ViewLayout, flush: FlushStatements) -> Iterator[str]:
    """Lay changes in a table, and plan every statement for what there is."""
    netted, tag = flush.work(NETTED), f"${layout.work('sql')}$"
    laid = FlushStatements(layout, flush.input, f"SELECT * FROM {netted}")
    yield f"PERFORM {layout.table(f'prepare{flush.input}')}();"
    yield f"INSERT INTO {netted} {flush.netted()};"
    yield f"ANALYZE {netted};"
    ends = 0
    for step in laid.view():
        into = f"INSERT INTO {step.makes} " if step.makes else ""
        yield from _guarded(step, f"EXECUTE {tag}{into}{step.sql}{tag};")
        if step.decides:
            yield from ("GET DIAGNOSTICS n = ROW_COUNT;", "IF n > 0 THEN")
            ends += 1
    yield from ["END IF;"] * ends
    yield f"EXECUTE {tag}{laid.merge()}{tag};"


def _handed_over(layout: ViewLayout, flush: FlushStatements) -> Iterator[str]:
    """Hand changes on, and what their join makes; if that is much, they count as many."""
    listed = ", ".join([*names(flush.base.columns), "_n"])
    yield (
        f"{HANDED} := ARRAY(SELECT ROW({listed})::{flush.queue} FROM ({flush.netted()}) AS netted);"
    )
    joined, type_ = (
        next(_handed(layout, flush.input).view()),
        next(_typed(layout, flush.input).view()),
    )
    yield _array(joined, type_, f" LIMIT {JOINED_ROWS_MAX + 1}")
    yield f"IF cardinality({joined.makes}) > {JOINED_ROWS_MAX} THEN"
    yield f"n := {HANDED_ROWS_MAX + 1}; {joined.makes} := NULL;"
    yield "END IF;"


def _array(step: FlushStep, type_: FlushStep, end: str = "") -> str:
    rows = f"SELECT ROW(made.*)::{type_.makes} FROM ({step.sql}{end}) AS made"
    return f"{step.makes} := ARRAY({rows});"


def _few(layout: ViewLayout, flush: FlushStatements) -> Iterator[str]:
    """Go on with changes in arrays, by plans that are kept; the first step was taken."""
    few, types = _handed(layout, flush.input), _typed(layout, flush.input)
    ends = 0
    for number, (step, type_) in enumerate(zip(few.view(), types.view(), strict=True)):
        if step.makes:
            if number:
                yield _array(step, type_)
        else:
            yield from _guarded(step, f"{step.sql};")
        if step.decides:
            yield f"IF cardinality({step.makes}) > 0 THEN"
            ends += 1
    yield from ["END IF;"] * ends
    yield f"{few.merge()};"


def _guarded(step: FlushStep, line: str) -> Iterator[str]:
    yield from [f"IF EXISTS ({step.guard}) THEN", line, "END IF;"] if step.guard else [line]


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


def _told_of(layout: ViewLayout, flush: FlushStatements) -> Iterator[str]:
    """Tell the planner of tables that have doubled since it was told: it makes its plans anew."""
    touched = [each.name for each in layout.weighted() if not each.name.startswith(BASE)]
    touched += [flush.base.name, *["groups"] * bool(layout.definition.is_grouped)]
    tables = ", ".join(f"{_literal(layout.table(name))}::regclass" for name in touched)
    pages = f"(2 * relpages + {SMALL_PAGES})"
    yield f"FOR grown IN SELECT oid FROM pg_class WHERE oid IN ({tables})"
    yield f"  AND pg_relation_size(oid) > current_setting('block_size')::bigint * {pages} LOOP"
    yield "  EXECUTE format('ANALYZE %s', grown);"
    yield "END LOOP;"


def _emptied(flush: FlushStatements) -> Iterator[str]:
    """Empty the queue."""
    yield f"IF pg_relation_size({_literal(flush.queue)}) > {QUEUE_BYTES_MAX} THEN"
    yield f"  TRUNCATE {flush.queue};"
    yield "ELSE"
    yield f"  {flush.emptied()};"
    yield "END IF;"


def _literal(text: str) -> str:
    quoted = text.replace("'", "''")
    return f"'{quoted}'"
