"""Joins of two streams within a budget of rows: MEMORY, bound to the inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.algebra.bounded_joins import BoundedJoin
from penstock.algebra.crossings import CrossedQuery
from penstock.algebra.inputs import WAITING_ROWS, Place, WindowLength, number_of
from penstock.algebra.memories import (
    AUTO,
    JOIN_POLICIES,
    NUMERIC_FAMILIES,
    Memory,
    PolicyName,
    StreamLaw,
    is_numeric,
)
from penstock.algebra.predicates import Branch
from penstock.language.crossed_joins import bind_crossed, check_like, join_input
from penstock.language.memory_checks import (
    MEMORY_OPTIONS,
    check_takes_law,
    checked_options,
    refused,
    shown_family,
)
from penstock.language.memory_clauses import law_in, policy_in, refusing, rows_in
from penstock.language.name_resolution import Names, Scope, tables_of
from penstock.language.nodes import WindowNode
from penstock.language.places import ScriptSource, suggestion
from penstock.language.shared_memories import SharedStream, check_stream
from penstock.language.window_clauses import EXAMPLES, length_of, one_window
from penstock.vocabulary.types import scale_of

OPTIONS = (*MEMORY_OPTIONS, "slice", "waiting")


def check_two(query: exp.Select, memory: exp.Expr, source: ScriptSource) -> None:
    """Refuse MEMORY beside one relation, and beside more than two."""
    count = len(tables_of(query))
    if count == 1:
        fact = "MEMORY says how many rows a join may hold, and the query reads one relation."
        raise source.error("SQL-111", fact, "Leave MEMORY out, or join two streams.", at=memory)
    if count > 2:
        fact = f"MEMORY is for joins of two streams, and the query reads {count} relations."
        remedy = f"Leave MEMORY out, and give every stream a window: {EXAMPLES}."
        raise source.error("SQL-111", fact, remedy, at=memory)


def bind_bounded_join(
    query: exp.Select,
    tokens: Sequence[Token],
    names: Names,
    memory: exp.Expr,
    options: Mapping[str, Any],
    shared: Sequence[SharedStream] = (),
) -> BoundedJoin:
    """Say what a join within a budget asks; its names are not resolved yet.

    `shared` are the streams of its memory, if other joins share it.
    """
    within = query.args["joins"][0].args.pop("within", None)
    windows = _windows(query, names, within)
    rows = rows_in(memory, "MEMORY", names.source)
    policy = policy_in(memory, JOIN_POLICIES, "join", names.source)
    by_law = [stream.scope for stream in shared] or names.scopes
    laws = _laws(memory, policy, by_law, names.source)
    join, _ = bind_crossed(query, tokens, names, windows, within)
    if shared:
        join = _in_memory(join, shared, query, names)
    elif not join.crossing.equalities:
        first, second = (scope.qualifier for scope in names.scopes)
        fact = f"MEMORY needs a key, and no column of {first!r} must equal one of {second!r}."
        remedy = f"Add {first}.column = {second}.column."
        check_like(query, names)
        raise names.source.error("SQL-114", fact, remedy, at=tables_of(query)[1])
    keys = tuple(each.key for each in shared) or tuple(_key(join, k)[1] for k in range(2))
    _check_lifetimes(policy, join, memory, names)
    _check_numeric(
        join, keys, 1 if shared else len(join.crossing.equalities), policy, laws, memory, names
    )
    chosen = checked_options(options, policy, OPTIONS, "bounded join", refused)
    waiting = chosen.pop("waiting", WAITING_ROWS)
    budget = Memory(
        rows=rows,
        policy=policy,
        laws=tuple(_placed(laws[k][0], keys[k]) if k in laws else AUTO for k in range(len(keys))),
        options=chosen,
    )
    return BoundedJoin.of(join, memory=budget, keys=keys if shared else (), waiting=waiting)


def _in_memory(
    join: CrossedQuery, shared: Sequence[SharedStream], query: exp.Select, names: Names
) -> CrossedQuery:
    """Give a join all streams of its memory as inputs; refuse one by other keys."""
    first, second = (shared[number_of(scope.side)] for scope in names.scopes)
    ends = [(number_of(each.scope.side), each.key) for each in (first, second)]
    if not any(sorted(pair) == sorted(ends) for pair in join.crossing.equalities):
        written = [
            f"{s.qualifier}.{e.key}" for s, e in zip(names.scopes, (first, second), strict=True)
        ]
        fact = f"The memory holds rows by their keys, and the query does not ask {written[0]} to "
        remedy = f"Add {written[0]} = {written[1]}; or give the query a memory of its own."
        raise names.source.error(
            "SQL-124", f"{fact}equal {written[1]}.", remedy, at=tables_of(query)[1]
        )
    branches = {
        scope.relation.name: each.branch
        for scope, each in zip(names.scopes, join.inputs, strict=True)
    }
    inputs = tuple(
        join_input(each.scope, each.window, branches.get(each.scope.relation.name, Branch()))
        for each in shared
    )
    return replace(join, inputs=inputs)


def _windows(
    query: exp.Select, names: Names, within: exp.Expr | None
) -> tuple[WindowLength | None, ...]:
    """Read the windows, none of which must be there; WITHIN is one for each stream."""
    source = names.source
    found: list[WindowLength | None] = []
    for table, scope in zip(tables_of(query), names.scopes, strict=True):
        check_stream(scope, table, source)
        window = one_window(table, scope, source)
        if within is not None:
            if window is not None:
                fact = f"WITHIN gives both streams a window, and {scope.qualifier!r} has its own."
                raise source.error("SQL-081", fact, "Keep one of them.", at=window)
            length, unit = within.this.copy(), within.args["unit"].copy()
            window = WindowNode(this=length, kind="range", unit=unit).update_positions(within)
        found.append(None if window is None else length_of(window, source))
    return tuple(found)


def _laws(
    memory: exp.Expr, policy: PolicyName, scopes: Sequence[Scope], source: ScriptSource
) -> dict[int, tuple[StreamLaw, exp.Expr]]:
    """Read the laws, by the number of their input."""
    found: dict[int, tuple[StreamLaw, exp.Expr]] = {}
    for node in memory.expressions:
        name = node.this.name
        number = next((k for k, s in enumerate(scopes) if s.is_called(name)), None)
        if number is None:
            known = [scope.qualifier for scope in scopes]
            remedy = suggestion(name, known, f"The inputs are: {', '.join(known)}.")
            fact = f"{name!r} is no input of the query."
            raise source.error("SQL-115", fact, remedy, at=node)
        if number in found:
            fact = f"{name!r} has two laws."
            raise source.error("SQL-006", fact, "Remove one of them.", at=node)
        law = law_in(node, source)
        check_takes_law(policy, law, refusing(source, node))
        found[number] = law, node
    return found


def _key(join: CrossedQuery, number: int) -> Place:
    """Give the first column of an input that an equality names."""
    return next(place for place in join.crossing.equalities[0] if place[0] == number)


def _placed(law: StreamLaw, key: str) -> StreamLaw:
    """Say which column of its file a stream is known from: the key's, if nothing is said."""
    if law.family != "offline" or "column" in law.parameters:
        return law
    return replace(law, parameters={**law.parameters, "column": key})


