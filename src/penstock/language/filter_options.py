"""OPTIONS of a filter: whether rows may be dropped if it cannot keep up, and what it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.algebra.catalog import Relation
from penstock.language.places import suggestion
from penstock.language.planner_options import checked_number, option_refused
from penstock.vocabulary.errors import PenstockError

SHEDDING = ("off", "subset")
NAMES = ("shedding", "processors", "headroom", "minimum")


def filter_options(options: Mapping[str, Any], relation: Relation) -> dict[str, Any]:
    """Check the options of a filter; those that are not given keep no entry.

    >>> import pyarrow as pa
    >>> columns = pa.schema([("ts", pa.timestamp("us", "UTC"))])
    >>> trades = Relation(name="trades", kind="stream", schema=columns, event_time="ts")
    >>> filter_options({"shedding": "Subset", "minimum": 0.5}, trades)
    {'shedding': 'subset', 'minimum': 0.5}
    """
    chosen: dict[str, Any] = {}
    for written, value in options.items():
        name = written.lower()
        if name not in NAMES:
            remedy = suggestion(name, NAMES, f"Known are: {', '.join(NAMES)}.")
            fact = f"A query of one relation has no option {name!r}."
            raise PenstockError("SQL-070", fact, remedy, option=name)
        chosen[name] = _checked(name, value)
    if chosen.get("shedding") == "subset" and relation.event_time is None:
        raise PenstockError(
            "SQL-072",
            f"{relation.name} has no event time, so nobody sees whether a query falls behind.",
            "Declare one: OPTIONS (event_time = 'ts'); or leave shedding out.",
            option="shedding",
        )
    return chosen


def _checked(name: str, value: Any) -> Any:
    if name == "shedding":
        if isinstance(value, str) and value.lower() in SHEDDING:
            return value.lower()
        raise option_refused(name, value, "Choose one of: 'off', 'subset'.")
    return checked_number("minimum_" if name == "minimum" else name, value, name)
