"""Range aggregates of an engine that is to be killed, over the table by key that it keeps."""

from __future__ import annotations

import penstock as ps
from tests.support.table_victim import KEYS
from tests.support.victim_words import register_or_drop, say

QUERIES, ROWS_EACH = 4, 3
TEXT = "SELECT min(x) AS low, count(*) AS n FROM stock WHERE k BETWEEN :low AND :high"
RANGES = tuple((step, KEYS - 1 - 3 * step) for step in range(ROWS_EACH))
"""The lower and the upper end of each query's range."""


def name_of(number: int) -> str:
    """Name a subscription."""
    return f"g{number:02d}"


def subscribe(engine: ps.Engine, number: int) -> None:
    """Register a subscription, with or without a first answer."""
    each = [{"id": i, "low": low, "high": high} for i, (low, high) in enumerate(RANGES)]
    engine.subscribe(TEXT, name=name_of(number), each=each, options={"snapshot": number % 2 == 1})
    say(f"ack {name_of(number)}")


def act(engine: ps.Engine) -> bool:
    """Do the next thing that is not done yet; says whether there was one."""
    names = [name_of(number) for number in range(QUERIES)]
    return register_or_drop(engine, names, subscribe, lambda number: number < 2, ROWS_EACH)


def declare(engine: ps.Engine, _source: str) -> None:
    """Register one of each kind: a cluster fixes its lanes at its start."""
    for number in (0, 1):
        if name_of(number) not in engine.desk.registry.subscriptions:
            subscribe(engine, number)
