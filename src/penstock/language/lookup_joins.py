"""Joins of a stream with a table that is looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.algebra.lookups import LookupJoin
from penstock.language.crossed_joins import bind_crossed, check_like
from penstock.language.name_resolution import Names, tables_of
from penstock.vocabulary.errors import PenstockError


def looks_up(names: Names) -> bool:
    """Say whether a query reads a table that is looked up."""
    return any(scope.relation.is_asked for scope in names.scopes)


def bind_lookup_join(
    query: exp.Select, tokens: Sequence[Token], names: Names, options: Mapping[str, Any]
) -> LookupJoin:
    """Say what a lookup join asks; its names are not resolved yet."""
    number = _looked_up(query, names)
    _check_no_window(query, names)
    if options:
        name = min(options).lower()
        fact = f"A lookup join has no option {name!r}."
        remedy = "Say how rows are looked up in CREATE TABLE … LOOKUP FROM … OPTIONS (…)."
        raise PenstockError("SQL-070", fact, remedy, option=name)
    join, _ = bind_crossed(query, tokens, names, (None, None))
    scope = names.scopes[number]
    lookup = scope.relation.lookup
    assert lookup is not None, "a relation of kind lookup says where its rows are"
    if not any((number, lookup.key) in pair for pair in join.crossing.equalities):
        check_like(query, names, scope.named(lookup.key))
        name, other = scope.qualifier, names.scopes[1 - number].qualifier
        fact = f"{name!r} is looked up by its key {lookup.key!r}, which no equality names."
        remedy = f"Add {other}.column = {name}.{lookup.key}."
        raise names.source.error("SQL-132", fact, remedy, at=tables_of(query)[1])
    return LookupJoin.of(join, lookup=lookup, looked_up=number)


def _looked_up(query: exp.Select, names: Names) -> int:
    """Give the number of the input that is looked up, beside one stream."""
    tables = tables_of(query)
    (first, *more) = [k for k, s in enumerate(names.scopes) if s.relation.is_asked]
    scope = names.scopes[first]
    key = scope.relation.lookup.key if scope.relation.lookup is not None else "key"
    remedy = f"Join it with one stream: FROM stream s JOIN … ON s.column = {scope.qualifier}.{key}."
    beside = [k for k in range(len(tables)) if k != first]
    fact, at = None, tables[first]
    if not beside:
        fact = f"{scope.qualifier!r} is looked up: nothing comes from it by itself."
    elif more:
        fact = f"Both {scope.qualifier!r} and {names.scopes[more[0]].qualifier!r} are looked up."
        remedy = "Look one of them up here, and the other in a subscription of its own."
        at = tables[more[0]]
    elif len(beside) > 1:
        fact = f"{scope.qualifier!r} is looked up, and the query joins it with more than a stream."
        at = tables[beside[1]]
    elif names.scopes[beside[0]].relation.keeps:
        fact = f"{scope.qualifier!r} is looked up, and {names.scopes[beside[0]].qualifier!r} is a "
        fact, at = f"{fact}table: no row of a stream would ask for an answer.", tables[beside[0]]
    if fact is not None:
        raise names.source.error("SQL-131", fact, remedy, at=at)
    return first


def _check_no_window(query: exp.Select, names: Names) -> None:
    within = query.args["joins"][0].args.get("within")
    windows = [window for table in tables_of(query) for window in table.args.get("windows") or ()]
    at = windows[0] if windows else within
    if at is not None:
        fact = "Each row of the stream is looked up when it comes: nothing is kept in a window."
        what = "the window" if windows else "WITHIN"
        raise names.source.error("SQL-133", fact, f"Leave {what} out.", at=at)
