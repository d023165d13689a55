"""Engines with budgets of rows are killed (-9) again and again; nothing is lost or doubled."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from penstock.engine import Desk
from penstock.engine.verification import verify
from penstock.operators.catalogue import figures_of
from penstock.vocabulary.shared_figures import ROWS
from tests.support.bounded_streams import Asking, Moving
from tests.support.bounded_victim import QUERIES, ROWS_EACH, TIGHT, TIGHT_ROWS, name_of
from tests.support.desk_runs import DeskRun
from tests.support.killing import KILLED, Victim, some_points
from tests.support.lookup_victim import NAMES
from tests.support.tables import bag

pytestmark = [pytest.mark.crash, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

FILES = 10


@pytest.mark.parametrize("host", ["embedded", "cluster"])
def test_bounded_joins_lose_nothing_and_double_nothing(
    host: str, tmp_path: Path, seed: int
) -> None:
    streams = Moving(tmp_path / "in", seed, rows=30)
    streams.put(FILES)
    home = tmp_path / "home"
    with tempfile.TemporaryDirectory(prefix="victim", ignore_cleanup_errors=True) as scratch:
        module = "tests.support.bounded_victim"
        victim = Victim(home, tmp_path / "in", host, Path(scratch), module=module)
        for point in some_points(host, seed):
            assert victim.run(point=point) == KILLED, f"{point} was not reached"
        assert victim.run() == 0
        assert len(set(victim.acknowledged)) == len(victim.acknowledged)

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
        told = [figures for _, figures in desk.log.figures(batch, figures_of)]
        assert sum(each[group].total(ROWS) for each in told) <= TIGHT_ROWS
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


@pytest.mark.parametrize("host", ["embedded", "cluster"])
def test_lookups_answer_every_row_once(host: str, tmp_path: Path, seed: int) -> None:
    """Some die while the database is away, with rows that wait; what was told then stays told."""
    asking = Asking(tmp_path / "in", seed, rows=30)
    asking.put(FILES)
    home = tmp_path / "home"
    told: dict[int, Counter[tuple[Any, ...]]] = {}
    with tempfile.TemporaryDirectory(prefix="victim", ignore_cleanup_errors=True) as scratch:
        module = "tests.support.lookup_victim"
        victim = Victim(home, tmp_path / "in", host, Path(scratch), module=module)
        for number, point in enumerate(some_points(host, seed)):
            if number % 2:
                asking.away()
            assert victim.run(point=point) == KILLED, f"{point} was not reached"
            if number % 2:
                asking.back()
            told |= told_by_batch(home)
        assert victim.run() == 0
    assert told, "nobody was told anything before the last run"
    assert told == {batch: rows for batch, rows in told_by_batch(home).items() if batch in told}

    desk = Desk(home)
    for verdict in verify(desk.registry, desk.log):
        assert verdict.equal, verdict
        assert not verdict.missing
    found = desk.subscription(NAMES[0]).read()
    wanted = found.filter(pc.equal(found["_id"], 0))
    rows = sorted(zip(*(wanted[c].to_pylist() for c in ("n", "k", "price")), strict=True))
    assert rows == asking.expected
    desk.close()


def told_by_batch(home: Path) -> dict[int, Counter[tuple[Any, ...]]]:
    """Give what readers of the first lookup find in every batch that is logged."""
    desk = Desk(home)
    found = desk.subscription(NAMES[0]).read()
    told = {
        batch: bag(found.filter(pc.equal(found["_batch"], batch)), "_id", "n", "k", "price")
        for batch in range(desk.log.newest() + 1)
    }
    desk.close()
    return told
