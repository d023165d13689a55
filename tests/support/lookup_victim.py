"""A lookup of an engine that is to be killed; it has something to do until no row waits."""

from __future__ import annotations

import penstock as ps
from tests.support.victim_words import register_or_drop, say

NAMES = ("priced", "again", "cheap")
ROWS_EACH = 2
TEXT = (
    "SELECT a.n, a.k, p.price FROM asks a JOIN prices p ON a.k = p.id WHERE p.price < :most "
    "AND a.v >= :least"
)
QUICK = {"timeout": "1 minute", "retries": 0, "cooldown": "200 milliseconds", "batch": 7}


def subscribe(engine: ps.Engine, number: int) -> None:
    """Register a subscription; the first query of each wants every row."""
    each = [{"id": i, "most": 1000.0 - 980.0 * i, "least": i} for i in range(ROWS_EACH)]
    engine.subscribe(TEXT, name=NAMES[number], each=each)
    say(f"ack {NAMES[number]}")


def act(engine: ps.Engine) -> bool:
    """Do the next thing that is not done yet; rows that wait are something to wait for."""
    if register_or_drop(engine, NAMES, subscribe, lambda _number: False, ROWS_EACH):
        return True
    return engine.figures(live=False).memory[NAMES[0]].waiting > 0


def declare(engine: ps.Engine, source: str) -> None:
    """Declare the relations; register one of each kind: a cluster fixes its lanes at its start."""
    if "asks" not in engine.desk.registry.catalog:
        where = f"parquet:{source}/asks"
        engine.stream("asks", where, event_time="ts", maxFilesPerTrigger=1)
    if "prices" not in engine.desk.registry.catalog:
        file = f"duckdb:{source}/prices.duckdb"
        engine.lookup("prices", file, key="id", cache=8, options=QUICK)
    if NAMES[0] not in engine.desk.registry.subscriptions:
        subscribe(engine, 0)
