"""Multi-way joins of an engine that is to be killed.

While it runs, subscriptions come and go, and with them plans: another order of joins, drop boxes
that are set and taken away.
"""

from __future__ import annotations

from typing import Any

import penstock as ps
from tests.support.victim_words import register_or_drop, say

STREAMS = ("a", "b", "c")
QUERIES, ROWS_EACH = 6, 3
CHAIN = (
    "SELECT a.n AS a, b.n AS b, c.n AS c FROM a [ROWS 10], b [RANGE 4 SECONDS], c [ROWS 8] "
    "WHERE a.x = b.x AND b.y = c.y AND a.n >= :least"
)
TABLE = "SELECT a.n AS a, t.w FROM a [ROWS 6], b [ROWS 6], t WHERE a.y = t.y AND a.x = b.x"
PLANS: tuple[dict[str, Any], ...] = (
    {},
    {"order": "((a c) b)"},
    {"headroom": 0.9999, "shed_at_once": True, "selectivity_a": 0.5},
    {"headroom": 0.9999, "shedding": "off", "order": "((b c) a)"},
)
"""What the subscriptions in turn ask of their group's plan."""


def name_of(number: int) -> str:
    """Name a subscription."""
    return f"m{number:02d}"


def subscribe(engine: ps.Engine, number: int) -> None:
    """Register a subscription; every one in four has a table instead of a third stream."""
    if number % 4 == 3:
        engine.subscribe(TABLE, name=name_of(number))
    else:
        each = [{"id": i, "least": 20 * i} for i in range(ROWS_EACH)]
        options = PLANS[(number - number // 4) % len(PLANS)]
        engine.subscribe(CHAIN, name=name_of(number), each=each, options=options)
    say(f"ack {name_of(number)}")


def act(engine: ps.Engine) -> bool:
    """Do the next thing that is not done yet; says whether there was one."""
    names = [name_of(number) for number in range(QUERIES)]
    return register_or_drop(engine, names, subscribe, lambda number: number % 4 == 0, ROWS_EACH)


def declare(engine: ps.Engine, source: str) -> None:
    """Declare the relations; register one of each kind: a cluster fixes its lanes at its start."""
    known = engine.desk.registry.catalog
    for name in STREAMS:
        if name not in known:
            engine.stream(
                name,
                f"parquet:{source}/{name}",
                event_time="ts",
                lateness="2 seconds",
                rate=4,
                distinct={"x": 3, "y": 3},
                maxFilesPerTrigger=1,
            )
    if "t" not in known:
        engine.table("t", f"parquet:{source}/t", changes="op", maxFilesPerTrigger=1)
    for number in (0, 3):
        if name_of(number) not in engine.desk.registry.subscriptions:
            subscribe(engine, number)
