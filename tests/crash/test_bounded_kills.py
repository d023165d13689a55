"""Engines with budgets of rows are killed (-9) again and again; nothing is lost or doubled."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest

from penstock.engine import Desk
from penstock.engine.verification import verify
from tests.support.bounded_streams import Asking, Moving
from tests.support.bounded_victim import QUERIES, ROWS_EACH, TIGHT, TIGHT_ROWS, name_of
from tests.support.desk_runs import DeskRun
from tests.support.killing import KILLED, Victim
from tests.support.lookup_victim import NAMES
from tests.support.tables import bag

pytestmark = [pytest.mark.crash, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

POINTS = ("entry:1", "state:2", "part:2", "commit:2", "version:2")
POINTS_OF = {"embedded": 3, "cluster": 2}
"""How many of the points are tried: on the cluster host every start takes long."""
FILES = 10


def killed(home: Path, source: Path, host: str, module: str, points: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="victim", ignore_cleanup_errors=True) as scratch:
        victim = Victim(home, source, host, Path(scratch), module=module)
        for point in points:
            assert victim.run(point=point) == KILLED, f"{point} was not reached"
        assert victim.run() == 0
        assert len(set(victim.acknowledged)) == len(victim.acknowledged)


@pytest.mark.parametrize("host", ["embedded", "cluster"])
def test_bounded_joins_lose_nothing_and_double_nothing(
    host: str, tmp_path: Path, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    streams = Moving(tmp_path / "in", seed, rows=30)
    streams.put(FILES)
    home = tmp_path / "home"
    points = [POINTS[0], *chance.permutation(POINTS[1:]).tolist()][: POINTS_OF[host]]
    killed(home, tmp_path / "in", host, "tests.support.bounded_victim", points)

    desk = Desk(home)
    for number in range(QUERIES):
        assert len(desk.subscription(name_of(number))) == ROWS_EACH - (number >= 4)
    batches = [desk.log.read(number) for number in range(desk.log.newest() + 1)]
    assert sum(batch.rows_in for batch in batches if batch is not None) == streams.rows
    for number, verdict in enumerate(verify(desk.registry, desk.log)):
        assert verdict.equal, verdict
        assert verdict.found > 20
        assert verdict.may_miss == (number % 2 == 0)
    group = desk.subscription(name_of(0)).group
    for batch in range(len(batches)):
        told = [figures.sizes for figures in desk.log.figures(batch)]
        held = sum(each.get(f"{group}/rows_{side}", 0) for each in told for side in (0, 1))
        assert held <= TIGHT_ROWS
    if host == "embedded":
        same_in_one_go(desk, streams, tmp_path / "straight")
    desk.close()


def same_in_one_go(desk: Desk, streams: Moving, home: Path) -> None:
    """Run all rows at once, without a stop: the same pairs are found."""
    catalog = desk.registry.catalog
    straight = DeskRun(home, catalog["r"], catalog["s"])
    each = [{"id": i, "least": i} for i in range(ROWS_EACH)]
    straight.desk.subscribe(TIGHT, name=name_of(0), each=each)
    tables = {name: feeder.rows for name, feeder in streams.feeders.items()}
    straight.batch(**{name: table.cast(catalog[name].schema) for name, table in tables.items()})
    one, two = (own.subscription(name_of(0)).read() for own in (desk, straight.desk))
    assert bag(one, "_id", "r", "s") == bag(two, "_id", "r", "s")
    straight.desk.close()


def test_lookups_answer_every_row_once(tmp_path: Path, seed: int) -> None:
    chance = np.random.default_rng(seed)
    asking = Asking(tmp_path / "in", seed, rows=30)
    asking.put(FILES)
    home = tmp_path / "home"
    module = "tests.support.lookup_victim"
    killed_first = [POINTS[0], *chance.permutation(POINTS[1:]).tolist()][:4]
    with tempfile.TemporaryDirectory(prefix="victim", ignore_cleanup_errors=True) as scratch:
        victim = Victim(home, tmp_path / "in", "embedded", Path(scratch), module=module)
        for number, point in enumerate(killed_first):
            # Some die while the database is away, with rows that wait.
            if number and number % 2:
                asking.away()
            assert victim.run(point=point) == KILLED, f"{point} was not reached"
            if number and number % 2:
                asking.back()
        assert victim.run() == 0

    desk = Desk(home)
    for verdict in verify(desk.registry, desk.log):
        assert verdict.equal, verdict
        assert not verdict.missing
    found = desk.subscription(NAMES[0]).read()
    wanted = found.filter(pc.equal(found["_id"], 0))
    rows = sorted(zip(*(wanted[c].to_pylist() for c in ("n", "k", "price")), strict=True))
    assert rows == asking.expected
    desk.close()
