"""Joins with budgets of rows of an engine that is to be killed.

While it runs, subscriptions come and go in a group whose budget is tight and in one that has room
for all.
"""

from __future__ import annotations

import penstock as ps
from tests.support.victim_words import register_or_drop, say

STREAMS = ("r", "s")
QUERIES, ROWS_EACH = 6, 3
TIGHT_ROWS = 10
TIGHT = (
    "SELECT r.n AS r, s.n AS s FROM r JOIN s ON r.k = s.k WITHIN 3 SECONDS WHERE r.v >= :least "
    f"MEMORY {TIGHT_ROWS} ROWS MODEL r AS AUTO, s AS LINEAR TREND"
)
AMPLE = (
    "SELECT r.n AS r, s.n AS s FROM r [ROWS 12], s [ROWS 9] WHERE r.k = s.k AND r.v >= :least "
    "MEMORY 500 ROWS"
)


def name_of(number: int) -> str:
    """Name a subscription."""
    return f"b{number:02d}"


def text_of(number: int) -> str:
    """Give the text of a subscription."""
    return AMPLE if number % 2 else TIGHT


def subscribe(engine: ps.Engine, number: int) -> None:
    """Register a subscription; the first queries of the first two want every row."""
    each = [{"id": i, "least": i} for i in range(ROWS_EACH)]
    engine.subscribe(text_of(number), name=name_of(number), each=each)
    say(f"ack {name_of(number)}")


def act(engine: ps.Engine) -> bool:
    """Do the next thing that is not done yet; says whether there was one."""
    names = [name_of(number) for number in range(QUERIES)]
    return register_or_drop(engine, names, subscribe, lambda number: number >= 4, ROWS_EACH)


def declare(engine: ps.Engine, source: str) -> None:
    """Declare the relations; register one of each kind: a cluster fixes its lanes at its start."""
    for name in STREAMS:
        if name not in engine.desk.registry.catalog:
            where = f"parquet:{source}/{name}"
            engine.stream(name, where, event_time="ts", lateness=0, maxFilesPerTrigger=1)
    for number in (0, 1):
        if name_of(number) not in engine.desk.registry.subscriptions:
            subscribe(engine, number)
