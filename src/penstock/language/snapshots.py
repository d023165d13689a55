"""WITH SNAPSHOT: whether a query's first answer is the rows that its tables hold already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def nothing_to_show(why: str) -> PenstockError:
    """Refuse WITH SNAPSHOT."""
    fact = f"WITH SNAPSHOT has nothing to show: {why}."
    remedy = "Leave it out; it is for queries of tables."
    return PenstockError("SQL-073", fact, remedy, option=OPTION)
