"""Killing the engine's process (-9) again and again, and proving that everything is there, once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from penstock.engine import Desk
from penstock.engine.verification import verify
from tests.support.tables import Feeder, events
from tests.support.victim import QUERIES, ROWS_EACH, name_of, rows_of

ROOT = Path(__file__).parents[2]
FILES, ROWS = 12, 10
POINTS = {
    "embedded": ("entry:1", "state:1", "part:2", "commit:1", "version:2", "announced:2"),
    "cluster": ("entry:1", "part:2", "commit:1"),
}
"""In the very first batch; between state, parts, manifest and Spark's commit; while registering.

Registering is the same on both hosts, and a cluster's driver has no state of its own.
"""
RANDOM_KILLS = {"embedded": 1, "cluster": 0}
DRAWN = ("state:2", "part:2", "commit:2", "version:2")
DRAWN_COUNT = 2
KILLED = -9


def some_points(host: str, seed: int) -> list[str]:
    """Say where to kill other victims than that of filters, which tries all points.

    Embedded ones die in the very first batch and then at points that are drawn. On the cluster
    every start takes long: they die when the first batch has run, and when a later one is logged.
    """
    if host == "cluster":
        return ["part:1", "commit:2"]
    drawn = np.random.default_rng(seed).permutation(DRAWN)
    return ["entry:1", *drawn[:DRAWN_COUNT].tolist()]


class Victim:
    """Starts, watches and kills the process of a module such as `tests.support.victim`."""

    def __init__(
        self, home: Path, source: Path, host: str, scratch: Path,
        module: str = "tests.support.victim",
    ) -> None:  # fmt: skip
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

    `scratch` is a directory with a short name: sockets live in it.
    """
    chance = np.random.default_rng(seed)
    feeder = Feeder(place / "in")
    for number in range(FILES):
        feeder.put(events(seed + number, ROWS, first=ROWS * number))
    home = place / "home"
    victim = Victim(home, feeder.directory, host, scratch)
    kills = 0
    points = POINTS[host]
    for point in (points[0], *chance.permutation(points[1:])):
        code = victim.run(point=str(point))
        assert code == KILLED, f"{point} was not reached"
        kills += 1
    for _ in range(RANDOM_KILLS[host]):
        kills += victim.run(lines_max=int(chance.integers(3, 6))) == KILLED
    assert victim.run() == 0
    assert kills >= len(points)

    desk = Desk(home)
    acknowledged = set(victim.acknowledged)
    assert len(acknowledged) == len(victim.acknowledged), "something was acknowledged twice"
    for number in range(QUERIES):
        name = name_of(number)
        standing = [
            id_
            for block in desk.registry.blocks[name]
            for id_, alive in zip(block.table["id"].to_pylist(), block.alive, strict=True)
            if alive
        ]
        dropped = [0] if number % 3 == 0 else []
        assert sorted(standing) == [i for i in range(ROWS_EACH) if i not in dropped]
    assert acknowledged <= {
        f"{name_of(n)}{what}" for n in range(QUERIES) for what in ("", "-0", "*1")
    }

    # Every event is in exactly one batch, and each batch answers for the queries of its version.
    seen: Counter[int] = Counter()
    expected: Counter[tuple[str, int, int]] = Counter()
    lives = [
        (name, id_, row["p_low"], row["p_high"], block.version, dropped)
        for name in desk.registry.names()
        for _, block in desk.registry.history(name)
        for row, id_, dropped in zip(
            block.table.to_pylist(), block.table["id"].to_pylist(), block.dropped, strict=True
        )
    ]
    for batch in range(desk.log.newest() + 1):
        logged = desk.log.read(batch)
        assert logged is not None, f"batch {batch} is not in the log"
        rows = [row for section in logged.sections for row in section.events().to_pylist()]
        seen.update(row["n"] for row in rows)
        expected.update(
            (name, id_, row["n"])
            for name, id_, low, high, since, until in lives
            if since <= logged.version < until
            for row in rows
            if low <= row["x"] <= high
        )
    assert seen == Counter(range(FILES * ROWS))
    found = Counter(
        (name, change.id, change.row["n"])
        for name in desk.registry.names()
        for change in desk.subscription(name).changes(follow=False)
    )
    assert found == expected
    assert found, "nothing matched: nothing was proved"
    for verdict in verify(desk.registry, desk.log):
        assert verdict.equal, verdict
    desk.close()
    # The parameters that stood first are those that were given.
    assert {(low, high) for name, _, low, high, _, _ in lives if name == "s00"} == {
        (row["low"], row["high"]) for row in rows_of(0)
    }
