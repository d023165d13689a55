"""An engine with a lookup to be killed: `python -m tests.support.lookup_victim HOME INPUT …`.

INPUT has the stream `asks` and the file `prices.duckdb`. It lives until no row waits any more.
"""

from __future__ import annotations

import sys

import penstock as ps
from tests.support.victim import live, prepare, register_or_drop, say

NAMES = ("priced", "again", "cheap")
ROWS_EACH = 2
TEXT = (
    "SELECT a.n, a.k, p.price FROM asks a JOIN prices p ON a.k = p.id WHERE p.price < :most "
    "AND a.v >= :least"
)
QUICK = {"timeout": "1 second", "retries": 0, "cooldown": "200 milliseconds", "batch": 7}


def subscribe(engine: ps.Engine, number: int) -> None:
    """Register a subscription; the first query of each wants every row."""
    each = [{"id": i, "most": 1000.0 - 980.0 * i, "least": i} for i in range(ROWS_EACH)]
    engine.subscribe(TEXT, name=NAMES[number], each=each)
    say(f"ack {NAMES[number]}")


def act(engine: ps.Engine) -> bool:
    """Do the next thing that is not done yet; rows that wait are something to wait for."""
    if register_or_drop(engine, NAMES, subscribe, lambda _number: False, ROWS_EACH):
        return True
    return engine.figures(live=False).memory[NAMES[0]]["waiting"] > 0


def main(home: str, source: str, host: str, point: str = "") -> None:
    """Live until all is done."""
    expected = prepare(source, point)
    with ps.Engine(home, host=host, record=True, shards=2) as engine:  # type: ignore[arg-type]
        if "asks" not in engine.desk.registry.catalog:
            where = f"parquet:{source}/asks"
            engine.stream("asks", where, event_time="ts", maxFilesPerTrigger=1)
        if "prices" not in engine.desk.registry.catalog:
            file = f"duckdb:{source}/prices.duckdb"
            engine.lookup("prices", file, key="id", cache=8, options=QUICK)
        if NAMES[0] not in engine.desk.registry.subscriptions:
            subscribe(engine, 0)
        live(engine, expected, act)


if __name__ == "__main__":
    main(*sys.argv[1:])
