"""Killing the engine's process (-9) again and again, and proving that everything is there, once.

In the suite a few times; as a campaign, over so many batches that Spark forgets the first ones:
`python -m tests.support.killing --host embedded --seed 1`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from time import sleep

import numpy as np

from penstock.engine import Desk
from penstock.engine.home_check import check_home
from penstock.engine.verification import verify
from penstock.spark.state_stores import DAMAGED
from tests.support.bounded_streams import Asking, Moving
from tests.support.change_files import change_files
from tests.support.model_victim import course_files
from tests.support.proofs import (
    prove_bounded_joins,
    prove_filters,
    prove_gates,
    prove_joins,
    prove_lookups,
    prove_models,
    prove_multi_joins,
    prove_ranges,
    prove_shared_memories,
    prove_tables,
    prove_view,
    told_by_batch,
)
from tests.support.streams import Streams
from tests.support.table_victim import stock_files
from tests.support.tables import Feeder, events

ROOT = Path(__file__).parents[2]
KILLED = -9


@dataclass(frozen=True, slots=True)
class Plan:
    """How often a victim is killed, and where: after the first few at the points in any order."""

    points: tuple[str, ...]
    random_kills: int
    files: int = 10
    rows: int = 10
    lines: tuple[int, int] = (3, 6)
    """After so many lines, from and to, it is killed at random."""
    in_order: int = 1
    """So many points come first, as they stand: registering is over after some batches."""
    delay_s: float = 0.0
    """And then not at once: within so long, a batch is at work again."""


SAMPLES = {
    "embedded": Plan(("entry:1", "part:2", "commit:1", "version:2"), 1),
    "cluster": Plan(("entry:1", "part:2", "commit:1"), 0),
}
"""In the very first batch; between state, parts, manifest and Spark's commit; while registering.

