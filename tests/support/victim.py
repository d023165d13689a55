"""An engine to be killed: `python -m tests.support.victim HOME INPUT HOST [POINT:COUNT]`.

It reads the files in INPUT one per batch, registers and drops standing queries while it runs, and
ends when all is done. Started again on the same home it goes on. It says what it does, one line
each: `ack NAME` when a registration has returned, `batch N`, `done`. At POINT, the COUNT-th time,
it kills itself.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from time import sleep
from typing import Any

import pyarrow.parquet as pq

import penstock as ps
from penstock.delivery.log import ResultLog
from penstock.registry import store
from penstock.registry.store import Registry
from penstock.spark import cluster, embedded
from penstock.storage.state import StateLog

QUERIES = 8
ROWS_EACH = 4
TEXT = "SELECT n, x FROM t WHERE x BETWEEN :low AND :high"


def rows_of(number: int) -> list[dict[str, Any]]:
    """Give the parameters of a subscription."""
    return [
        {"id": i, "low": float(7 * number + 3 * i), "high": float(7 * number + 3 * i + 20)}
        for i in range(ROWS_EACH)
    ]


def name_of(number: int) -> str:
    """Name a subscription."""
    return f"s{number:02d}"


# Where it may die: what is wrapped, and whether death comes before or after it. The first batch is
# the first time of any of them.
POINTS: dict[str, list[tuple[Any, str, str]]] = {
    "entry": [
        (embedded.EmbeddedHost, "_run", "before"),
        (cluster.ClusterHost, "_deliver", "before"),
    ],
    "state": [(StateLog, "write", "after")],
    "part": [(embedded, "write_part", "after"), (ResultLog, "commit", "before")],
    "commit": [(ResultLog, "commit", "after")],
    "version": [(store, "write_version", "after")],
    "announced": [(Registry, "_announce", "after")],
}


def arm(point: str, count: int) -> None:
    """Let this process die at a point."""
    left = [count]

    def reached() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def wrapped(function: Callable[..., Any], when: str) -> Callable[..., Any]:
        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            if when == "before":
                reached()
            result = function(*arguments, **named)
            if when == "after":
                reached()
            return result

        return call

    for owner, name, when in POINTS[point]:
        setattr(owner, name, wrapped(getattr(owner, name), when))


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


def events_done(engine: ps.Engine) -> int:
    """Count the events of all committed batches."""
    batches = [engine.desk.log.read(number) for number in range(engine.desk.log.newest() + 1)]
    return sum(batch.rows_in for batch in batches if batch is not None)


def say(line: str) -> None:
    """Tell the one who watches."""
    print(line, flush=True)


def live(engine: ps.Engine, expected: int, act: Callable[[ps.Engine], bool]) -> None:
    """Run until all events are processed and nothing is left to do; one thing per batch.

    So batches and registrations meet in every way.
    """
    engine.on_batch(lambda report: say(f"batch {report.batch}"))
    say("start")
    engine.start()
    acted, left = 0, True
    while left or events_done(engine) < expected:
        if engine.runner.totals["batches"] > acted:
            acted, left = engine.runner.totals["batches"], act(engine)
        assert not engine.wait(0.01), "the engine ended by itself"
        sleep(0.02)
    engine.wait_for_version(engine.desk.registry.version, timeout=300)
    engine.stop()
    say("done")


def prepare(source: str, point: str) -> int:
    """Arm the point at which to die, if there is one; count the rows of all files."""
    if point:
        name, _, count = point.partition(":")
        arm(name, int(count))
    return sum(pq.read_metadata(path).num_rows for path in Path(source).rglob("*.parquet"))


def register_or_drop(
    engine: ps.Engine,
    names: Sequence[str],
    subscribe: Callable[[ps.Engine, int], None],
    drops: Callable[[int], bool],
    rows_each: int,
) -> bool:
    """Register the next subscription that is missing, or drop one query of the next that is due.

    Says whether there was anything to do.
    """
    for number, name in enumerate(names):
        if name not in engine.desk.registry.subscriptions:
            subscribe(engine, number)
            return True
        if drops(number) and len(engine.subscription(name)) == rows_each:
            engine.subscription(name).drop([0])
            say(f"ack {name}-0")
            return True
    return False


def main(home: str, source: str, host: str, point: str = "") -> None:
    """Live until all is done."""
    expected = prepare(source, point)
    with ps.Engine(home, host=host, record=True, shards=2) as engine:  # type: ignore[arg-type]
        if "t" not in engine.desk.registry.catalog:
            engine.stream("t", f"parquet:{source}", maxFilesPerTrigger=1)
        act(engine)
        live(engine, expected, act)


if __name__ == "__main__":
    main(*sys.argv[1:])