def _check_lifetimes(
    policy: PolicyName, join: CrossedQuery, memory: exp.Expr, names: Names
) -> None:
    """Refuse LIFE for rows that live for ever."""
    for each in join.inputs:
        if policy == "LIFE" and each.window is None:
            fact = f"LIFE weighs rows by the time that is left to them, and {each.name!r} has no "
            remedy = f"Give both streams a window, such as {EXAMPLES}; or say USING PROB."
            at = memory.args.get("using") or memory
            raise names.source.error("SQL-120", f"{fact}window.", remedy, at=at)


def _check_numeric(
    join: CrossedQuery,
    keys: Sequence[str],
    equalities: int,
    policy: PolicyName,
    laws: Mapping[int, tuple[StreamLaw, exp.Expr]],
    memory: exp.Expr,
    names: Names,
) -> None:
    """Refuse laws that count with keys where keys are no numbers."""
    counting: list[tuple[str, exp.Expr]] = [
        (shown_family(law.family), node)
        for law, node in laws.values()
        if law.family in NUMERIC_FAMILIES
    ]
    if policy == "HIST":
        counting.append(("HIST", memory.args.get("using") or memory))
    if not counting:
        return
    what, at = counting[0]
    remedy = (
        f"Take {'HEEB' if what == 'HIST' else 'AUTO or STATIONARY'}; or join on one column of "
        "whole numbers, decimals, dates or times."
    )
    if equalities > 1:
        fact = f"{what} counts with keys, and {equalities} equalities make one of several columns."
        raise names.source.error("SQL-119", fact, remedy, at=at)
    types = {
        f"{each.name}.{column}": dict(each.columns)[column]
        for each, column in zip(join.inputs, keys, strict=True)
    }
    for name, type_ in types.items():
        if not is_numeric(type_):
            fact = f"{what} counts with keys, and {name!r} is {type_}."
            raise names.source.error("SQL-119", fact, remedy, at=at)
    told = [(law, node) for law, node in laws.values() if law.parameters]
    if told and len({scale_of(type_) for type_ in types.values()}) > 1:
        law, at = told[0]
        columns = " and ".join(f"{name!r} ({type_})" for name, type_ in types.items())
        fact = f"{shown_family(law.family)} has parameters, and {columns} count in unlike units."
        remedy = "Leave the parameters out, to be fitted; or declare both keys with one scale."
        raise names.source.error("SQL-119", fact, remedy, at=at)
