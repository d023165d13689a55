"""Reads of views: which view a reader's SELECT is about."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from penstock.language.name_resolution import exact
from penstock.language.parser import WORDS_MAX, parse_nodes
from penstock.language.places import ScriptSource, listing, suggestion


def view_read(sql: str, views: Collection[str]) -> str:
    """Find the one view that a SELECT reads, or refuse.

    >>> view_read("SELECT * FROM V WHERE n > 3 ORDER BY n LIMIT 5", ["v", "w"])
    'v'
    """
    source = ScriptSource.whole(sql)
    nodes, _ = parse_nodes(source, words_max=WORDS_MAX)
    if len(nodes) != 1 or not isinstance(nodes[0], exp.Query):
        raise source.error("SQL-002", "One SELECT is expected here.", "Write SELECT … FROM a view.")
    named = {cte.alias.lower() for cte in nodes[0].find_all(exp.CTE)}
    tables = [each for each in nodes[0].find_all(exp.Table) if each.name.lower() not in named]
    found = {exact(each.name, list(views)) for each in tables}
    if len(found) == 1 and None not in found:
        return str(next(iter(found)))
    unknown = next((each for each in tables if exact(each.name, list(views)) is None), None)
    if unknown is not None:
        known = f"The views are: {listing(views)}." if views else "Create a view first."
        fact = f"There is no view {unknown.name!r}."
        raise source.error("VIEW-065", fact, suggestion(unknown.name, views, known), at=unknown)
    fact = f"The query reads {len(found)} views; each has a store of its own."
    remedy = "Read one view at a time, or create a view that joins them."
    raise source.error("VIEW-065", fact, remedy)
