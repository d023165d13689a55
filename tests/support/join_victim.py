"""Joins of two relations of an engine that is to be killed, of every class."""

from __future__ import annotations

from typing import Any

import penstock as ps
from tests.support.victim_words import register_or_drop, say

TABLES, STREAMS = ("demand", "supply"), ("offers", "bids")
QUERIES, ROWS_EACH = 6, 4
TEXTS = (
    "SELECT s.n AS s, d.n AS d FROM supply s JOIN demand d ON s.k = d.k "
    "WHERE s.x BETWEEN :low AND :high AND d.x <= :high",
    "SELECT s.n AS s, d.n AS d FROM supply s JOIN demand d ON s.x - d.x BETWEEN :low AND :high",
    "SELECT a.n AS a, b.n AS b FROM offers a JOIN bids b ON a.k = b.k WITHIN :seconds SECONDS "
    "WHERE a.x >= :low",
)


def rows_of(number: int) -> list[dict[str, Any]]:
    """Give the parameters of a subscription."""
    return [
        {
            "id": i,
            "low": float(5 * number + 9 * i - 20),
            "high": float(5 * number + 9 * i + 20),
            "seconds": 3 + number,
        }
        for i in range(ROWS_EACH)
    ]


def name_of(number: int) -> str:
    """Name a subscription."""
    return f"j{number:02d}"


def subscribe(engine: ps.Engine, number: int) -> None:
    """Register a subscription: the classes in turn, every other round in identify mode."""
    mode = "identify" if number // len(TEXTS) % 2 else "full"
    text = TEXTS[number % len(TEXTS)]
    engine.subscribe(text, name=name_of(number), each=rows_of(number), options={"mode": mode})
    say(f"ack {name_of(number)}")


def act(engine: ps.Engine) -> bool:
    """Do the next thing that is not done yet; says whether there was one."""
    names = [name_of(number) for number in range(QUERIES)]
    return register_or_drop(engine, names, subscribe, lambda number: number % 2 == 0, ROWS_EACH)


def declare(engine: ps.Engine, source: str) -> None:
    """Declare the relations; register one of each kind: a cluster fixes its lanes at its start."""
    known = engine.desk.registry.catalog
    for name in TABLES:
        if name not in known:
            engine.table(name, f"parquet:{source}/{name}", changes="op", maxFilesPerTrigger=1)
    for name in STREAMS:
        if name not in known:
            engine.stream(name, f"parquet:{source}/{name}", event_time="ts", maxFilesPerTrigger=1)
    for number in range(len(TEXTS)):
        if name_of(number) not in engine.desk.registry.subscriptions:
            subscribe(engine, number)