Registering is the same on both hosts, and a cluster's driver has no state of its own. Behind every
single write of the embedded host, without Spark: `penstock lab crash-points`.
"""
_WITHIN = ("part:2", "commit:1", "commit:3", "entry:2", "part:3", "commit:2", "part:1", "entry:3")
CAMPAIGNS = {
    "embedded": Plan(
        ("entry:1", "version:2", "announced:2", "state:1", "state:3", *_WITHIN), 20, 125,
        lines=(3, 7), in_order=3, delay_s=0.5,
    ),
    "cluster": Plan(
        ("entry:1", "version:2", *_WITHIN), 22, 125, lines=(3, 6), in_order=2, delay_s=2.0
    ),
}  # fmt: skip
"""More than 30 kills over more than 100 batches: Spark remembers the last 100."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """What came of a plan; rows of the input that are not in exactly one batch are lost."""

    host: str
    seed: int
    kills: int
    batches: int
    rows: int
    results: int
    lost: int
    doubled: int


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

    def run(self, point: str = "", lines_max: int | None = None, delay_s: float = 0.0) -> int:
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
                if lines_max is not None and len(said) == lines_max:
                    sleep(delay_s)
                    process.kill()
            code = process.wait()
        assert code in {0, KILLED}, self.errors.read_text()[-3000:]
        assert (code == 0) == ("done" in said)
        return code


def kill_and_prove(
    host: str, place: Path, scratch: Path, seed: int, plan: Plan | None = None
) -> Killed:
    """Kill a victim at every point and at random, let it end, and hold its log against the input.

    Every other time it dies while the database of its lookups is away, with rows that wait; what
    was told then stays told. `scratch` is a directory with a short name: sockets live in it.
    """
    plan = plan or SAMPLES[host]
    chance = np.random.default_rng(seed)
    source, home = place / "in", place / "home"
    ticks = Feeder(source / "ticks")
    for number in range(plan.files):
        ticks.put(events(seed + number, plan.rows, first=plan.rows * number))
    changes = change_files(source, seed, plan.files, plan.rows)
    stock = stock_files(source, seed, plan.files, plan.rows)
    courses = course_files(source, seed, plan.files, plan.rows)
    streams, moving = Streams(source, seed), Moving(source, seed, rows=30)
    asking = Asking(source, seed, rows=30)
    for each in (streams, moving, asking):
        each.put(plan.files)

    victim = Victim(home, source, host, scratch)
    told: dict[int, object] = {}
    points = plan.points
    first = plan.in_order
    for number, point in enumerate((*points[:first], *chance.permutation(points[first:]))):
        if number % 2:
            asking.away()
        assert victim.run(point=str(point)) == KILLED, f"{point} was not reached"
        tell(f"{host}: killed at {point}")
        if number % 2:
            asking.back()
        now = told_by_batch(home)
        assert all(now[batch] == rows for batch, rows in told.items())
        told |= now
        assert damaged_shards(home) == []
    for number in range(plan.random_kills):
        lines, delay_s = int(chance.integers(*plan.lines)), float(chance.random()) * plan.delay_s
        assert victim.run(lines_max=lines, delay_s=delay_s) == KILLED
        told |= told_by_batch(home)
        assert damaged_shards(home) == []
        tell(f"{host}: {number + 1} of {plan.random_kills} random kills, {max(told)} batches")
    assert victim.run() == 0
    assert damaged_shards(home) == []
    acknowledged = set(victim.acknowledged)
    assert len(acknowledged) == len(victim.acknowledged), "something was acknowledged twice"
    assert told, "nobody was told anything before the last run"
    assert all(told_by_batch(home)[batch] == rows for batch, rows in told.items())

    desk = Desk(home)
    batches = [desk.log.read(number) for number in range(desk.log.newest() + 1)]
    assert all(batch is not None for batch in batches)
    total = ticks.rows.num_rows + changes + streams.rows + moving.rows + asking.rows
    total += 2 * plan.files * plan.rows
    assert sum(batch.rows_in for batch in batches if batch is not None) == total
    outcomes = {outcome.subscription: outcome for outcome in verify(desk.registry, desk.log)}
    assert set(outcomes) == set(desk.registry.names())
    for outcome in outcomes.values():
        assert outcome.equal, outcome
    prove_filters(desk, acknowledged, plan.files * plan.rows)
    prove_joins(desk, outcomes)
    prove_multi_joins(desk, outcomes)
    prove_bounded_joins(desk, outcomes, moving, place / "straight" if host == "embedded" else None)
    prove_lookups(desk, outcomes, asking)
    prove_tables(desk, stock)
    prove_view(desk, stock)
    prove_ranges(desk, stock)
    prove_models(desk, outcomes, courses)
    prove_shared_memories(desk, outcomes)
    prove_gates(desk, outcomes)
    desk.close()
    return Killed(
        host=host,
        seed=seed,
        kills=len(points) + plan.random_kills,
        batches=len(batches),
        rows=total,
        results=sum(outcome.found for outcome in outcomes.values()),
        lost=sum(outcome.missing for outcome in outcomes.values() if not outcome.may_miss),
        doubled=sum(outcome.surplus for outcome in outcomes.values()),
    )


def damaged_shards(home: Path) -> list[str]:
    """Give what a check says of the state of a cluster's shards: a kill damages none."""
    return [str(flaw.finding) for flaw in check_home(home).flaws if flaw.finding.code == DAMAGED]


def tell(text: str) -> None:
    """Tell how far it is."""
    sys.stderr.write(f"{text}\n")


def main() -> None:
    """Run a campaign, and tell what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", choices=sorted(CAMPAIGNS), required=True)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="killed") as place,
        tempfile.TemporaryDirectory(prefix="victim", ignore_cleanup_errors=True) as scratch,
    ):
        plan = CAMPAIGNS[asked.host]
        found = kill_and_prove(asked.host, Path(place), Path(scratch), asked.seed, plan)
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
