"""An engine of multi-way joins is killed (-9) again and again; nothing is lost, nothing doubled."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

from penstock.algebra.multi_joins import PLAN_PORT
from penstock.engine import Desk
from penstock.engine.verification import verify
from tests.support.killing import KILLED, Victim
from tests.support.multi_join_victim import QUERIES, ROWS_EACH, name_of
from tests.support.streams import Streams

pytestmark = [pytest.mark.crash, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

POINTS = ("entry:1", "state:2", "part:2", "commit:2", "version:3")
FILES = 12


def test_multi_joins_lose_nothing_and_double_nothing(tmp_path: Path, seed: int) -> None:
    chance = np.random.default_rng(seed)
    streams = Streams(tmp_path / "in", seed)
    streams.put(FILES)
    home = tmp_path / "home"
    with tempfile.TemporaryDirectory(prefix="victim", ignore_cleanup_errors=True) as scratch:
        victim = Victim(
            home, tmp_path / "in", "embedded", Path(scratch),
            module="tests.support.multi_join_victim",
        )  # fmt: skip
        for point in (POINTS[0], *chance.permutation(POINTS[1:])):
            assert victim.run(point=str(point)) == KILLED, f"{point} was not reached"
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
