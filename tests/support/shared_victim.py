"""Joins that share one memory, of an engine that is to be killed."""

from __future__ import annotations

import penstock as ps
from tests.support.victim_words import register_or_drop, say

QUERIES, ROWS_EACH, MEMORY_ROWS = 4, 2, 12
MEMORY = f"MEMORY {MEMORY_ROWS} ROWS SHARED BY r (k) [ROWS 20], s (k) [ROWS 20]"
TEXTS = (
    f"SELECT r.n AS r, s.n AS s FROM r JOIN s ON r.k = s.k WHERE r.v >= :least {MEMORY}",
    f"SELECT s.n AS s, r.n AS r FROM s JOIN r ON s.k = r.k WHERE s.v >= :least {MEMORY}",
)


def name_of(number: int) -> str:
    """Name a subscription."""
    return f"h{number:02d}"


def subscribe(engine: ps.Engine, number: int) -> None:
    """Register a subscription: the joins in turn."""
    each = [{"id": i, "least": i} for i in range(ROWS_EACH)]
    engine.subscribe(TEXTS[number % len(TEXTS)], name=name_of(number), each=each)
    say(f"ack {name_of(number)}")


def act(engine: ps.Engine) -> bool:
    """Do the next thing that is not done yet; says whether there was one."""
    names = [name_of(number) for number in range(QUERIES)]
    return register_or_drop(engine, names, subscribe, lambda number: number == 2, ROWS_EACH)


def declare(engine: ps.Engine, _source: str) -> None:
    """Register one of each kind: a cluster fixes its lanes at its start."""
    for number in (0, 1):
        if name_of(number) not in engine.desk.registry.subscriptions:
            subscribe(engine, number)
