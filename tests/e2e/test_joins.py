"""Standing joins on a real Spark, both hosts: SQL in, results out, equal to DuckDB."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.vocabulary.shared_figures import PAIRS
from tests.e2e.conftest import Open
from tests.support.tables import BEGIN, Feeder, bag
from tests.support.trading import Trade, bounds
from tests.support.waiting import until_events

DEALS = """
    SELECT s.n, d.m FROM supply s JOIN demand d ON s.item = d.item
    WHERE s.price BETWEEN :low AND :high AND d.quantity BETWEEN :few AND :many
"""
BAND = "SELECT s.n, d.m FROM supply s JOIN demand d ON abs(d.m - s.n) <= :reach WHERE s.price > 20"
NEAR = """
    SELECT a.n AS a, b.n AS b FROM pings a JOIN echoes b ON a.ship = b.ship WITHIN :w SECONDS
    WHERE a.x BETWEEN :low AND :high
"""
PINGS = pa.schema(
    [
        ("n", pa.int64()),
        ("ship", pa.int32()),
        ("x", pa.float64()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
ROWS = 12


class Market:
    """Two directories of changes that grow file by file, a batch each."""

    def __init__(self, root: Path, seed: int) -> None:
        self.trade = Trade(seed)
        self.feeders = {name: Feeder(root / name) for name in ("supply", "demand")}

    def put(self, batches: int = 1) -> None:
        for _ in range(batches):
            for name, feeder in self.feeders.items():
                feeder.put(self.trade.changes(name, ROWS))

    def declare(self, engine: ps.Engine) -> None:
        for name, feeder in self.feeders.items():
            engine.table(name, f"parquet:{feeder.directory}", changes="op", maxFilesPerTrigger=1)

    @property
    def rows(self) -> int:
        return sum(table.num_rows for f in self.feeders.values() for table in f.tables)

    def deals(self, each: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
        """Join what the tables hold in the end."""
        return Counter(
            (query["id"], s["n"], d["m"])
            for query in each
            for s in self.trade.held["supply"]
            for d in self.trade.held["demand"]
            if s["item"] is not None
            and s["item"] == d["item"]
            and query["low"] <= s["price"] <= query["high"]
            and query["few"] <= d["quantity"] <= query["many"]
        )


def judged(engine: ps.Engine) -> dict[str, SubscriptionOutcome]:
    found = {verdict.subscription: verdict for verdict in engine.verify().answers}
    for verdict in found.values():
        assert verdict.equal, verdict
        assert verdict.found > 5, f"too few to prove anything: {verdict}"
    return found


def test_joins_of_tables_answer_as_duckdb(open_engine: Open, tmp_path: Path, seed: int) -> None:
    market = Market(tmp_path, seed)
    market.put(4)
    engine = open_engine()
    market.declare(engine)
    each = bounds(seed, 15)
    deals = engine.subscribe(DEALS, name="deals", each=each)
    engine.subscribe(DEALS, name="who", each=each, options={"mode": "identify"})
    reaches = [{"id": i, "reach": i} for i in range(6)]
    engine.subscribe(BAND, name="band", each=reaches)
    engine.subscribe("SELECT n FROM supply WHERE price > 50", name="filter")
    engine.run_available()
    judged(engine)
    answer: Counter[tuple[Any, ...]] = Counter()
    for change in deals.changes(follow=False):
        answer[(change.id, change.row["n"], change.row["m"])] += change.sign
    assert Counter({row: count for row, count in answer.items() if count}) == market.deals(each)
    figures = engine.figures().joins
    assert figures[deals.group].counted[PAIRS] > 0
    assert engine.figures().metrics["queries"] == 37


def explain_a_tuple(engine: ps.Engine, host: str) -> None:
    """The live state answers between two batches; on a cluster it is out of reach."""
    values = {"item": "tin", "price": 30}
    if host == "cluster":
        with pytest.raises(ps.PenstockError, match=r"\[ENG-019\]"):
            engine.subscription("deals").explain_tuple("supply", values)
        return
    found = engine.subscription("deals").explain_tuple("supply", values)
    assert found.estimates["rows_joining"] > 0
    assert found.choice in found.costs
    assert engine.explain("deals").run["plan_shares"]


def test_joins_come_and_go_while_running(
    open_engine: Open, host: str, tmp_path: Path, seed: int
) -> None:
    market = Market(tmp_path, seed)
    market.put()
    engine = open_engine()
    market.declare(engine)
    each = bounds(seed, 20)
    deals = engine.subscribe(DEALS, name="deals", each=each[:10])
    engine.start()
    until_events(engine, market.rows)
    late = deals.add(each[10:])
    who = engine.subscribe(DEALS, name="who", each=each, options={"mode": "identify"})
    assert who.receipt is not None
    market.put()
    engine.wait_for_version(who.receipt.version, timeout=600)
    until_events(engine, market.rows)
    gone = deals.drop([0, 1, 12])
    market.put(2)
    engine.wait_for_version(gone, timeout=600)
    until_events(engine, market.rows)
    assert late.accepted == 10
    explain_a_tuple(engine, host)
    engine.close()

    market.put(2)
    again = open_engine()
    again.subscription("who").drop([3])
    again.run_available()
    judged(again)
    assert set(again.subscription("deals").read()["_id"].to_pylist()) <= set(range(20))


def test_windows_join_streams(open_engine: Open, tmp_path: Path, seed: int) -> None:
    chance = np.random.default_rng(seed)
    engine = open_engine()
    for name in ("pings", "echoes"):
        feeder = Feeder(tmp_path / name)
        for number in range(5):
            # Most rows are in time; some come later than the lateness allows. Time is one for all
            # keys, wherever their shards are: after ship 7 of the fourth file, nobody is in time.
            seconds = 10 * number + chance.integers(-30, 15, 20)
            ships = chance.integers(0, 3, 20)
            if number == 3:
                ships[0], seconds[0] = 7, 1_000
            columns = [
                pa.array(range(20 * number, 20 * number + 20), pa.int64()),
                pa.array(ships, pa.int32()),
                pa.array(chance.choice([np.nan, *range(30)], 20)),
                pa.array([BEGIN + timedelta(seconds=int(s)) for s in seconds], PINGS.types[3]),
            ]
            feeder.put(pa.Table.from_arrays(columns, schema=PINGS))
        engine.stream(
            name,
            f"parquet:{feeder.directory}",
            event_time="at",
            lateness="10 seconds",
            maxFilesPerTrigger=1,
        )
    each = [{"id": i, "w": 2 + 3 * i, "low": 2.0 * i, "high": 2.0 * i + 15} for i in range(8)]
    near = engine.subscribe(NEAR, name="near", each=each)
    engine.subscribe(NEAR, name="who", each=each, options={"mode": "identify"})
    engine.run_available()
    judged(engine)
    assert engine.figures().metrics["late_rows"] >= 4 * 20, "all of the last batch, for both groups"
    assert all(count == 1 for count in bag(near.read(), "_id", "a", "b").values())
