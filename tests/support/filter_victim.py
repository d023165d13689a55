"""The standing filters of an engine that is to be killed."""

from __future__ import annotations

from typing import Any

import penstock as ps
from tests.support.victim_words import say

QUERIES = 6
ROWS_EACH = 4
TEXT = "SELECT n, x FROM ticks WHERE x BETWEEN :low AND :high"


def rows_of(number: int) -> list[dict[str, Any]]:
    """Give the parameters of a subscription."""
    return [
        {"id": i, "low": float(7 * number + 3 * i), "high": float(7 * number + 3 * i + 20)}
        for i in range(ROWS_EACH)
    ]


def name_of(number: int) -> str:
    """Name a subscription."""
    return f"s{number:02d}"


def declare(engine: ps.Engine, source: str) -> None:
    """Declare the stream, and register the first filters."""
    if "ticks" not in engine.desk.registry.catalog:
        engine.stream("ticks", f"parquet:{source}/ticks", maxFilesPerTrigger=1)
    act(engine)


def act(engine: ps.Engine) -> bool:
    """Do the next thing that is not done yet; says whether there was one."""
    for number in range(QUERIES):
        name = name_of(number)
        if name not in engine.desk.registry.subscriptions:
            engine.subscribe(TEXT, name=name, each=rows_of(number))
            say(f"ack {name}")
            return True
        if number % 3 == 0 and len(engine.subscription(name)) == ROWS_EACH:
            engine.subscription(name).drop([0])
            say(f"ack {name}-0")
            return True
        if (
            number % 4 == 1
            and engine.subscription(name).sql == TEXT
            and not is_altered(engine, name)
        ):
            engine.subscription(name).alter(each=[{"id": 1, "low": 0.0, "high": 5.0 + number}])
            say(f"ack {name}*1")
            return True
    return False


def is_altered(engine: ps.Engine, name: str) -> bool:
    """Say whether the second query of a subscription was altered."""
    return len(engine.desk.registry.blocks[name]) > 1
