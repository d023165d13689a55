"""Stories: a few real matches of a run, told in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.delivery.log import LoggedBatch
from penstock.registry.records import Block
from penstock.registry.store import Registry
from penstock.vocabulary.counts import counted

COMPANY = (2, 9)
"""A story of an event that thousands waited for is no clearer than one that a few did."""


def tell(registry: Registry, batches: Iterable[LoggedBatch], count: int) -> list[str]:
    """Tell of trades that standing queries waited for, one from a batch, spread over the run."""
    found = [batch for batch in batches if batch.matches]
    places = np.unique(np.linspace(0, len(found) - 1, min(4 * count, len(found))).astype(int))
    stories: dict[str, str] = {}
    for place in places[::-1]:
        told = _story(registry, found[place])
        if told is not None:
            stories.setdefault(*told)
        if len(stories) == count:
            break
    return list(stories.values())


def _story(registry: Registry, batch: LoggedBatch) -> tuple[str, str] | None:
    """Choose an event of a batch that several queries, but few, waited for."""
    for section in batch.sections:
        if section.relation != "trades":
            continue
        pairs = section.matches()
        event, query = pairs["event"].to_numpy(), pairs["query"].to_numpy()
        company = np.bincount(event, minlength=1)
        fitting = np.flatnonzero((company >= COMPANY[0]) & (company <= COMPANY[1]))
        if not len(fitting):
            continue
        chosen = int(fitting[len(fitting) // 2])
        row = section.events().slice(chosen, 1).to_pylist()[0]
        waiting = np.sort(query[event == chosen])
        return row["symbol"], _sentence(registry, row, waiting)
    return None


def _sentence(registry: Registry, row: dict[str, Any], waiting: Any) -> str:
    traded = (
        f"{row['symbol']} traded at {row['price']:,.2f} × {row['size']:,} on {row['venue']}: "
        f"{counted(len(waiting), 'standing query', 'standing queries')} waited for it"
    )
    example: dict[str, str] = {}
    for block, queries in registry.owners(waiting):
        if block.subscription in registry.subscriptions:
            sql = registry.subscriptions[block.subscription].sql
            place = int(np.searchsorted(block.query, queries[0]))
            example.setdefault(block.subscription, predicate(sql, parameters(block, place)))
    words = "; ".join(f"{name}: {text}" for name, text in list(example.items())[:2])
    return f"{traded}, e.g. {words}" if words else traded


def parameters(block: Block, row: int) -> dict[str, Any]:
    """Give the parameters of one standing query by name."""
    values = block.table.slice(row, 1).to_pylist()[0]
    return {name[2:]: value for name, value in values.items() if name.startswith("p_")}


def predicate(sql: str, values: dict[str, Any]) -> str:
    """Write a query's predicate with its constants, without the symbol that the story names.

    >>> predicate("SELECT * FROM t WHERE symbol = :s AND price <= :low", {"s": "A", "low": 7.5})
    'price <= 7.5'
    """
    text = re.split(r"\bWHERE\b", sql, maxsplit=1, flags=re.IGNORECASE)[-1].strip()
    text = re.sub(r"^symbol = :\w+ AND ", "", text)
    return re.sub(r":(\w+)", lambda match: _literal(values.get(match[1], match[0])), text)


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return value if value.startswith(":") else f"'{value}'"
    return f"{value:,.10g}" if isinstance(value, float) else f"{value}"
