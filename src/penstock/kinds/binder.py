"""From a SELECT to a logical node: the first kind that claims a query binds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from penstock.algebra.catalog import Catalog
from penstock.expressions.deadlines import within
from penstock.kinds.protocol import Kind
from penstock.kinds.table import KINDS
from penstock.language.queries import read_query
from penstock.language.snapshots import take_snapshot
from penstock.language.statements import Select


def bind(
    select: Select | str,
    catalog: Catalog,
    each: pa.Schema | None = None,
    options: Mapping[str, Any] | None = None,
    kinds: Iterable[Kind] | None = None,
) -> Any:  # the logical node of the kind that claims it
    """Say what a query asks: its relations, its predicate, its outputs, its parameters.

    `each` is the schema of the rows of FOR EACH; a query without parameters needs none.
    `options` are those of OPTIONS (…), and `snapshot`: WITH SNAPSHOT.

    >>> from penstock.algebra.catalog import Relation
    >>> schema = pa.schema([("price", pa.float64())])
    >>> trades = Relation(name="trades", kind="stream", schema=schema)
    >>> plan = bind("SELECT * FROM trades WHERE price > 5", {"trades": trades})
    >>> plan.branches[0].ranges[0].lows, plan.constants
    ((Bound(parameter='$0', closed=False, negated=False),), {'$0': 5.0})
    """
    asked, rest = take_snapshot(options or {})
    query = read_query(select, catalog, each, rest)
    for kind in KINDS.values() if kinds is None else kinds:
        if kind.claims(query):
            with within():
                logical = kind.bind(query)
            return kind.with_snapshot(logical, catalog) if asked else logical
    fact = "No kind of standing query answers this."
    remedy = "Write SELECT … FROM … WHERE …, or install the package whose words these are."
    raise query.source.error("SQL-016", fact, remedy)
