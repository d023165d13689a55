"""Substitution: values written into a query's text in the place of its named parameters.

Standing queries take parameters only where queries of one shape may differ. Whoever asks one query
many times may want others too: a distance in ON, a threshold inside an OR.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.language.dialect import Span
from penstock.language.parser import parse_nodes
from penstock.language.places import ScriptSource
from penstock.language.splices import splice


def named_parameters(text: str) -> tuple[str, ...]:
    """Name the parameters of a query's text, each once.

    >>> named_parameters("SELECT ':a' FROM t WHERE x > :low AND y < :b OR x < :b")
    ('low', 'b')
    """
    nodes, _ = parse_nodes(ScriptSource.whole(text))
    found = (each.name for node in nodes for each in node.find_all(exp.Placeholder, bfs=False))
    return tuple(dict.fromkeys(found))


def named_relations(text: str) -> frozenset[str]:
    """Name what a query's text reads, in small letters.

    >>> sorted(named_relations("SELECT * FROM T a JOIN (SELECT k FROM u) AS b ON a.k = b.k"))
    ['t', 'u']
    """
    nodes, _ = parse_nodes(ScriptSource.whole(text))
    return frozenset(each.name.lower() for node in nodes for each in node.find_all(exp.Table))


def with_values(text: str, values: Mapping[str, str | int | float]) -> str:
    """Give the text with values in the place of parameters; others stay.

    >>> with_values("SELECT * FROM t WHERE x > :low AND s = :s", {"low": -2.5, "s": "it's"})
    "SELECT * FROM t WHERE x > -2.5 AND s = 'it''s'"
    """
    nodes, tokens = parse_nodes(ScriptSource.whole(text))
    names = {
        Span(each.meta["start"], each.meta["end"] + 1): _literal(values[each.name])
        for node in nodes
        for each in node.find_all(exp.Placeholder)
        if each.name in values
    }
    return splice(tokens, text, names)


def _literal(value: str | int | float) -> str:
    return exp.convert(value).sql("duckdb")
