"""SHARED BY: the streams of a memory that several joins share, and their keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp

from penstock.algebra.catalog import Catalog
from penstock.algebra.inputs import WindowLength, numbered_inputs
from penstock.language.join_keys import have_like_keys, key_remedy
from penstock.language.name_resolution import Names, Scope, relation_of, tables_of
from penstock.language.places import ScriptSource, suggestion
from penstock.language.window_clauses import check_ordered, length_of, one_window

STREAMS_MAX = 16
"""Streams of one memory: every row asks all others."""


@dataclass(frozen=True, slots=True)
class SharedStream:
    """A stream of a shared memory: which input it is, its key column and its window."""

    scope: Scope
    key: str
    window: WindowLength | None
    node: exp.Expr


def shared_streams(
    query: exp.Select, memory: exp.Expr | None, source: ScriptSource, catalog: Catalog
) -> tuple[SharedStream, ...]:
    """Read the streams that share a memory, in the order of their names; none if it is not shared.

    In whichever order a text names them, it is the same memory.
    """
    nodes: Sequence[exp.Expr] = () if memory is None else memory.args.get("shared") or ()
    if not nodes:
        return ()
    found = [(relation_of(node.this, source, catalog), node) for node in nodes]
    found.sort(key=lambda each: each[0].name)
    for (one, _), (other, node) in pairwise(found):
        if one.name == other.name:
            fact = f"SHARED BY names {one.name!r} twice."
            raise source.error("SQL-122", fact, "Name every stream once.", at=node)
    if not 2 <= len(found) <= STREAMS_MAX:
        fact = f"SHARED BY names {len(found)} stream{'s' if len(found) > 1 else ''}."
        remedy = f"Name from 2 to {STREAMS_MAX}: all streams whose joins share the memory."
        raise source.error("SQL-122", fact, remedy, at=nodes[0])
    streams = []
    for side, (relation, node) in zip(numbered_inputs(len(found)), found, strict=True):
        scope = Scope(relation, relation.name, side)
        check_stream(scope, node.this, source)
        _, key = Names(source, (scope,), None).find(node.args["key"], [scope])
        window = one_window(node.this, scope, source)
        length = None if window is None else length_of(window, source)
        streams.append(SharedStream(scope, key, length, node))
    _check_alike(streams, source)
    _check_members(query, streams, source, catalog)
    return tuple(streams)


def check_stream(scope: Scope, table: exp.Table, source: ScriptSource) -> None:
    """Refuse a relation of a bounded join that is no stream in an order of time."""
    relation, name = scope.relation, scope.qualifier
    if relation.is_asked:
        fact = f"{name!r} is looked up, through a cache of its own."
        remedy = "Leave MEMORY out: CACHE n ROWS in CREATE TABLE bounds it."
        raise source.error("SQL-112", fact, remedy, at=table)
    if relation.keeps:
        fact = f"{name!r} is a table, which is kept whole: MEMORY is for joins of two streams."
        remedy = "Leave MEMORY out; or look the table up, with CREATE TABLE … LOOKUP FROM …."
        raise source.error("SQL-112", fact, remedy, at=table)
    check_ordered(relation, "A memory budget follows", "SQL-113", table, source)


def _check_alike(streams: Sequence[SharedStream], source: ScriptSource) -> None:
    """Refuse keys that no join could compare."""
    types = [each.scope.relation.schema.field(each.key).type for each in streams]
    for each, type_ in zip(streams, types, strict=True):
        if not have_like_keys(types[0], type_):
            first = streams[0]
            fact = (
                f"A join cannot look up '{first.scope.qualifier}.{first.key}' ({types[0]}) by "
                f"'{each.scope.qualifier}.{each.key}' ({type_})."
            )
            raise source.error("SQL-061", fact, key_remedy([types[0], type_]), at=each.node)


def _check_members(
    query: exp.Select, streams: Sequence[SharedStream], source: ScriptSource, catalog: Catalog
) -> None:
    """Refuse a join of other streams, or of one with itself, and one with windows of its own."""
    known = [each.scope.relation.name for each in streams]
    tables = tables_of(query)
    names = [relation_of(table, source, catalog).name for table in tables]
    for table, name in zip(tables, names, strict=True):
        if name not in known:
            fact = f"{name!r} is none of the streams that share the memory."
            remedy = suggestion(name, known, f"They are: {', '.join(known)}.")
            raise source.error("SQL-123", fact, remedy, at=table)
        if table.args.get("windows"):
            raise _second_window(source, table.args["windows"][0])
    if len(set(names)) < len(names):
        fact = f"A memory that is shared holds every row of {names[0]!r} once, and the query joins "
        remedy = "Give this query a memory of its own: leave SHARED BY out."
        raise source.error("SQL-123", f"{fact}the stream with itself.", remedy, at=tables[1])
    for join in query.args.get("joins") or ():
        if join.args.get("within") is not None:
            raise _second_window(source, join.args["within"])


def _second_window(source: ScriptSource, at: exp.Expr) -> Exception:
    fact = "The windows of a memory that is shared hold for all its joins."
    remedy = "Write them in SHARED BY, behind the streams: trades (symbol) [RANGE 5 SECONDS]."
    return source.error("SQL-123", fact, remedy, at=at)
