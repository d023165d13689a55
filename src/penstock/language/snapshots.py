"""WITH SNAPSHOT: whether a query's first answer is the rows that its tables hold already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.algebra.catalog import Catalog
from penstock.algebra.joins import StandingJoin, kind_of_join
from penstock.algebra.logical import StandingFilter
from penstock.vocabulary.errors import PenstockError

OPTION = "snapshot"


def take_snapshot(options: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Take the option out of others.

    >>> take_snapshot({"snapshot": True, "mode": "full"})
    (True, {'mode': 'full'})
    """
    rest = dict(options)
    asked = rest.pop(OPTION, False)
    if not isinstance(asked, bool):
        fact = f"Option 'snapshot' cannot be {asked!r}."
        raise PenstockError("SQL-071", fact, "Write TRUE or FALSE.", option=OPTION)
    return asked, rest


def with_snapshot(logical: Any, catalog: Catalog) -> Any:  # any logical node, the same kind back
    """Let a query begin with what its tables hold; refuse one that has nothing to begin with."""
    if isinstance(logical, StandingFilter):
        relation = catalog[logical.relation.lower()]
        if relation.kind != "table":
            raise _refused(f"{relation.name} is a stream, and what came of it is not kept")
        if logical.sees_broken:
            raise _refused("the query asks for lines that do not parse, and those are not kept")
        kept = tuple((f.name, f.type) for f in relation.schema)
        return replace(logical, kept=kept, change_column=relation.change_column)
    if not isinstance(logical, StandingJoin):
        raise _refused("the query reads streams, and what came of them is not kept")
    if kind_of_join(logical) == "window_join":
        raise _refused("a window join reads streams, and what came of them is not kept")
    if logical.mode != "full":
        raise _refused("in mode 'identify' a query is told of changes alone, not of rows")
    return replace(logical, snapshot=True)


def _refused(why: str) -> PenstockError:
    fact = f"WITH SNAPSHOT has nothing to show: {why}."
    remedy = "Leave it out; it is for queries of tables."
    return PenstockError("SQL-073", fact, remedy, option=OPTION)
