"""An engine of every capability, to be killed: `python -m tests.support.victim HOME INPUT HOST`.

It reads the files below INPUT one per batch, registers and drops standing queries of every kind
while it runs, and ends when all is done. Started again on the same home it goes on. It says what it
does, one line each: `ack NAME` when a registration has returned, `batch N`, `done`. With a fourth
argument, POINT:COUNT, it kills itself at that point, the COUNT-th time.
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
from tests.support import (
    bounded_victim,
    filter_victim,
    gate_victim,
    join_victim,
    lookup_victim,
    model_victim,
    multi_join_victim,
    range_victim,
    shared_victim,
    table_victim,
)
from tests.support.victim_words import say

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


def events_done(engine: ps.Engine) -> int:
    """Count the events of all committed batches."""
    batches = [engine.desk.log.read(number) for number in range(engine.desk.log.newest() + 1)]
    return sum(batch.rows_in for batch in batches if batch is not None)


def live(engine: ps.Engine, expected: int, acts: Sequence[Callable[[ps.Engine], bool]]) -> None:
    """Run until all events are processed and nothing is left to do; one thing each per batch.

    So batches and registrations meet in every way.
    """
    engine.on_batch(lambda report: say(f"batch {report.batch}"))
    say("start")
    engine.start()
    acted, left = 0, True
    while left or events_done(engine) < expected:
        if engine.runner.totals["batches"] > acted:
            acted, left = engine.runner.totals["batches"], any([act(engine) for act in acts])
        assert not engine.wait(0.01), "the engine ended by itself"
        sleep(0.02)
    engine.wait_for_version(engine.desk.registry.version, timeout=600)
    engine.stop()
    say("done")


def prepare(source: str, point: str) -> int:
    """Arm the point at which to die, if there is one; count the rows of all files."""
    if point:
        name, _, count = point.partition(":")
        arm(name, int(count))
    return sum(pq.read_metadata(path).num_rows for path in Path(source).rglob("*.parquet"))


CAPABILITIES: tuple[Any, ...] = (
    filter_victim, join_victim, multi_join_victim, bounded_victim, lookup_victim, table_victim,
    shared_victim, range_victim, model_victim, gate_victim,
)  # fmt: skip
"""Each declares its relations, registers what must stand before the first start, and acts."""


def main(home: str, source: str, host: str, point: str = "") -> None:
    """Live until all is done."""
    expected = prepare(source, point)
    with ps.Engine(home, host=host, record=True, shards=2) as engine:  # type: ignore[arg-type]
        for capability in CAPABILITIES:
            capability.declare(engine, source)
        live(engine, expected, [capability.act for capability in CAPABILITIES])


if __name__ == "__main__":
    main(*sys.argv[1:])
