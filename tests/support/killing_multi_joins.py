"""Killing an engine of multi-way joins (-9), and proving that every result is there, once."""

from __future__ import annotations

from pathlib import Path

from penstock.algebra.physical import PLAN_PORT
from penstock.engine import Desk
from penstock.engine.verification import verify
from tests.support.killing import KILLED, Victim, some_points
from tests.support.multi_join_victim import QUERIES, ROWS_EACH, name_of
from tests.support.streams import Streams

FILES = 12


def kill_and_prove_multi_joins(host: str, place: Path, scratch: Path, seed: int) -> None:
    """Kill a victim at some points, let it end, and ask DuckDB about everything it logged."""
    streams = Streams(place / "in", seed)
    streams.put(FILES)
    home = place / "home"
    victim = Victim(home, place / "in", host, scratch, module="tests.support.multi_join_victim")
    for point in some_points(host, seed):
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
