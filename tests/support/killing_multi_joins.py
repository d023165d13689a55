"""Killing an engine of multi-way joins (-9), and proving that every result is there, once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from penstock.algebra.multi_joins import PLAN_PORT
from penstock.engine import Desk
from penstock.engine.verification import verify
from tests.support.killing import KILLED, Victim
from tests.support.multi_join_victim import QUERIES, ROWS_EACH, name_of
from tests.support.streams import Streams

FIRST = "entry:1"
POINTS = ("state:2", "part:2", "commit:2", "version:3")
FILES = 12


def drawn_points(seed: int, count: int = len(POINTS)) -> list[str]:
    """Draw where to kill: first in the very first batch, then at some points in any order."""
    return [FIRST, *np.random.default_rng(seed).permutation(POINTS)[:count].tolist()]


def kill_and_prove_multi_joins(
    host: str, place: Path, scratch: Path, seed: int, points: Sequence[str]
) -> None:
    """Kill a victim at every point, let it end, and ask DuckDB about everything it logged."""
    streams = Streams(place / "in", seed)
    streams.put(FILES)
    home = place / "home"
    victim = Victim(home, place / "in", host, scratch, module="tests.support.multi_join_victim")
    for point in points:
        assert victim.run(point=point) == KILLED, f"{point} was not reached"
    assert victim.run() == 0
    assert len(set(victim.acknowledged)) == len(victim.acknowledged)

    desk = Desk(home)
    for number in range(QUERIES):
        left = 1 if number % 4 == 3 else ROWS_EACH - (number % 4 == 0)
        assert len(desk.subscription(name_of(number))) == left
    batches = [desk.log.read(number) for number in range(desk.log.newest() + 1)]
    assert sum(batch.rows_in for batch in batches if batch is not None) == streams.rows
    for group in {each.group for each in desk.subscriptions()}:
        assert desk.registry.entries(group)[PLAN_PORT].num_rows == 1, "one plan stands"
    found = 0
    for verdict in verify(desk.registry, desk.log):
        assert verdict.equal, verdict
        found += verdict.found
    assert found > 100, "nothing was proved"
    desk.close()
