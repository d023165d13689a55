"""Killing the engine's process (-9) again and again, and proving that everything is there, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from penstock.engine import Desk
from penstock.engine.verification import verify
from tests.support.bounded_streams import Asking, Moving
from tests.support.change_files import change_files
from tests.support.proofs import (
    prove_bounded_joins,
    prove_filters,
    prove_joins,
    prove_lookups,
    prove_multi_joins,
    prove_shared_memories,
    prove_tables,
    told_by_batch,
)
from tests.support.streams import Streams
from tests.support.table_victim import stock_files
from tests.support.tables import Feeder, events

ROOT = Path(__file__).parents[2]
FILES, ROWS = 10, 10
POINTS = {
    "embedded": ("entry:1", "state:1", "part:2", "commit:1", "version:2", "announced:2"),
    "cluster": ("entry:1", "part:2", "commit:1"),
}
"""In the very first batch; between state, parts, manifest and Spark's commit; while registering.

Registering is the same on both hosts, and a cluster's driver has no state of its own.
"""
RANDOM_KILLS = {"embedded": 1, "cluster": 0}
KILLED = -9


class Victim:
    """Starts, watches and kills the process of `tests.support.victim`."""

    def __init__(self, home: Path, source: Path, host: str, scratch: Path) -> None:
        module = "tests.support.victim"
        self.command = [sys.executable, "-m", module, str(home), str(source), host]
        # What a killed Spark leaves behind goes with this directory.
        self.environment = {
            **os.environ, "TMPDIR": str(scratch), "SPARK_LOCAL_DIRS": str(scratch),
        }  # fmt: skip
        self.errors = scratch / "errors.txt"
        self.acknowledged: list[str] = []
        self.batches = 0

    def run(self, point: str = "", lines_max: int | None = None) -> int:
        """Run until it ends, dies at a point, or is killed after so many lines; gives its code."""
        arguments = [*self.command, *([point] if point else [])]
        with (
            self.errors.open("w") as errors,
            subprocess.Popen(
                arguments, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=errors,
                text=True,
            ) as process,
        ):  # fmt: skip
            assert process.stdout is not None
            said: list[str] = []
            for line in process.stdout:
                word, _, rest = line.strip().partition(" ")
                said.append(word)
                self.batches += word == "batch"
                if word == "ack":
                    self.acknowledged.append(rest)
                if lines_max is not None and len(said) >= lines_max:
                    process.kill()
            code = process.wait()
        assert code in {0, KILLED}, self.errors.read_text()[-3000:]
        assert (code == 0) == ("done" in said)
        return code


def kill_and_prove(host: str, place: Path, scratch: Path, seed: int) -> None:
    """Kill a victim at every point and at random, let it end, and hold its log against the input.

    Every other time it dies while the database of its lookups is away, with rows that wait; what
    was told then stays told. `scratch` is a directory with a short name: sockets live in it.
    """
    chance = np.random.default_rng(seed)
    source, home = place / "in", place / "home"
    ticks = Feeder(source / "ticks")
    for number in range(FILES):
        ticks.put(events(seed + number, ROWS, first=ROWS * number))
    changes = change_files(source, seed, FILES, ROWS)
    stock = stock_files(source, seed, FILES, ROWS)
    streams, moving = Streams(source, seed), Moving(source, seed, rows=30)
    asking = Asking(source, seed, rows=30)
    for each in (streams, moving, asking):
        each.put(FILES)

    victim = Victim(home, source, host, scratch)
    told: dict[int, object] = {}
    points = POINTS[host]
    for number, point in enumerate((points[0], *chance.permutation(points[1:]))):
        if number % 2:
            asking.away()
        assert victim.run(point=str(point)) == KILLED, f"{point} was not reached"
        if number % 2:
            asking.back()
        now = told_by_batch(home)
        assert all(now[batch] == rows for batch, rows in told.items())
        told |= now
    for _ in range(RANDOM_KILLS[host]):
        assert victim.run(lines_max=int(chance.integers(3, 6))) == KILLED
    assert victim.run() == 0
    acknowledged = set(victim.acknowledged)
    assert len(acknowledged) == len(victim.acknowledged), "something was acknowledged twice"
    assert told, "nobody was told anything before the last run"
    assert all(told_by_batch(home)[batch] == rows for batch, rows in told.items())

    desk = Desk(home)
    batches = [desk.log.read(number) for number in range(desk.log.newest() + 1)]
    assert all(batch is not None for batch in batches)
    total = ticks.rows.num_rows + changes + streams.rows + moving.rows + asking.rows + FILES * ROWS
    assert sum(batch.rows_in for batch in batches if batch is not None) == total
    outcomes = {outcome.subscription: outcome for outcome in verify(desk.registry, desk.log)}
    assert set(outcomes) == set(desk.registry.names())
    for outcome in outcomes.values():
        assert outcome.equal, outcome
    prove_filters(desk, acknowledged, FILES * ROWS)
    prove_joins(desk, outcomes)
    prove_multi_joins(desk, outcomes)
    prove_bounded_joins(desk, outcomes, moving, place / "straight" if host == "embedded" else None)
    prove_lookups(desk, outcomes, asking)
    prove_tables(desk, stock)
    prove_shared_memories(desk, outcomes)
    desk.close()
